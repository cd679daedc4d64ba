"""Whether `ferry-bench compare` can tell what differs from what does not.

Sets of five runs against the server of known speed, the two sets in turns (ABBA): 20 comparisons of the server with itself,
where at least 19 must call the throughput the same, then of one with batches that take 5 % longer, whose throughput must be
called slower each time. What is said of p50 and p99 is printed beside it.
"""

import argparse
import pathlib
import re
import sys
import tempfile

from known import KnownServer, bench, measure

TIME_MS, ROWS, CLIENTS = 2.0, 8, 16


def sets_of_runs(servers, runs, seconds, folder, seed):
    """Files of the runs against each of two servers, taken in turns."""
    files = ([], [])
    for run in range(runs):
        for which in (0, 1) if run % 2 == 0 else (1, 0):
            path = folder / f"{'ab'[which]}{run}.json"
            measure(servers[which], path, "--concurrency-range", CLIENTS, "--duration", f"{seconds}s", "--warmup", "200ms",
                    "--seed", seed * 1000 + run)
            files[which].append(path)
    return files


LINE = re.compile(r"^.*?\s(ok/s|p50|p99)\s+(same|slower|faster|too few to say|too noisy to say)\s", re.M)


def verdicts(files):
    """What compare makes of each figure, and all it says."""
    baseline, candidate = files
    done = bench("compare", "--baseline", *baseline, "--candidate", *candidate, codes=(0, 1))
    return dict(LINE.findall(done.stdout)), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--slower", type=int, default=5, help="comparisons with the slower server")
    parser.add_argument("--runs", type=int, default=5, help="of each set")
    parser.add_argument("--seconds", type=float, default=1, help="of a run")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    with KnownServer(TIME_MS, ROWS) as one, KnownServer(TIME_MS, ROWS) as same, KnownServer(TIME_MS * 1.05, ROWS) as slow:
        good = True
        for kind, other, times, wanted, least in (
                ("with itself", same, options.comparisons, "same", 0.95 * options.comparisons),
                ("5 % slower", slow, options.slower, "slower", options.slower)):
            seen = []
            for seed in range(times):
                said, text = verdicts(sets_of_runs((one, other), options.runs, options.seconds, folder, seed))
                seen.append(said)
                print(f"{kind}: {said}", flush=True)
                if said["ok/s"] != wanted:
                    print(text, flush=True)
            counts = {figure: sum(said[figure] == wanted for said in seen) for figure in ("ok/s", "p50", "p99")}
            print(f"{kind}, called {wanted} of {times} times: {counts}", flush=True)
            good = good and counts["ok/s"] >= least
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
