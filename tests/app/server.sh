# Starts a server of the files in the current folder: $server_address. It gives parts of files. While there is a file `fail`,
# it refuses all parts of data files but those of their first 64 KiB. A query leads to the file PATH?QUERY where there is one.
command -v python3 >/dev/null || exit 77
export no_proxy=127.0.0.1
cat >server.py <<'END'
import http.server, os, re, urllib.parse

class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        path = '.' + urllib.parse.unquote(self.path)
        if not os.path.exists(path):
            path = path.split('?')[0]
        part = re.match(r'bytes=(\d+)-(\d*)', self.headers.get('Range', ''))
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        first = int(part[1]) if part else 0
        last = min(int(part[2] or size - 1), size - 1) if part else size - 1
        broken = part and path.endswith('.img') and last > 65535 and os.path.exists('fail')
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
serve python3 server.py
server_address=http://127.0.0.1:$port
