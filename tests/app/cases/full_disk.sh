# A limit on the size of files stands for a full disk. (It would hold for the files of a GPU's driver too.)
header large 200 400 50
head -c 8000000 /dev/urandom >large.img
for name in out.img out.tif; do
    status=0
    (ulimit -f 1000 && exec "$HCUBE" run --device cpu read large.hdr ! write "$name" >../"${folder##*/}".out 2>../"${folder##*/}".err) || status=$?
    message=$(cat ../"${folder##*/}".err)
    rm -f ../"${folder##*/}".out ../"${folder##*/}".err
    [[ $status == 4 ]] || fail "exit code $status: $message"
    [[ $message == *"$name"* ]] || fail "says $message"
    only large.hdr large.img
done
