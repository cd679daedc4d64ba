"""Requests/s of models of variable length, with ferry.pad against batches of one length each.

One server has every variant of the models. Each round drives them by turns with the same requests in the same
order, so that what else the machine does meets all of them; the ratios are those inside a round. Where other
work takes the cores, trust the answers for a second of the server's own processor time ("by CPU").
Needs FERRY_BINARY or the release build, and the weights that scripts/setup exports.
"""

import argparse
import dataclasses
import itertools
import pathlib
import random
import statistics
import sys
import tempfile
import time

import numpy as np
import torch
from processes import ROOT, processor_seconds

# processes has set the path.
from ferry_server import FerryServer  # noqa: I001
from metrics_text import scrape
from models import Model, Repository, fp32, parameter, tensor
from wire import Pipeline, counts, of_arrays

SHORTEST, LONGEST = 5, 128
MINILM_FILE = ROOT / "models" / "minilm" / "1" / "model.pt"
# Every 16 and every 8; None is what Ferry takes by itself.
PATIENCE = 300  # seconds for one answer on a slow machine
PAD_LENGTHS = [None, "16 32 64 128", "16 32 48 64 80 96 112 128", " ".join(map(str, range(8, 129, 8)))]

# Models


class LstmOfSteps(torch.nn.Module):
    """Features in, an output for each step: whoever asked gets the steps of its own back."""

    def __init__(self, layers: int, width: int):
        super().__init__()
        self.lstm = torch.nn.LSTM(width, width, layers, batch_first=True)

    def forward(self, x: torch.Tensor):
        return self.lstm(x)[0]


class LstmOfTokens(torch.nn.Module):
    """Token ids in, the output at the last real one out. Id 0 is padding."""

    def __init__(self, layers: int, width: int):
        super().__init__()
        self.words = torch.nn.Embedding(10_000, width)
        self.lstm = torch.nn.LSTM(width, width, layers, batch_first=True)

    def forward(self, ids: torch.Tensor):
        steps = self.lstm(self.words(ids))[0]
        last = (ids != 0).sum(1).clamp(min=1) - 1
        return steps[torch.arange(ids.size(0)), last]


@dataclasses.dataclass
class Subject:
    """A model, what its requests are like, and how they may be padded."""

    model: Model
    inputs: object  # length -> arrays by name
    pad: str
    cut: str = ""
    file: pathlib.Path | None = None

    def variant(self, lengths):
        """(label, model) of this one padded to lengths; without padding if there are none."""
        name = self.model.name
        if lengths == "":
            return "per shape", self.model.batching(f"{name}_per_shape")
        settings = [parameter("ferry.pad", self.pad)]
        if self.cut:
            settings.append(parameter("ferry.pad_cut", self.cut))
        if lengths is not None:
            settings.append(parameter("ferry.pad_lengths", lengths))
        label = lengths or "the default"
        variant = self.model.but(extra="\n".join(settings))
        return label, variant.batching(f"{name}_padded_{'_'.join((lengths or 'default').split())}")

    def write(self, repository, model):
        folder = repository.write(model.name, model.config(), None if self.file else model.file())
        if self.file:
            (folder / "1").mkdir()
            (folder / "1" / "model.pt").symlink_to(self.file)


def tokens(length):
    return np.random.randint(1000, 10_000, (1, length), np.int64)


def minilm(options):
    inputs = [tensor("input_ids", "INT64", -1), tensor("attention_mask", "INT64", -1)]
    return Subject(
        # As in models/minilm/config.pbtxt.
        Model("minilm", (), inputs, [fp32("embedding", 384)], max_batch_size=16,
              threads=options.threads),
        lambda length: {"input_ids": tokens(length), "attention_mask": np.ones((1, length), np.int64)},
        pad="input_ids:0=0 attention_mask:0=0", file=MINILM_FILE)


def lstm(options):
    return Subject(
        Model("lstm", (LstmOfTokens, options.layers, options.width), [tensor("ids", "INT64", -1)],
              [fp32("last", options.width)], max_batch_size=16, threads=options.threads),
        lambda length: {"ids": tokens(length)}, pad="ids:0=0")


def lstm_steps(options):
    width = options.width
    return Subject(
        Model("lstm_steps", (LstmOfSteps, options.layers, width), [fp32("x", -1, width)],
              [fp32("steps", -1, width)], max_batch_size=16, threads=options.threads),
        lambda length: {"x": np.random.rand(1, length, width).astype(np.float32)},
        pad="x:0=0", cut="steps:0=x:0")


SUBJECTS = {each.__name__: each for each in (minilm, lstm, lstm_steps)}

# Load


def elements(server, model):
    """(real, added) elements that the model was given."""
    metrics = scrape(server)
    return [metrics.value(f"ferry_{kind}_elements_total", model=model, version="1")
            for kind in ("input", "padding")]


@dataclasses.dataclass
class Turn:
    """What one model did in one round."""

    rate: float
    by_cpu: float
    batch: float
    waste: float


def drive(server, model, messages, options):
    before, elements_before = counts(server.stub, model), elements(server, model)
    with Pipeline(server.stub, itertools.cycle(messages), options.in_flight, PATIENCE) as pipeline:

        def mark(answers):
            pipeline.wait_for(answers, PATIENCE)
            time.sleep(0.01)  # for the other answers of the same batch
            return np.array([pipeline.answered, time.perf_counter(), processor_seconds(server.pid)])

        # The first answers come from batches that formed while the load was still building up.
        begin = mark(options.in_flight)
        time.sleep(options.seconds)
        answers, seconds, cpu = mark(pipeline.answered + 1) - begin
    done = counts(server.stub, model) - before
    real, added = (after - old for after, old in zip(elements(server, model), elements_before))
    return Turn(answers / seconds, answers / cpu, done.rows / done.executions, (real + added) / real)


def messages(subject, model, options):
    """The same for every variant of a subject, but for the model's name."""
    random.seed(options.seed)
    np.random.seed(options.seed)
    lengths = [random.randint(SHORTEST, LONGEST) for _ in range(options.requests)]
    return [of_arrays(model.name, subject.inputs(length)) for length in lengths]


def measure(server, subject, variants, options):
    """Label -> its turns, one a round."""
    loads = {label: messages(subject, model, options) for label, model in variants}
    turns = {label: [] for label, _ in variants}
    for number in range(options.rounds):
        # The other way round every second time: neither always runs after the other.
        for label, model in variants if number % 2 == 0 else variants[::-1]:
            turns[label].append(drive(server, model.name, loads[label], options))
    return turns


# Table


def median(turns, field):
    return statistics.median(getattr(turn, field) for turn in turns)


def ratios(turns, base, field):
    """Median, least and most of the rounds."""
    each = [getattr(turn, field) / getattr(other, field) for turn, other in zip(turns, base)]
    return f"{statistics.median(each):.2f} ({min(each):.2f}-{max(each):.2f})"


def print_table(name, turns):
    columns = "{:<57}{:>7}{:>18}{:>18}{:>6}{:>6}".format
    print(columns(f"\n{name}: padded to", "req/s", "ratio (range)", "by CPU", "batch", "waste"))
    for label, own in turns.items():
        medians = [f"{median(own, 'rate'):.1f}", f"{median(own, 'batch'):.1f}", f"{median(own, 'waste'):.2f}"]
        compared = [ratios(own, turns["per shape"], field) for field in ("rate", "by_cpu")]
        print(columns(label, medians[0], *compared, *medians[1:]), flush=True)


def run(options):
    subjects = [SUBJECTS[name](options) for name in options.model or SUBJECTS]
    missing = [subject for subject in subjects if subject.file and not subject.file.exists()]
    if missing:
        sys.exit(f"{missing[0].file} is missing: run scripts/setup")
    chosen = ["", *(options.pad_lengths or PAD_LENGTHS)]
    variants = [[subject.variant(lengths) for lengths in chosen] for subject in subjects]
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(folder)
        for subject, own in zip(subjects, variants):
            for _, model in own:
                subject.write(repository, model)
        print(f"{options.in_flight} requests in flight, lengths {SHORTEST}-{LONGEST}, "
              f"{options.rounds} rounds of {options.seconds:g} s", flush=True)
        with FerryServer(repository) as server:
            for subject, own in zip(subjects, variants):
                print_table(subject.model.name, measure(server, subject, own, options))


def main():
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", action="append", choices=SUBJECTS, help="may be repeated; default: all")
    options.add_argument("--pad-lengths", action="append", metavar="LENGTHS", help="may be repeated")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=4, help="of one model in one round")
    options.add_argument("--in-flight", type=int, default=64)
    options.add_argument("--requests", type=int, default=512, help="different ones, sent again and again")
    options.add_argument("--threads", type=int, default=1, help="INTRA_OP_THREAD_COUNT")
    options.add_argument("--layers", type=int, default=2, help="of the LSTMs")
    options.add_argument("--width", type=int, default=512, help="of the LSTMs")
    options.add_argument("--seed", type=int, default=1)
    run(options.parse_args())


if __name__ == "__main__":
    main()
