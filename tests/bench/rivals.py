"""Ferry beside Triton and MLServer, measured by ferry-bench: one report of all three.

All serve models/mlp on the same torch with one thread, each server on one core and ferry-bench on another. Servers take turns
in each round, and only one works at a time. Triton and MLServer are measured where scripts/fetch_triton and
scripts/fetch_mlserver have put them; Triton's model is in Python, as it has no TorchScript backend there.

    tests/bench/rivals.py                  closed loops of 1, 16 and 64 clients, then the open loop at --rate
    build/rivals/closed.html, open.html    the reports
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from processes import PROGRAMS, ROOT, Ferry, MLServer, Triton, pinned

MODEL = ROOT / "models" / "mlp"
WIDTH, ANSWER_WIDTH, MAX_BATCH = 1024, 1000, 32


def started(options, stack):
    """Name -> address."""
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    prefix = pinned(options.server_core)
    repository = folder / "ferry"
    repository.mkdir()
    (repository / "mlp").mkdir()
    config = (MODEL / "config.pbtxt").read_text()
    one_thread = 'parameters { key: "INTRA_OP_THREAD_COUNT" value { string_value: "1" } }'
    (repository / "mlp" / "config.pbtxt").write_text(f"{config}\n{one_thread}\n")
    (repository / "mlp" / "1").symlink_to(MODEL / "1")
    servers = {"Ferry": stack.enter_context(Ferry(str(repository), prefix=prefix))}
    if options.triton.exists():
        servers["Triton"] = stack.enter_context(
            Triton(options.triton, folder / "triton", [repository / "mlp"], prefix))
    if options.mlserver.exists():
        servers["MLServer"] = stack.enter_context(
            MLServer(options.mlserver, folder / "mlserver", repository / "mlp", prefix, WIDTH, ANSWER_WIDTH, MAX_BATCH))
    return {name: server.address for name, server in servers.items()}


def bench(options, *arguments):
    command = [*pinned(options.client_core), str(PROGRAMS / "ferry-bench"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: a point is not valid, which the report says
        sys.exit(f"{' '.join(command)}\n{done.stderr}")


def measure(options, name, address, load, path):
    print(f"{name} {' '.join(map(str, load))} ...", file=sys.stderr, flush=True)
    bench(options, "-m", "mlp", "-u", address, "-q", "--json", path, "--verify", "alone:tolerance:1e-3,1e-4",
          "--duration", f"{options.seconds}s", *load)
    return json.loads(path.read_text())


def rounds(options, servers, load, folder):
    """Name -> results of all rounds, and the file of the one in the middle."""
    results = {name: [] for name in servers}
    for number in range(options.rounds):
        turns = list(servers.items())
        for name, address in turns if number % 2 == 0 else turns[::-1]:
            path = folder / f"{name}-{number}.json"
            results[name].append((measure(options, name, address, load, path), path))
    return results


def middle(results):
    """Of several runs, by the rate of their last point."""
    return sorted(results, key=lambda result: result[0]["points"][-1]["requests_per_second"])[len(results) // 2]


def print_table(results):
    points = len(next(iter(results.values()))[0][0]["points"])
    for number in range(points):
        rates = {name: [run["points"][number]["requests_per_second"] for run, _ in runs] for name, runs in results.items()}
        p99 = {name: [run["points"][number]["response_ms"]["p99"] for run, _ in runs] for name, runs in results.items()}
        load = next(iter(results.values()))[0][0]["points"][number]["load"]
        print(f"\n{load['kind']} {load['value']:g}")
        base = statistics.median(rates["Ferry"])
        for name in results:
            ratios = [rate / base for rate in rates[name]]
            print(f"  {name:9} requests/s {statistics.median(ratios):5.2f} of Ferry's [{min(ratios):.2f}-{max(ratios):.2f}]"
                  f"   p99 {statistics.median(p99[name]):8.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of one point")
    parser.add_argument("--rate", type=float, default=300, help="requests/s of the open loop")
    parser.add_argument("--triton", type=pathlib.Path, default=ROOT / "build" / "triton", metavar="DIR")
    parser.add_argument("--mlserver", type=pathlib.Path, default=ROOT / "build" / "mlserver", metavar="DIR")
    parser.add_argument("--server-core", default="0")
    parser.add_argument("--client-core", default="1")
    options = parser.parse_args()
    out = ROOT / "build" / "rivals"
    loads = {"closed": ["--concurrency-range", "1,16,64"], "open": ["--request-rate-range", options.rate]}
    with contextlib.ExitStack() as stack:
        servers = started(options, stack)
        for kind, load in loads.items():
            folder = out / kind
            folder.mkdir(parents=True, exist_ok=True)
            results = rounds(options, servers, load, folder)
            print_table(results)
            files = [middle(runs)[1] for runs in results.values()]
            bench(options, "report", *files, "--html", out / f"{kind}.html")
            print(f"\nreport: {out / kind}.html")


if __name__ == "__main__":
    main()
