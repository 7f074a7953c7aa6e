"""An addon for mitmdump that goes by robots.txt.

It is what one writes who has the library at hand: urllib.robotparser reads an
origin's file once, and is asked on each request.
"""

import urllib.robotparser

from mitmproxy import http

rules = {}


def request(flow: http.HTTPFlow) -> None:
    r = flow.request
    origin = f"{r.scheme}://{r.host}:{r.port}"
    parser = rules.get(origin)
    if parser is None:
        parser = rules[origin] = urllib.robotparser.RobotFileParser(origin + "/robots.txt")
        parser.read()
    if not parser.can_fetch(r.headers.get("User-Agent", "*"), r.url):
        flow.response = http.Response.make(403, b"robots.txt disallows it\n", {"Content-Type": "text/plain"})
