"""Runs ferry-bench and reads what it found."""

import json
import subprocess

from ferry_server import BINARY

BENCH = BINARY.parent / "ferry-bench"


def run(*arguments, timeout=120):
    return subprocess.run([str(BENCH), *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          check=False)


def start(*arguments):
    return subprocess.Popen([str(BENCH), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def measure(folder, address, model, *arguments, code=0):
    """The result of a run as JSON. On a machine that is busy with other things the generator may fall behind, which is no fault
    of it."""
    path = folder / "result.json"
    done = run("-m", model, "-u", address, "--json", path, "-q", *arguments)
    result = json.loads(path.read_text()) if path.exists() else {"points": []}
    reasons = [reason for point in result["points"] for reason in point["invalid"]]
    if code == 0 and reasons and all(reason.startswith("the generator fell behind") for reason in reasons):
        code = 1
    assert done.returncode == code, done.stdout + done.stderr
    return result


def quantile_ms(histogram, q):
    """Of a histogram in a result, by nearest rank: not what the tool itself made of it."""
    histogram = histogram["buckets"]
    total = sum(count for _, count in histogram)
    seen = 0
    for upper, count in histogram:
        seen += count
        if seen >= q * total:
            return upper / 1e6
    raise ValueError("no values")
