"""urllib.request.urlopen, which raises for a 403."""

import http.client
import sys
import urllib.error
import urllib.request

from answer import answer, failure, version_asked

if not version_asked("Python %d.%d.%d" % sys.version_info[:3]):
    for url in sys.argv[1:]:
        try:
            with urllib.request.urlopen(url, timeout=30) as r:
                answer(url, r.status, r.reason, r.headers.items(), r.read())
        except urllib.error.HTTPError as e:
            answer(url, e.code, e.reason, e.headers.items(), e.read())
        except (OSError, http.client.HTTPException) as e:
            failure(url, e)
