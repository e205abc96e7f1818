"""A service that releases noisy counts: `python count_service.py PORT`. It has a mistake.

POST {"rows": [...]} to /count, whose noise is right for epsilon = 1, or to /v2/count, whose noise
has half the scale.
"""

import json
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SOURCE = random.SystemRandom()
SCALES = {"/count": 1.0, "/v2/count": 0.5}


class Counts(BaseHTTPRequestHandler):
    """Answers posts with counts."""

    protocol_version = "HTTP/1.1"  # a connection may ask again
    wbufsize = -1  # one packet an answer

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            rows = json.loads(body)["rows"]
            noise = SOURCE.choice([-1, 1]) * SOURCE.expovariate(1 / SCALES[self.path])
            self.answer(200, {"count": len(rows) + noise})
        except (KeyError, TypeError, ValueError):
            self.answer(400, {"error": "post rows to /count"})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep no record of requests."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Counts)
    print(f"serving on port {server.server_port}", flush=True)
    server.serve_forever()
