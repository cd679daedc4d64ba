"""The server of known capacity, and ferry-bench against it."""

import json
import subprocess

import numpy as np
from processes import PROGRAMS, pinned


class KnownServer:
    """tests/bench/known_server.cc: `rows` requests at a time, for `time_ms` each time."""

    def __init__(self, time_ms, rows=1, core="0"):
        command = [*pinned(core), str(PROGRAMS / "known_server"), str(round(time_ms * 1000)), str(rows)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def bench(*arguments, core="1", codes=(0,)):
    command = [*pinned(core), str(PROGRAMS / "ferry-bench"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def measure(server, path, *arguments):
    """A result, valid or not."""
    bench("-m", "known", "-u", server.address, "-q", "--json", path, *arguments, codes=(0, 1))
    return json.loads(path.read_text())


def responses(rate, time, rows, count, seed):
    """What an independent simulation of that server makes of Poisson arrivals: seconds from arrival to answer."""
    arrivals = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count))
    answered = np.empty(count)
    first, end = 0, 0.0
    while first < count:
        begin = max(arrivals[first], end)
        last = first + 1
        while last < count and last - first < rows and arrivals[last] <= begin:
            last += 1
        end = begin + time
        answered[first:last] = end
        first = last
    return answered - arrivals
