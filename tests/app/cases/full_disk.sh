# A limit on the size of files stands for a full disk. (It would hold for the files of a GPU's driver too.)
header large 200 400 50
head -c 8000000 /dev/urandom >large.img
for limit in 1000:out.img 1000:out.tif {1,5,10,12,15,20,100,1000,8000}:out.nc; do
    name=${limit#*:}
    status=0
    (ulimit -c 0 && ulimit -f "${limit%:*}" && exec "$HCUBE" run --device cpu read large.hdr ! write "$name" --type float32 >../"${folder##*/}".out 2>../"${folder##*/}".err) || status=$?
    message=$(cat ../"${folder##*/}".err)
    rm -f ../"${folder##*/}".out ../"${folder##*/}".err
    [[ $status == 4 ]] || fail "exit code $status: $message"
    [[ $message == *"$name"*"File too large"* ]] || fail "$limit: says $message"
    only large.hdr large.img
done
