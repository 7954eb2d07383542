"""A tiny application with a login, for tests: the request says how it is to be answered, and all that arrive are kept."""
import collections
import http.server
import json
import threading
import time
import urllib.parse

import pytest

Arrived = collections.namedtuple("Arrived", "path headers body")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def read_body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def status_of(self, body):
        """X-Status says it; else a form or JSON with the right password is a success."""
        if "X-Status" in self.headers:
            return int(self.headers["X-Status"])
        if not body:
            return 200
        try:
            password = json.loads(body).get("password")
        except ValueError:
            password = urllib.parse.parse_qs(body.decode(errors="replace")).get("password", [""])[0]
        return 302 if password == "right" else 401

    def do_POST(self):
        body = self.read_body()
        with self.server.lock:
            self.server.arrived.append(Arrived(self.path, dict(self.headers), body))
        if self.server.pause:
            time.sleep(self.server.pause)
        if self.server.gate is not None:
            self.server.gate.wait(30)
        if "X-Die" in self.headers or self.server.dies:
            self.close_connection = True
            return
        self.send_response(self.status_of(body))
        for name in ("X-Answer-Outcome", "X-Accel-Redirect"):
            if name in self.headers:
                self.send_header(name, self.headers[name])
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"answer")

    do_GET = do_PUT = do_POST


class Application(http.server.ThreadingHTTPServer):
    """`pause` seconds before each answer; none before `gate`, an Event, is set; `dies`: closes instead of answering."""
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, pause=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pause, self.gate, self.dies = pause, None, False
        self.lock, self.arrived = threading.Lock(), []
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def handle_error(self, *_):
        pass

    def stop(self):
        if self.gate is not None:
            self.gate.set()
        self.shutdown()
        self.thread.join()
        self.server_close()


def at_once(count, do):
    """Calls do(i) for each i, all at the same moment; returns their results in order."""
    barrier, results = threading.Barrier(count), [None] * count

    def run(i):
        barrier.wait(30)
        results[i] = do(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@pytest.fixture
def application():
    server = Application()
    yield server
    server.stop()
