"""Ferry beside a bare gRPC echo, a bare libtorch loop and Triton: what the way of a request costs.

Every server runs on one core and the one client on another. In each round all contenders of a load are driven by
turns, so that what else the machine does meets all of them, and ratios are those inside a round; a second Ferry
among them shows the noise. Where other work takes the cores, trust the processor time for each request.
Needs FERRY_BINARY or the release build with its tests, and the weights that scripts/setup exports. Triton is
measured where scripts/fetch_triton has put it; its models are in Python, as it has no TorchScript backend there.
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import torch
from processes import (
    ROOT, Echo, Ferry, Triton, load, pinned, processor_seconds, program, report_of)

# processes has set the path.
from gates import Gates, of_gated  # noqa: I001
from models import Model, Repository, fp32
from wire import counts, infer, infer_all, of_rows
from wire import statistics as statistics_of

MLP_FILE = ROOT / "models" / "mlp" / "1" / "model.pt"
MEGABYTE = 1e6
INFLIGHT_BYTES = 64_000_000  # of the server that is flooded
FLOOD, FLOOD_WIDTH = 1000, 150_000
TIMEOUT_MS = 50


class Clone(torch.nn.Module):
    """Not its argument itself, which the server would have to copy once more."""

    def forward(self, x: torch.Tensor):
        return x.clone()


IDENTITY = Model("identity", (Clone,), [fp32("INPUT__0", -1)], [fp32("OUTPUT__0", -1)], max_batch_size=64,
                 threads=1).batching("identity")
MLP = Model("mlp", (), [fp32("INPUT__0", 1024)], [fp32("OUTPUT__0", 1000)], max_batch_size=32, threads=1)
MLPS = [MLP.batching("mlp"),
        # Limits that no request reaches: having them is what may cost.
        MLP.batching("mlp_policy", fields="default_queue_policy { max_queue_size: 1000 "
                                          "default_timeout_microseconds: 10000000 }")]
TIMED = f"default_queue_policy {{ default_timeout_microseconds: {TIMEOUT_MS * 1000} }}"


@dataclasses.dataclass
class Load:
    """Closed-loop clients that send one request to several contenders by turns."""

    name: str
    model: str
    width: int
    clients: int
    contenders: list


SERVERS = ["Ferry", "Ferry again", "Triton"]
ECHOES = [*SERVERS, "raw echo", "typed echo"]
LOADS = [
    Load("4KB", "identity", 1024, 64, ECHOES),
    Load("600KB", "identity", 3 * 224 * 224, 8, ECHOES),
    Load("mlp64", "mlp", 1024, 64, [*SERVERS, "loop of 32", "Ferry, policy", "Triton, policy"]),
    Load("mlp16", "mlp", 1024, 16, [*SERVERS, "loop of 16"]),
    Load("mlp1", "mlp", 1024, 1, [*SERVERS, "loop of 1", "paced echo"]),
]


@dataclasses.dataclass
class Row:
    """A line of the table. `compare` makes its result from Ferry's figure and that of what it is held against."""

    label: str
    load: str
    figure: str
    against: str
    compare: str  # ratio, difference or value
    bar: str = ""
    ferry: str = "Ferry"
    again: str = "Ferry again"
    triton: str = "Triton"


ROWS = [
    Row("CPU of 4 KB both ways, 64 clients", "4KB", "cpu_us", "raw echo", "ratio", "<= 1.35"),
    Row("  the same", "4KB", "cpu_us", "typed echo", "ratio"),
    Row("CPU of 600 KB both ways, 8 clients", "600KB", "cpu_us", "raw echo", "ratio", "<= 0.75"),
    Row("  the same", "600KB", "cpu_us", "typed echo", "ratio"),
    Row("mlp, requests/s of 64 clients", "mlp64", "rate", "loop of 32", "ratio", ">= 0.97"),
    Row("mlp, requests/s of 16 clients", "mlp16", "rate", "loop of 16", "ratio", ">= 0.93"),
    Row("mlp, 64 clients, queue policy or none", "mlp64", "rate", "Ferry", "ratio", ">= 0.98", ferry="Ferry, policy",
        again="", triton="Triton, policy"),
    Row("mlp, full batches of 64 clients, %", "mlp64", "full_percent", "", "value", ">= 100", triton=""),
    Row("  rows of an execution, 16 clients", "mlp16", "mean_batch", "", "value"),
    Row("mlp, a lone request over its computing, ms", "mlp1", "over_ms", "", "value", "<= 0.2"),
    Row("  more than a bare echo called as seldom", "mlp1", "over_ms", "paced echo", "difference", "<= 0.2"),
    Row(f"answers after a timeout of {TIMEOUT_MS} ms, p99 ms", "timeouts", "late_ms", "refusal", "value", "<= 2"),
    Row("  more than those of a refusal at once", "timeouts", "late_ms", "refusal", "difference"),
    Row("peak memory of a flood, MB", "flood", "peak_mb", "limit", "difference", "<= 150"),
    Row("  of which refused without a reason", "flood", "unexplained", "refused", "value", "<= 0"),
    Row("  the next request served", "flood", "next_served", "", "value", ">= 1"),
]

# Loads


class Contenders:
    """The servers and loops of one run, by name: a function of a load that drives it once."""

    def __init__(self, options, folder, stack):
        self.options, self.folder, self.stack = options, folder, stack
        self.pinned = pinned(options.server_cores)
        self.gates = Gates(folder / "gates")
        self.repository = Repository(folder / "models").add(
            IDENTITY, self.gates.model().batching("busy", fields=TIMED))
        for model in MLPS:
            (self.repository.write(model.name, model.config()) / "1").mkdir()
            (self.repository.path / model.name / "1" / "model.pt").symlink_to(MLP_FILE)
        self.ferries = {name: stack.enter_context(Ferry(self.repository, prefix=self.pinned))
                        for name in ["Ferry", "Ferry again"]}
        self.servers = dict(self.ferries)
        if options.triton:
            models = [self.repository.path / model.name for model in [IDENTITY, *MLPS]]
            self.servers["Triton"] = stack.enter_context(
                Triton(options.triton, folder / "triton", models, self.pinned))

    def message_file(self, name, message):
        path = self.folder / f"{name}.message"
        path.write_bytes(message.SerializeToString())
        return path

    def of(self, each, stack):
        """Name -> what drives it once, for `seconds`."""
        names = [name for name in each.contenders if self.options.triton or "Triton" not in name]
        drives = {}
        for name in names:
            if name.startswith("loop"):
                drives[name] = functools.partial(self.loop, each, int(name.split()[-1]))
            elif "policy" in name:
                server = self.servers[name.split(",")[0]]
                drives[name] = functools.partial(self.drive, each, server, each.model + "_policy")
            elif name in self.servers:
                drives[name] = functools.partial(self.drive, each, self.servers[name], each.model)
        if "raw echo" in names:
            # As many bytes as the server's own answer.
            answer = int(drives["Ferry"](seconds=0.1)["answer_bytes"])
            for name, arguments in {"raw echo": ["raw", answer], "typed echo": ["typed"]}.items():
                echo = stack.enter_context(Echo(*arguments, prefix=self.pinned))
                drives[name] = functools.partial(self.drive, each, echo, each.model)
        if "paced echo" in names:
            # A machine that has been idle for some milliseconds is slow to wake, whoever is called.
            ferry = drives["Ferry"](seconds=0.5)
            echo = stack.enter_context(Echo("raw", int(ferry["answer_bytes"]), prefix=self.pinned))
            drives["paced echo"] = functools.partial(self.pace, each, echo, int(ferry["mean_us"]))
        return drives

    def pace(self, each, server, interval_us, seconds):
        message = self.message_file(each.name, of_rows(each.model, np.random.rand(1, each.width)))
        report = report_of(load(server.address, message, interval_us=interval_us,
                                requests=int(seconds * 1e6 / interval_us)))
        return {"over_ms": report.mean_us / 1e3}

    def drive(self, each, server, model, seconds):
        message = self.message_file(each.name, of_rows(model, np.random.rand(1, each.width)))
        known = statistics_of(server.stub, model) if isinstance(server, (Ferry, Triton)) else None
        before = processor_seconds(*server.pids)
        client = load(server.address, message, concurrency=each.clients, seconds=seconds)
        full = full_percent(server, model, seconds) if isinstance(server, Ferry) else None
        report = report_of(client)
        if report.refusals:
            sys.exit(f"{each.name}: requests were refused: {report.refusals}")
        cpu = processor_seconds(*server.pids) - before
        return report.values | {"cpu_us": cpu * 1e6 / report.requests, "full_percent": full} | (
            executions_since(known, server, model, report) if known else {})

    def loop(self, each, batch, seconds):
        return report_of(program("torch_loop", MLP_FILE, batch, each.width, seconds, prefix=self.pinned)).values


def executions_since(known, server, model, report):
    """What the server's statistics say of a run: of means, since what holds up a few requests holds up both sides."""
    now = statistics_of(server.stub, model)
    executions = now.execution_count - known.execution_count
    was, now_is = known.inference_stats.compute_infer, now.inference_stats.compute_infer
    computing_us = (now_is.ns - was.ns) / 1e3 / (now_is.count - was.count)
    return {"mean_batch": (now.inference_count - known.inference_count) / executions,
            "over_ms": (report.mean_us - computing_us) / 1e3}


def full_percent(server, model, seconds):
    """The share of batches with max_batch_size rows, in the middle of a run: its ends have others."""
    time.sleep(seconds * 0.3)
    before = counts(server.stub, model)
    time.sleep(seconds * 0.4)
    done = counts(server.stub, model) - before
    size = next(each.max_batch_size for each in [IDENTITY, *MLPS] if each.name == model)
    return 100 * done.batches.get(size, 0) / max(1, done.executions)


def measure(contenders, each, options):
    """Name -> its figures, one dict a round."""
    print(each.name, "...", file=sys.stderr, flush=True)
    with contextlib.ExitStack() as stack:
        drives = contenders.of(each, stack)
        for drive in drives.values():
            drive(seconds=options.seconds / 4)
        turns = {name: [] for name in drives}
        for number in range(options.rounds):
            # The other way round every second time: neither always runs after the other.
            for name in list(drives)[::1 if number % 2 == 0 else -1]:
                turns[name].append(drives[name](seconds=options.seconds))
    return turns


# Timeouts and the flood, with figures like those of a load


def timeouts(contenders, options):
    """How late timeouts are answered while the instance is busy; beside it, how late a request is refused at once."""
    files = [contenders.message_file(model, of_gated(model, [0])) for model in ("busy", "absent")]
    turns = {name: [] for name in [*contenders.ferries, "refusal"]}
    every = {"interval_us": 5000, "requests": int(options.seconds * 200)}
    for _ in range(options.rounds):
        for name, server in contenders.ferries.items():
            with held(contenders.gates, server, "busy"):
                late, refusal = [report_of(load(server.address, file, **every)) for file in files]
            if late.ok or refusal.ok:
                sys.exit("a request was served while the only instance was busy")
            turns[name].append({"late_ms": late.p99_us / 1e3 - TIMEOUT_MS})
            if name == "Ferry":
                turns["refusal"].append({"late_ms": refusal.p99_us / 1e3})
    return turns


@contextlib.contextmanager
def held(gates, server, model):
    """The model's instance is busy inside."""
    request = gates.hold(server.stub, model)
    try:
        yield request
    finally:
        request.finish()


def flood_once(contenders, repository, message):
    flags = [f"--max-inflight-bytes={INFLIGHT_BYTES}"]
    with Ferry(repository, flags=flags, prefix=contenders.pinned) as server:
        infer(server.stub, of_gated("gated", [0], width=FLOOD_WIDTH))
        server.forget_peak()
        base = server.resident_bytes()
        with held(contenders.gates, server, "gated") as request:
            client = load(server.address, message, concurrency=FLOOD, requests=FLOOD, quiet_ms=1000)
            # What can be refused has been; the rest waits for the instance.
            assert client.stdout.readline() == "quiet\n", "the flood ended while the instance was busy"
            request.release()
            report = report_of(client)
        answer = infer_all(server.stub, [of_gated("gated", [0], width=FLOOD_WIDTH)])[0]
        peak = (server.peak_bytes() - base) / MEGABYTE
    unexplained = sum(count for (_, text), count in report.refusals.items() if not text)
    return {"peak_mb": peak, "unexplained": unexplained, "refused": FLOOD - report.ok,
            "next_served": int(not isinstance(answer, Exception))}


def flood(contenders, options):
    repository = Repository(contenders.folder / "flooded").add(contenders.gates.model().batching("gated"))
    message = contenders.message_file("flood", of_gated("gated", [0], width=FLOOD_WIDTH))
    turns = {name: [] for name in ["Ferry", "Ferry again", "refused", "limit"]}
    for _ in range(min(options.rounds, 2)):
        for name in ["Ferry", "Ferry again"]:
            turns[name].append(flood_once(contenders, repository, message))
        # In the columns of what the figures are held against.
        turns["refused"].append({"unexplained": turns["Ferry"][-1]["refused"]})
        turns["limit"].append({"peak_mb": INFLIGHT_BYTES / MEGABYTE})
    return turns


# Table


COMPARE = {"ratio": lambda own, other: own / other, "difference": lambda own, other: own - other,
           "value": lambda own, other: own}


def number(value):
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def median(turns, name, figure):
    values = [turn[figure] for turn in turns.get(name, []) if turn.get(figure) is not None]
    return number(statistics.median(values)) if values else ""


def compared(row, turns, own, other):
    """The result of each round; none where one of the two was not measured."""
    if own not in turns or (other not in turns and row.compare != "value"):
        return []
    pairs = zip(turns[own], turns[own] if row.compare == "value" else turns[other])
    return [COMPARE[row.compare](mine[row.figure], theirs[row.figure]) for mine, theirs in pairs]


def with_range(results):
    if not results:
        return ""
    return f"{number(statistics.median(results))} [{number(min(results))}, {number(max(results))}]"


def is_met(bar, results):
    if not bar or not results:
        return ""
    sign, limit = bar.split()
    result = round(statistics.median(results), 2)
    return "yes" if (result <= float(limit) if sign == "<=" else result >= float(limit)) else "NO"


HEAD = ["measure", "Ferry", "against", "", "result [range]", "bar", "met", "Ferry again", "Triton*",
        "CPU us/req", "against", "Triton*"]
NOTES = """
result: Ferry's figure divided by, or less, that of what it is held against, inside a round; median and range.
Ferry again: a second Ferry held against the first, which is the noise; where the result is a value, its own.
Triton*: in Ferry's place in the result; version 2.51 with models of its Python backend on the same torch.
"""


def cells(row, turns):
    results = compared(row, turns, row.ferry, row.against)
    # A second Ferry in the place of what the first is held against; for a value, in its own.
    noise = compared(row, turns, row.again, row.again if row.compare == "value" else "Ferry")
    triton_base = "Triton" if row.triton == "Triton, policy" else row.against
    triton = with_range(compared(row, turns, row.triton, triton_base)).split(" ")[0]
    cpu = [median(turns, name, "cpu_us") for name in (row.ferry, row.against, row.triton)]
    return [row.label, median(turns, row.ferry, row.figure), median(turns, row.against, row.figure), row.against,
            with_range(results), row.bar, is_met(row.bar, results), with_range(noise), triton, *cpu]


def print_table(measured):
    lines = [HEAD, *(cells(row, measured[row.load]) for row in ROWS if row.load in measured)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        # Figures are aligned to the right, text to the left.
        print("  ".join(cell.ljust(width) if column in (0, 3, 5, 6) else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(line, widths))).rstrip(), flush=True)


def run(options):
    if not MLP_FILE.exists():
        sys.exit(f"{MLP_FILE} is missing: run scripts/setup")
    if not options.triton:
        print("Triton: not there, left out (scripts/fetch_triton gets it)")
    # Children begin on the client's core; servers are sent to theirs.
    os.sched_setaffinity(0, {options.client_core})
    wanted = options.only or [*(each.name for each in LOADS), "timeouts", "flood"]
    measured = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        contenders = Contenders(options, pathlib.Path(folder), stack)
        for each in LOADS:
            if each.name in wanted:
                measured[each.name] = measure(contenders, each, options)
        for special in (timeouts, flood):
            if special.__name__ in wanted:
                print(special.__name__, "...", file=sys.stderr, flush=True)
                measured[special.__name__] = special(contenders, options)
    print(f"{options.rounds} rounds of {options.seconds:g} s; servers on core {options.server_cores}, "
          f"the client on core {options.client_core}")
    print_table(measured)
    print(NOTES)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=3, help="of one contender in one round")
    names = [*(each.name for each in LOADS), "timeouts", "flood"]
    options.add_argument("--only", action="append", choices=names, help="may be repeated; default: all")
    triton = ROOT / "build" / "triton"
    options.add_argument("--triton", metavar="DIR", default=triton if triton.exists() else None,
                         help="where scripts/fetch_triton has put it (build/triton)")
    options.add_argument("--server-cores", default="0", help="as taskset has them: 0 or 0,1")
    options.add_argument("--client-core", type=int, default=1)
    run(options.parse_args())


if __name__ == "__main__":
    main()
