# Scenes that GDAL reads for us: in an archive, and from a server that gives parts of files, or fails to.
command -v python3 >/dev/null || exit 77
export GDAL_HTTP_MAX_RETRY=0 no_proxy=127.0.0.1
mkdir in
for s in 1 2 3; do
    sed 's/^lines *=.*/lines = 30/; s/^map info.*//; s/^coordinate system.*//' "$scene" >in/s$s.hdr
    dd if="$SAMPLE/scene.img" of=in/s$s.img bs=$((100 * 64 * 2)) skip=$((s * 12)) count=30 status=none
done
batch=(batch mnf --components 4 --device cpu --progress json --output 'out/{stem}.img' --scenes)
run 0 "${batch[@]}" in
mv out expected

# same: all outputs are those of the local files.
same() {
    for s in 1 2 3; do
        cmp expected/s$s.img out/s$s.img || fail "the output of s$s differs"
    done
}
events() {
    grep -c "^{\"event\":\"$1\"" <<<"$err" || true
}

# A folder in an archive.
(cd in && python3 -c 'import shutil; shutil.make_archive("../scenes", "zip")')
run 0 "${batch[@]}" /vsizip/scenes.zip
same
run 0 "${batch[@]}" /vsizip/scenes.zip
[[ $(events skipped) == 3 ]] || fail "says $err"
rm -rf out

# A server. While there is a file `fail`, it refuses all parts of data files but the first.
cat >server.py <<'END'
import http.server, os, re

class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        path = '.' + self.path
        part = re.match(r'bytes=(\d+)-(\d*)', self.headers.get('Range', ''))
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        first = int(part[1]) if part else 0
        last = min(int(part[2] or size - 1), size - 1) if part else size - 1
        broken = path.endswith('.img') and first > 0 and os.path.exists('fail')
        self.send_response(404 if size == 0 else 503 if broken else 206 if part else 200)
        if size == 0 or broken:
            first, last = 0, -1
        elif part:
            self.send_header('Content-Range', 'bytes %d-%d/%d' % (first, last, size))
        self.send_header('Content-Length', str(last - first + 1))
        if size > 0:
            self.send_header('Last-Modified', self.date_time_string(os.path.getmtime(path)))
        self.end_headers()
        if with_body and last >= first:
            with open(path, 'rb') as file:
                file.seek(first)
                self.wfile.write(file.read(last - first + 1))

server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server)
with open('port', 'w') as file:
    file.write('%d\n' % server.server_port)
server.serve_forever()
END
python3 server.py &
server=$!
trap 'status=$?; kill $server 2>/dev/null || true; rm -rf "$folder"; exit $status' EXIT
for ((i = 0; i < 500; i++)); do
    [[ ! -s port ]] || break
    sleep 0.02
done
for s in 1 2 3; do
    echo "/vsicurl/http://127.0.0.1:$(cat port)/in/s$s.img"
done >list.txt

# What the server does not give is a failure of the scene, which is tried again by itself; it is not taken for zeros.
touch fail
run 9 "${batch[@]}" list.txt
[[ $(events failed) == 3 && $(grep -c '"exit_code":4.*reading line .* failed' <<<"$err") == 3 ]] || fail "says $err"
[[ -z $(ls out) ]] || fail "left $(ls out)"
rm fail
run 0 "${batch[@]}" list.txt
[[ $(events done) == 3 ]] || fail "says $err"
same
run 0 "${batch[@]}" list.txt
[[ $(events skipped) == 3 ]] || fail "says $err"
touch -d '1 hour ago' in/s2.img
run 0 "${batch[@]}" list.txt
[[ $(events skipped) == 2 && $(events done) == 1 ]] || fail "says $err"
same
