"""Questions to a server that is under test."""
import json
import ssl
import urllib.error
import urllib.request


def status(url, key=None, body=None, trusted=None):
    """The status and the text of an answer."""
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers)
    context = ssl.create_default_context(cafile=trusted) if trusted else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
