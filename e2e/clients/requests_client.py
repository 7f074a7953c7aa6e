"""requests, as its manual begins: requests.get(url)."""

import sys

import requests

from answer import answer, failure, version_asked

if not version_asked(requests.__version__):
    for url in sys.argv[1:]:
        try:
            r = requests.get(url, timeout=30)
            answer(url, r.status_code, r.reason, r.headers.items(), r.content)
        except requests.RequestException as e:
            failure(url, e)
