"""Reads Prometheus' text format."""

import collections
import re
import urllib.request

SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """`types` and `helps` by family; `samples` by (name, labels as a frozen set of pairs)."""

    def __init__(self, text):
        self.types, self.helps, self.samples = {}, {}, {}
        assert text.endswith("\n")
        for line in text.splitlines():
            self._read(line)

    def _read(self, line):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in self.types, f"{name} has two TYPE lines"
            self.types[name] = kind
        elif line.startswith("# HELP "):
            _, _, name, text = line.split(" ", 3)
            self.helps[name] = text
        elif line and not line.startswith("#"):
            self._read_sample(line)

    def _read_sample(self, line):
        match = SAMPLE.match(line)
        assert match, f"no sample: {line!r}"
        labels = frozenset(LABEL.findall(match["labels"] or ""))
        key = match["name"], labels
        assert key not in self.samples, f"{line!r} is there twice"
        self.samples[key] = float(match["value"])

    def value(self, name, **labels):
        """The sample with exactly these labels."""
        return self.samples[name, frozenset(labels.items())]

    def labels_of(self, name):
        return [dict(labels) for each, labels in self.samples if each == name]

    def mentions(self, text):
        return any(text in value for _, labels in self.samples for _, value in labels)


def url(server, path="/metrics"):
    return f"http://127.0.0.1:{server.metrics_port}{path}"


def scrape(server):
    with urllib.request.urlopen(url(server), timeout=10) as answer:
        return Metrics(answer.read().decode())


def value(server, name, model):
    return scrape(server).value(name, model=model, version="1")


def pending(server, model):
    return value(server, "nv_inference_pending_request_count", model)


def by_reason(server, name, model):
    """Reason -> count of a family with a series for each reason; those that never occurred are left out."""
    metrics = scrape(server)
    counted = {each["reason"]: int(metrics.value(name, **each))
               for each in metrics.labels_of(name) if each["model"] == model}
    return collections.Counter({reason: count for reason, count in counted.items() if count})


def failures(server, model):
    return by_reason(server, "ferry_request_failures_total", model)


OPEN_WORK = {"nv_inference_pending_request_count", "ferry_oldest_request_age_seconds", "ferry_calls_in_flight",
             "ferry_call_bytes_in_flight", "ferry_output_bytes_held"}


def open_work(server):
    """What the server has not done with yet: the gauges that are not 0."""
    samples = scrape(server).samples
    return {key: value for key, value in samples.items() if key[0] in OPEN_WORK and value != 0}
