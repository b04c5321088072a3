"""The HTTP interface of ClickHouse as far as rows are written over it, in front of an embedded ClickHouse (chdb): the statements and
rows are run as they come. Prints its port, then serves until it is killed."""

import gzip
import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from chdb import session

engine = session.Session(sys.argv[1])


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        statement = query.pop("query", None)
        query.pop("wait_end_of_query", None)
        try:
            for name, value in query.items():
                engine.query(f"SET {name} = '{value}'")
            text = body.decode() if statement is None else f"{statement}\n{body.decode()}"
            result = engine.query(text, "JSONCompactEachRow")
            self.answer(200, str(result).encode(), {})
        except Exception as error:  # as the server tells of its own
            text = str(error)
            code = re.search(r"Code: (\d+)", text)
            number = code.group(1) if code else "1002"
            self.answer(404 if number == "60" else 500, text.encode(), {"X-ClickHouse-Exception-Code": number})

    def answer(self, status, content, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
