"""Asks for all URLs at once with a library at its defaults, and asks again when
Retry-After says: again_client.py httpx|requests URL..."""

import concurrent.futures
import sys
import time

from answer import answer, failure

library = sys.argv[1]
if library == "httpx":
    import httpx as http

    Fault = http.HTTPError
else:
    import requests as http

    Fault = http.RequestException


def get(url):
    try:
        while True:
            r = http.get(url)
            if r.status_code != 429 or "Retry-After" not in r.headers:
                return r
            time.sleep(int(r.headers["Retry-After"]))
    except Fault as e:
        return e


urls = sys.argv[2:]
with concurrent.futures.ThreadPoolExecutor(len(urls)) as pool:
    for url, r in zip(urls, pool.map(get, urls)):
        if isinstance(r, Fault):
            failure(url, r)
        else:
            answer(url, r.status_code, "", r.headers.items(), r.content)
