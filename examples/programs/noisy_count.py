# noisy_count.py
"""A noisy count that knows nothing of tollens: `python noisy_count.py SCALE`."""

import json
import random
import sys

SOURCE = random.SystemRandom()  # of the operating system: fresh in every process


def noisy_count(rows, scale):
    """The number of rows with Laplace noise: epsilon = 1 / scale."""
    return len(rows) + SOURCE.choice([-1, 1]) * SOURCE.expovariate(1 / scale)


def main(scale):
    """Say hello, then answer requests until there are no more."""
    print(json.dumps({"tollens": 1, "packages": {"counts": "1.0"}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        for _ in range(request["n"]):
            try:
                answer = {"output": noisy_count(request["data"], scale)}
            except Exception as error:  # noqa: BLE001 - whatever a run raises is its output
                answer = {"error": {"type": type(error).__name__, "message": str(error)}}
            print(json.dumps(answer))
        sys.stdout.flush()  # once a request, or both sides wait


if __name__ == "__main__":
    main(float(sys.argv[1]))
