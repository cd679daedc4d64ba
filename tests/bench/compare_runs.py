"""Whether `ferry-bench compare` can tell what differs from what does not.

Sets of five runs against the server of known speed, the two sets in turns (ABBA): 20 comparisons of the server with itself,
where at least 19 must say "same", then of one with batches that take 5 % longer, which must be called slower each time.
"""

import argparse
import pathlib
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


def verdict(files, figure="rps"):
    """What compare makes of the throughput, and all it says."""
    baseline, candidate = files
    done = bench("compare", "--baseline", *baseline, "--candidate", *candidate, codes=(0, 1))
    line = next(line for line in done.stdout.splitlines() if figure in line or "requests/s" in line)
    words = [word for word in ("same", "slower", "faster", "unclear") if word in line]
    return (words[0] if words else line), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--slower", type=int, default=5, help="comparisons with the slower server")
    parser.add_argument("--runs", type=int, default=5, help="of each set")
    parser.add_argument("--seconds", type=float, default=1, help="of a run")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    with KnownServer(TIME_MS, ROWS) as one, KnownServer(TIME_MS, ROWS) as same, KnownServer(TIME_MS * 1.05, ROWS) as slow:
        counts = {}
        for kind, other, times in (("with itself", same, options.comparisons), ("5 % slower", slow, options.slower)):
            seen = []
            for seed in range(times):
                said, text = verdict(sets_of_runs((one, other), options.runs, options.seconds, folder, seed))
                seen.append(said)
                print(f"{kind}: {said}", flush=True)
                if said != ("same" if other is same else "slower"):
                    print(text, flush=True)
            counts[kind] = seen
    same_count, slower_count = counts["with itself"].count("same"), counts["5 % slower"].count("slower")
    print(f"with itself: same {same_count} of {options.comparisons}; 5 % slower: slower {slower_count} of {options.slower}")
    return 0 if same_count >= 0.95 * options.comparisons and slower_count == options.slower else 1


if __name__ == "__main__":
    sys.exit(main())
