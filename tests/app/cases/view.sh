# The server of `view`: what it answers is what extract and preview write, and hostile requests get a line.
if [[ $("$HCUBE" version) == *"libmicrohttpd none"* ]]; then
    refuse 6 "view ... libmicrohttpd-dev" view "$scene" --no-open
    exit 77
fi

# ---- a client ----
# start WORD...: the server of these words runs, at $port and $path.
start() {
    : >address
    "$HCUBE" view "$@" --no-open >address 2>said &
    server=$!
    for ((i = 0; i < 1200; i++)); do
        [[ ! -s address ]] || break
        kill -0 "$server" 2>/dev/null || fail "view $*: $(cat said)"
        sleep 0.1
    done
    [[ $(cat address) =~ ^http://127\.0\.0\.1:([0-9]+)(/[0-9a-f]{32}/)$ ]] || fail "address $(cat address)"
    port=${BASH_REMATCH[1]} path=${BASH_REMATCH[2]}
}
# end: Ctrl-C ends it as it ends other commands.
end() {
    local status=0
    kill -INT "$server"
    wait "$server" || status=$?
    [[ $status == 130 && $(cat said) == "hcube: interrupted" ]] || fail "Ctrl-C: $status $(cat said)"
}
# raw TEXT: sends this text. $code is that of the answer, its head and body lie in files.
raw() {
    printf '%b' "$1" | timeout 120 "$MODULES/ask" "$port" >answer
    code=$(head -c 12 answer | cut -d' ' -f2)
    LC_ALL=C sed '/^\r$/,$d' answer >head
    LC_ALL=C sed '1,/^\r$/d' answer >body
}
# get PLACE: asks for a place below the token.
get() {
    raw "GET $path$1 HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nConnection: close\r\n\r\n"
}
# answers CODE TEXT: this text is answered with that code.
answers() {
    raw "$2"
    [[ $code == "$1" ]] || fail "$2: $code $(cat body)"
}
# gives PLACE: the same as get, and it succeeds.
gives() {
    get "$1"
    [[ $code == 200 ]] || fail "$1: $code $(cat body)"
}
# denies CODE WORDS PLACE: one line of JSON with these words.
denies() {
    get "$3"
    [[ $code == "$1" && $(cat body) == '{"error":"'*'"}' && $(wc -l <body) == 0 ]] || fail "$3: $code $(cat body)"
    holds "$(cat body)" "$2" || fail "$3: says $(cat body) and not '$2'"
}
# Numbers of the array NAME in the body, a line each, with the digits of a CSV library.
array() {
    { sed -E "s/.*\"$1\":\[([^]]*)\].*/\1/; s/, */\n/g" body && echo; } |
        awk '{ if ($1 == "null") print; else printf "%.9g\n", $1 }'
}
trap 'status=$?; kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"; exit $status' EXIT

# ---- spectra are those of extract, in all interleaves and in files that a library reads ----
for name in bil bip bsq; do
    run 0 write "$scene" $name.img --all-bands --interleave $name --quiet
done
run 0 write "$scene" tiled.tif --all-bands --quiet
run 0 extract "$scene" pixel.csv --all-bands --pixel 40,25 --quiet
run 0 extract "$scene" area.csv --all-bands --area 30,50,9,7 --statistics area_figures.csv --quiet
run 0 extract "$scene" three.sli --all-bands --pixel 40,25:7,60:41,25 --quiet
run 0 extract "$scene" three.csv --all-bands --pixel 40,25:7,60:41,25 --quiet
start bil.hdr bip.hdr bsq.hdr tiled.tif "$SAMPLE/class.hdr" "$SAMPLE/abundance.hdr" --library "$SAMPLE/library.hdr"
for layer in 0 1 2; do
    gives "spectrum?layer=$layer&line=25&sample=40"
    cmp <(array values) <(sed 1d pixel.csv | cut -d, -f2) || fail "layer $layer: a spectrum"
    gives "spectrum?layer=$layer&lines=50:56&samples=30:38"
    cmp <(array values) <(sed 1d area.csv | cut -d, -f2) || fail "layer $layer: a window"
    paste -d, <(array sd) <(sed 1d area_figures.csv | cut -d, -f6) | awk -F, '
        !($1 - $2 < 1e-5 * $2 && $2 - $1 < 1e-5 * $2) { print "deviation", $0; wrong = 1 } END { exit wrong }' ||
        fail "layer $layer: deviations"
    [[ $(cat body) == *'"count":'"$(sed -n 2p area_figures.csv | cut -d, -f2),"* ]] || fail "count: $(cat body)"
done
gives "spectrum?layer=3&line=25&sample=40"
cp body of_tiff
run 0 extract tiled.tif tiff.csv --all-bands --pixel 40,25 --quiet
cmp <(array values) <(sed 1d tiff.csv | cut -d, -f2) || fail "the spectrum of a TIFF"
gives "spectrum?layer=0&line=0&sample=99" # masked
[[ $(array values | sort -u) == null ]] || fail "a masked pixel: $(cat body)"
# The command that is shown gives the same.
gives "spectrum?layer=0&line=25&sample=40"
command=$(sed -E 's/.*"command":"([^"]*)".*/\1/' body)
[[ $command == "hcube extract bil.hdr spectra.sli --all-bands --pixel 40,25" ]] || fail "command: $command"
read -ra words <<<"${command#hcube }"
run 0 "${words[@]}" --quiet
gives "export?format=sli&points=0:25:40"
cmp body spectra.sli
# An export is the library that extract writes, each pixel once.
for format in sli hdr csv; do
    gives "export?format=$format&points=0:25:40,0:60:7,0:25:41,0:60:7"
    cmp body three.$format || fail "export: $format"
    [[ $(cat head) == *"attachment; filename=\"spectra.$format\""* ]] || fail "download: $(cat head)"
done

# ---- the library: angle and factor of the nearest entry, computed again; bad bands do not count ----
gives scene.json
bad=$(sed 's/"name"/\n&/2g' body | sed -n 1p | sed -E 's/.*"bad":\[([^]]*)\].*/\1/')
[[ $(grep -o '"kind":"[a-z]*"' body | paste -sd' ') == *cube*cube*cube*cube*classes*scores* ]] || fail "kinds: $(cat body)"
gives "match?layer=0&line=25&sample=40&top=3"
[[ $(grep -o '"name"' body | wc -l) == 3 && $(cat body) == '{"matches":[{"name":"Green vegetation open"'* ]] || fail "match: $(cat body)"
cp body matches
sed 's/},{.*//' matches >body
read -r angle factor <<<"$(sed -E 's/.*"angle":([^,]*),"scale":([^,]*),.*/\1 \2/' body)"
paste -d, <(array values) <(sed 1d pixel.csv | cut -d, -f2) <(tr ',' '\n' <<<"$bad") |
    awk -F, -v angle="$angle" -v factor="$factor" '
        $3 == 0 { both += $1 * $2; own += $1 * $1; pixel += $2 * $2; count++ }
        function near(a, b) { return a - b < 1e-6 * b && b - a < 1e-6 * b }
        END {
            cosine = both / sqrt(own * pixel)
            exit !(count == 59 && near(atan2(sqrt(1 - cosine * cosine), cosine), angle) && near(both / own, factor))
        }' || fail "angle $angle, factor $factor"
denies 400 "has 1 bands, the first point has 64" "export?format=csv&points=0:25:40,4:25:40"
denies 400 "not the 64 of the library" "match?layer=4&line=25&sample=40"

# ---- tiles are pictures of preview (those of more than 256 colours: others get a palette) ----
head -c $((256 * 256 * 3 * 2)) "$SAMPLE/scene.img" >square.img
header square 256 256 3 12 bsq
head -c $((512 * 512 * 3)) "$SAMPLE/scene.img" >small.img
header small 512 512 3 1 bsq
end
start square.hdr small.hdr
# same NAME PLACE OPTION...: the tile is the picture.
same() {
    local layer=square
    [[ $1 != tile/1/* ]] || layer=small
    run 0 preview $layer.hdr picture.png --overwrite --quiet --record none "${@:2}"
    gives "$1"
    cmp body picture.png || fail "$1: not the picture of preview ${*:2}"
}
same "tile/0/0/0/0?bands=2,0,1&range=400:900,0:5000,100:200" --bands 3,1,2 --limits 400,900,0,5000,100,200
same "tile/0/0/0/0?bands=2,0,1&range=400:900,0:5000,100:200&gamma=2" --bands 3,1,2 --limits 400,900,0,5000,100,200 --gamma 2
same "tile/0/0/0/0?bands=1,0,2&range=0:3000,0:3000,0:3000&threshold=800" --bands 2,1,3 --limits 0,3000 --threshold 800
same "tile/1/1/0/0?bands=0,1,2&range=0:255,0:255,0:255" --size 256 --limits 0,255 --bands 1,2,3 # every second pixel
same "tile/1/0/0/1?bands=0,1,2&range=0:255,0:255,0:255" --window 256,0,256,256 --limits 0,255 --bands 1,2,3
same "tile/0/0/0/0" # as both choose by themselves
gives "command?layer=0&bands=2,0,1&range=400:900,0:5000,100:200&gamma=2"
[[ $(cat body) == *"--all-bands --bands 3,1,2 --limits 400,900,0,5000,100,200 --gamma 2\""* ]] || fail "$(cat body)"
# Layers of a stack are drawn one over the other; a part that is in sight begins at a pixel of the tiles.
gives "command?layer=0&bands=0,1,2&range=0:255,0:255,0:255&above=2"
[[ $(cat body) == *"hcube preview square.hdr picture-2.png --all-bands "*"--limits 0,255,0,255,0,255\""* ]] || fail "$(cat body)"
gives "command?layer=1&bands=0&range=0:255&threshold=9&above=1&below=1&opacity=0.25"
[[ $(cat body) == *" picture-1.png "*"--threshold 9 --over picture-2.png --opacity 0.25\""* ]] || fail "$(cat body)"
gives "command?layer=1&bands=0,1,2&range=0:255,0:255,0:255&level=1&lines=259:511&samples=1:400&view=1"
[[ $(cat body) == *" second.png "*" --window 0,258,401,254 --size 201\""* ]] || fail "$(cat body)"
command=$(sed -E 's/.*"command":"([^"]*)".*/\1/' body)
read -ra words <<<"${command#hcube }"
run 0 "${words[@]}" --quiet
run 0 preview small.hdr half.png --all-bands --bands 1,2,3 --limits 0,255 --size 256 --quiet
run 0 write second.png second.img --all-bands --quiet
run 0 write half.png half.img --all-bands --window 0,129,201,127 --quiet
cmp second.img half.img || fail "a part in sight: not the pixels of the tiles"
for wrong in "above=x" "below=2" "view=2" "level=2" "opacity=1.5" "opacity=nan" "lines=5:1&samples=0:1"; do
    denies 400 "${wrong%%=*}" "command?layer=1&$wrong"
done
# Where pixels lie more than 16 KiB apart each is read alone: a coarse tile is the same in BIP and in BSQ.
for ((i = 0; i < 14; i++)); do cat "$SAMPLE/scene.img"; done >wide.img
truncate -s $((8192 * 16 * 130 * 4)) wide.img
header wide 8192 16 130 13 bip
run 0 write wide.hdr apart.img --interleave bsq --quiet
end
start wide.hdr apart.hdr
for level in 5 4; do
    gives "tile/0/$level/0/0?bands=40,3,21&range=0:4e9,0:4e9,0:4e9"
    cp body wide.png
    gives "tile/1/$level/0/0?bands=40,3,21&range=0:4e9,0:4e9,0:4e9"
    cmp body wide.png || fail "level $level of BIP and BSQ"
    [[ $(stat -c %s wide.png) -gt 1000 ]] || fail "level $level is empty"
done
end
start square.hdr small.hdr
gives "histogram?layer=1&band=0"
[[ $(array counts | awk '{ sum += $1 } END { print sum }') == $((512 * 512)) ]] || fail "histogram: $(cat body)"

# ---- hostile requests ----
host="Host: 127.0.0.1:$port\r\n"
for place in '..' '../' '%2e%2e/' '..%2f..%2f..%2fetc/passwd' "tile/%2e%2e/0/0/0" 'square.img' 'x%00' "a%0d%0aX-Injected:1"; do
    get "$place"
    [[ $code == 40[04] && $(cat body) == '{"error":"'*'"}' ]] || fail "$place: $code $(cat body)"
    [[ $(cat head) != *X-Injected* ]] || fail "$place: a header of the request"
done
answers 404 "GET ${path%/}/../../etc/passwd HTTP/1.1\r\n${host}Connection: close\r\n\r\n"
answers 404 "GET /etc/passwd HTTP/1.1\r\n${host}Connection: close\r\n\r\n"
answers 404 "GET / HTTP/1.1\r\n${host}Connection: close\r\n\r\n"
raw "GET ${path:0:20}0${path:21} HTTP/1.1\r\n${host}Connection: close\r\n\r\n"
[[ $code == 404 || ${path:20:1} == 0 ]] || fail "a wrong token: $code"
for name in "evil.example:$port" "evil.example" "127.0.0.1" "127.0.0.1:1" "[::1]:$port" "127.0.0.1:$port.evil.example"; do
    answers 403 "GET $path HTTP/1.1\r\nHost: $name\r\nConnection: close\r\n\r\n"
    holds "$(cat body)" "ssh -L, the same port" || fail "Host: $(cat body)"
done
answers 403 "GET $path HTTP/1.0\r\n\r\n"
answers 403 "GET $path HTTP/1.1\r\n${host}Origin: http://evil.example\r\nConnection: close\r\n\r\n"
answers 403 "GET $path HTTP/1.1\r\n${host}Origin: null\r\nConnection: close\r\n\r\n"
answers 200 "GET $path HTTP/1.1\r\nHost: localhost:$port\r\nOrigin: http://localhost:$port\r\nConnection: close\r\n\r\n"
for method in POST PUT DELETE OPTIONS TRACE; do
    answers 405 "$method $path HTTP/1.1\r\n${host}Content-Length: 3\r\nConnection: close\r\n\r\nabc"
done
answers 200 "HEAD $path HTTP/1.1\r\n${host}Connection: close\r\n\r\n"
[[ ! -s body ]] || fail "HEAD has a body"
for line in "Content-Security-Policy: default-src 'none'" "X-Content-Type-Options: nosniff" "Cache-Control: no-store"; do
    [[ $(cat head) == *"$line"* ]] || fail "no $line: $(cat head)"
done

# ---- only the page's own script and style run ----
gives ""
[[ $(cat head) != *unsafe* ]] || fail "any script may run: $(cat head)"
for element in script style; do # the hash of what stands between its tags
    content=$(tr '\n' '\001' <body)
    content=${content#*<$element>}
    hash=$(printf %s "${content%%</$element>*}" | tr '\001' '\n' | sha256sum | cut -c1-64)
    base64=$(printf "$(printf %s "$hash" | sed 's/../\\x&/g')" | base64)
    [[ $(cat head) == *"$element-src 'sha256-$base64';"* ]] || fail "$element is not '$base64': $(cat head)"
done
long=$(head -c 100000 /dev/zero | tr '\0' 9)
get "spectrum?layer=$long" && [[ $code == 4* ]] || fail "a huge query: $code"
get "spectrum?layer=${long:0:9000}" && [[ $code == 4* ]] || fail "a long query: $code"
raw "\x00\xff\xfe garbage\r\n\r\n"
raw "GET"

# ---- wrong parameters ----
denies 400 "layer=2 ... 0 to 1" "spectrum?layer=2&line=0&sample=0"
denies 400 "layer=-1" "spectrum?layer=-1&line=0&sample=0"
denies 400 "line: is missing" "spectrum?layer=0"
denies 400 "line=x" "spectrum?layer=0&line=x&sample=0"
denies 400 "line 256, sample 0: outside of square.hdr" "spectrum?layer=0&line=256&sample=0"
denies 400 "lines=5:2: must be FIRST:LAST" "spectrum?layer=0&lines=5:2&samples=0:1"
denies 400 "outside of square.hdr" "spectrum?layer=0&lines=0:2147483647&samples=0:2147483647"
denies 400 "outside of square.hdr" "spectrum?layer=0&lines=0:9999999999&samples=0:9999999999"
denies 400 "bands=1,2: must be one or three numbers from 0 to 2" "tile/0/0/0/0?bands=1,2"
denies 400 "bands=0,1,3" "tile/0/0/0/0?bands=0,1,3"
denies 400 "range=5:1" "tile/0/0/0/0?bands=1&range=5:1"
denies 400 "range=1:2" "tile/0/0/0/0?bands=1&range=1:2$(printf '%0250d' 0)"
long=1.$(printf '%060d' 0):2.$(printf '%062d' 0)e1 # 127 characters, and then the exponent
gives "command?layer=0&bands=0&range=$long"
holds "$(cat body)" "--limits 1,20"
denies 400 "range=nan:1" "tile/0/0/0/0?bands=1&range=nan:1"
denies 400 "gamma=0: must be a number from 0.1 to 10" "tile/0/0/0/0?gamma=0"
denies 400 "threshold=x" "tile/0/0/0/0?threshold=x"
denies 400 "level 7: the layer has levels 0 to 0" "tile/0/7/0/0"
denies 400 "tile 1,0 of level 0: outside" "tile/0/0/1/0"
denies 400 "layer 9" "tile/9/0/0/0"
denies 400 "tile/0/0/0: must be tile/LAYER/LEVEL/ROW/COLUMN" "tile/0/0/0"
denies 400 "band=3: must be a whole number from 0 to 2" "histogram?layer=0&band=3"
denies 400 "format=exe: must be sli, hdr or csv" "export?format=exe&points=0:0:0"
denies 400 "points=0:1: not LAYER:LINE:SAMPLE" "export?format=csv&points=0:1"
denies 400 "points: none" "export?format=csv&points="
denies 400 "no library: start hcube view with --library" "match?layer=0&line=0&sample=0"
denies 404 "no such page" "nothing"

# ---- 10,000 open connections: the server answers when the idle ones have timed out ----
mkfifo held
"$MODULES/ask" "$port" hold 10000 <held >many &
holder=$!
exec 9>held
for ((i = 0; i < 300; i++)); do
    [[ ! -s many ]] || break
    sleep 0.1
done
[[ -s many ]] || fail "no connections"
gives scene.json
[[ $(cat many) -gt 4096 ]] || echo "only $(cat many) connections (ulimit -n)"
exec 9>&-
wait "$holder"

# ---- a scene that is deleted, changed or cut off while it is shown ----
rm square.img
denies 500 "square.img" "spectrum?layer=0&line=0&sample=0"
denies 500 "square.img" "tile/0/0/0/0"
gives "spectrum?layer=1&line=0&sample=0"
: >small.img
denies 500 "small.img" "spectrum?layer=1&line=0&sample=0"
denies 500 "small.img" "tile/1/0/0/0"
end

# ---- extreme scenes ----
header one 1 1 1 4 bsq
printf '\0\0\x80\x3f' >one.img
header vast 100000 100000 400 12 bil
truncate -s $((100000 * 100000 * 400 * 2)) vast.img
{
    echo -n "Spectra"
    for ((i = 0; i < 10000; i++)); do echo -n ",s$i"; done
    for ((b = 0; b < 64; b++)); do
        printf '\n%d' $((400 + b * 2100 / 63))
        printf ',0.%d' {1000..10999}
    done
    echo
} >many.csv
start one.hdr vast.hdr
gives "spectrum?layer=0&line=0&sample=0"
[[ $(array values) == 1 ]] || fail "a scene of one value: $(cat body)"
gives "tile/0/0/0/0"
gives "histogram?layer=0&band=0"
gives "spectrum?layer=1&line=99999&sample=99999"
[[ $(array values | sort | uniq -c | tr -s ' ') == " 400 0" ]] || fail "the last pixel of a vast scene"
gives "tile/1/9/0/0" && gives "tile/1/0/390/390" && gives "tile/1/4/24/24"
gives "spectrum?layer=1&lines=7:9&samples=0:99999"
[[ $(array values | sort | uniq -c | tr -s ' ') == " 400 0" && $(cat body) == *'"count":300000,'* ]] || fail "three lines of a vast scene"
denies 400 "a window of 100000 x 100000 pixels" "spectrum?layer=1&lines=0:99999&samples=0:99999"
peak=$(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$server/status")
sanitized || ((peak < 200)) || fail "a vast scene takes $peak MiB"
end
# One value in all pixels, of which 1 is no part, and a value that float32 does not hold; of zeros there is no angle.
header same 4 4 2 4 bsq
printf '\xec\x78\xad\x60%.0s' {1..16} >same.img # 1e20
head -c 64 /dev/zero >>same.img
sed -i '$ a wavelength units = Nanometers\nwavelength = {500, 600}' same.hdr
header huge 2 1 1 5 bsq
printf '\0\0\0\0\0\0\xf0\x3f\x9c\x75\0\x88\x3c\xe4\x37\x7e' >huge.img # 1 and 1e300
printf 'nm,a,b\n500,1,2\n600,2,1\n' >two.csv
head -c 128 /dev/zero >zeros.img
sed 's/same/zeros/' same.hdr >zeros.hdr
start zeros.hdr same.hdr huge.hdr --library two.csv
gives "match?layer=0&line=0&sample=0"
[[ $(cat body) == '{"matches":[],'* ]] || fail "angles of zeros: $(cat body)"
for layer in 1 2; do
    gives "histogram?layer=$layer&band=0"
    pixels=$(array counts | awk '{ sum += $1 } END { print sum }')
    [[ $pixels == $((layer == 1 ? 16 : 1)) ]] || fail "layer $layer: a histogram of $pixels pixels"
done
gives "spectrum?layer=2&line=0&sample=1"
[[ $(array values) == null ]] || fail "1e300 as float32: $(cat body)"
end
# Wavelengths that are no numbers: the page says so, and a library has nothing to go by.
sed -E '/^wavelength = /,/}/ s/[0-9]+\.[0-9]+/nan/g' "$SAMPLE/scene.hdr" >nan.hdr
cp "$SAMPLE/scene.img" nan.img
start nan.hdr
gives scene.json
[[ $(cat body) == *'"note":"wavelengths left out: '*'nan)"'* ]] || fail "NaN wavelengths: $(cat body)"
gives "spectrum?layer=0&line=25&sample=40"
gives "tile/0/0/0/0"
end
refuse 3 "library.sli ... no wavelengths ... nan" view nan.hdr --no-open --library "$SAMPLE/library.sli"
start "$scene" --library many.csv
gives "match?layer=0&line=25&sample=40&top=100"
[[ $(grep -o '"name"' body | wc -l) == 100 ]] || fail "10,000 spectra: $(head -c 200 body)"
# No port, no scene, no library.
refuse 4 "--port $port: 127.0.0.1 gives no such port" view "$scene" --no-open --port "$port"
end
# The browser opens the address that is printed; Ctrl-C of the terminal does not reach it.
mkdir bin
printf '#!/bin/sh\necho "$1" >opened.part\ncut -d " " -f 6 /proc/$$/stat >>opened.part\nmv opened.part opened\n' >bin/xdg-open
chmod +x bin/xdg-open
: >address
DISPLAY=:0 PATH=$PWD/bin:$PATH "$HCUBE" view "$scene" >address 2>said &
server=$!
for ((i = 0; i < 1200; i++)); do
    [[ ! -e opened ]] || break
    sleep 0.1
done
[[ $(head -1 opened) == "$(cat address)" ]] || fail "the browser got $(cat opened)"
[[ $(sed -n 2p opened) != $(cut -d ' ' -f 6 "/proc/$server/stat") ]] || fail "the browser has the session of the program"
end
refuse 2 "SCENE is missing" view
refuse 2 "--port 0" view "$scene" --port 0
refuse 3 "nothing.hdr" view "$scene" nothing.hdr --no-open
refuse 3 "nothing.sli" view "$scene" --library nothing.sli --no-open
