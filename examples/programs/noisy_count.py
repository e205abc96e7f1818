"""A noisy count that knows nothing of tollens: requests in, answers out, one JSON object a line.

Run it as `python noisy_count.py SCALE`. It needs the standard library only.
"""

import json
import random
import sys

SCALE = float(sys.argv[1])
SOURCE = random.SystemRandom()  # of the operating system: fresh in every process


def noisy_count(rows):
    """The number of rows with Laplace noise: epsilon = 1 / SCALE."""
    sign = SOURCE.choice([-1, 1])
    return len(rows) + sign * SOURCE.expovariate(1 / SCALE)


def main():
    """Say hello, then answer requests until there are no more."""
    version = "{}.{}".format(*sys.version_info)
    print(json.dumps({"tollens": 1, "packages": {"python": version}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        for _ in range(request["n"]):
            try:
                answer = {"output": noisy_count(request["data"])}
            except Exception as error:  # noqa: BLE001 - whatever a run raises is its output
                answer = {"error": {"type": type(error).__name__, "message": str(error)}}
            print(json.dumps(answer))
        sys.stdout.flush()


main()
