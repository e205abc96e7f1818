# http_shim.py
"""Audit an HTTP service as a program: `python http_shim.py http://localhost:8000/count`.

Two lines of it are about the service: what is posted for a run, and where the output stands in the
answer. Each run has a connection of its own. A status that is no success is an output, like an
exception; a service that cannot be reached ends the audit.
"""

import http.client
import json
import sys
from urllib.parse import urlsplit

url = urlsplit(sys.argv[1])
connect = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}[url.scheme]
print('{"tollens": 1}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    for _ in range(request["n"]):
        service = connect(url.hostname, url.port, timeout=60)
        try:
            service.request("POST", url.path, json.dumps({"rows": request["data"]}))
            answer = service.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            print(json.dumps({"fault": f"no answer from {sys.argv[1]}: {error!r}"}))
            sys.exit(1)
        finally:
            service.close()
        if answer.status == 200:
            print(json.dumps({"output": json.loads(body)["count"]}))
        else:
            print(json.dumps({"error": {"type": f"HTTP {answer.status}"}}))
    sys.stdout.flush()
