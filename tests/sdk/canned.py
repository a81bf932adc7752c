#!/usr/bin/env python3
"""A provider with canned answers: what the scripted providers do not speak, byte for byte the same at every call.

Usage: tests/sdk/canned.py PORT        (on 127.0.0.1; ends with the process that started it)

Why: a call made once directly and once through the gateway must give equal objects, which random ids would hide. Input: a
request whose text holds `canned NAME`, or whose model is `status-NNN`. Output: the answer of that name in the dialect of the
path, or an error of that status. `GET /seen` tells how often each name was asked for.
"""

import hashlib
import json
import re
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import answers

SEEN: Counter[str] = Counter()


class Provider(BaseHTTPRequestHandler):
    """One request at a time on each connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Says nothing: what was asked is counted."""

    def do_GET(self) -> None:
        """What was asked for so far."""
        self.whole(200, dict(SEEN))

    def do_POST(self) -> None:
        """A model call."""
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = json.loads(body)
        dialect = self.path.split("?")[0].rsplit("/", 1)[-1]
        if status := re.fullmatch(r"status-(\d+)", asked["model"]):
            SEEN[asked["model"]] += 1
            return self.whole(int(status[1]), answers.error(dialect, int(status[1])))
        name = re.search(r"canned ([a-z]+)(?:-[0-9a-f]+)?", body.decode())
        SEEN[name[0]] += 1
        if name[1] == "again" and SEEN[name[0]] == 1:
            return self.whole(429, answers.error(dialect, 429), {"retry-after": "1"})
        if name[1] == "slow":
            time.sleep(3)
        answer = answers.of(dialect, name[1])
        if asked.get("stream"):
            return self.stream(answer["stream"], asked)
        return self.whole(200, json.loads(json.dumps(answer["whole"]).replace("BODY-HASH", hashlib.sha256(body).hexdigest())))

    def whole(self, status: int, answer: dict, headers: dict[str, str] | None = None) -> None:
        """One document."""
        data = json.dumps(answer).encode()
        self.send_response(status)
        for key, value in {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, frames: list[str], asked: dict) -> None:
        """Server-sent events, one chunk each."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        usage = (asked.get("stream_options") or {}).get("include_usage")
        for frame in frames:
            if isinstance(frame, float):
                time.sleep(frame)
                continue
            if '"choices": []' in frame and not usage:
                continue
            data = frame.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    """Many connections; clients that leave are part of the tests."""

    request_queue_size = 128

    def handle_error(self, *where: object) -> None:
        """Tells what went wrong, unless the other side has left."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(*where)


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Provider).serve_forever()
