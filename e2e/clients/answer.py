"""What every Python client here prints: see ../doc.go, "Answers"."""

import base64
import sys


def answer(url, status, reason, fields, body):
    out = ["url %s" % url, "status %d" % status, "reason %s" % reason]
    out += ["field %s: %s" % (name, value) for name, value in fields]
    out += ["body %s" % base64.b64encode(body).decode("ascii"), "end"]
    print("\n".join(out), flush=True)


def failure(url, error):
    line = " ".join(("%s: %s" % (type(error).__name__, error)).split())
    print("\n".join(["url %s" % url, "error %s" % line, "end"]), flush=True)


def version_asked(version):
    """True, and the version is printed, where the only argument is --version."""
    if sys.argv[1:] == ["--version"]:
        print(version)
        return True
    return False
