"""httpx.get(url)."""

import sys

import httpx

from answer import answer, failure, version_asked

if not version_asked(httpx.__version__):
    for url in sys.argv[1:]:
        try:
            r = httpx.get(url, timeout=30)
            answer(url, r.status_code, r.reason_phrase, r.headers.items(), r.content)
        except httpx.HTTPError as e:
            failure(url, e)
