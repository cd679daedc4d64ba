"""Whether ferry-bench finds the rate that a latency bound allows, on servers where it is known.

The truth comes from a simulation that shares no code with ferry-bench or the server: the highest rate of Poisson arrivals with
a p99 within the bound, where each response also takes what the way there and back takes. That is how much the median at half
the capacity is over the simulated one; a machine that idles is slower to wake up than one at work. Each search has a seed of
its own. Exit code 1 if one is off by more than 3 %.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
from known import KnownServer, measure, responses

# Milliseconds of a batch, rows of it, and the bound on the p99.
SERVERS = {"one at a time": (0.5, 1, 8.0), "batches of 8": (4.0, 8, 14.0)}
TOLERANCE = 0.03


def overhead(server, time_ms, rows, folder):
    """Seconds that a request takes beside its queue and its batch."""
    rate = rows / time_ms * 1e3 / 2
    result = measure(server, folder / "half.json", "--request-rate-range", rate, "--duration", "20s")
    simulated = np.median(responses(rate, time_ms / 1e3, rows, 200_000, seed=2))
    return max(result["points"][0]["response_ms"]["p50"] / 1e3 - simulated, 0)


def true_rate(time, rows, bound, count=1_000_000):
    low, high = 0.0, rows / time
    while high - low > 0.001 * high:
        rate = (low + high) / 2
        # The same seed each time, so that the quantile grows with the rate.
        if np.quantile(responses(rate, time, rows, count, seed=1), 0.99) <= bound:
            low = rate
        else:
            high = rate
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=3, help="of each server")
    parser.add_argument("--only", choices=SERVERS, action="append")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    good = True
    for name in options.only or SERVERS:
        time_ms, rows, bound_ms = SERVERS[name]
        with KnownServer(time_ms, rows) as server:
            beside = overhead(server, time_ms, rows, folder)
            truth = true_rate(time_ms / 1e3, rows, bound_ms / 1e3 - beside)
            print(f"{name}: p99 within {bound_ms:g} ms up to {truth / (rows / time_ms * 1e3):.3f} of the capacity; "
                  f"the way takes {beside * 1e3:.2f} ms", flush=True)
            for seed in range(1, options.searches + 1):
                result = measure(server, folder / f"{seed}.json", "--latency-threshold", f"{bound_ms}ms", "--seed", seed,
                                 "--warmup", "500ms")
                ratio = result["objective"]["highest_rate"] / truth
                good = good and abs(ratio - 1) <= TOLERANCE
                print(f"  found {ratio:.3f} of it: {result['objective']['explanation']}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
