"""ferry-bench's percentiles against a sort, and against an implementation of HdrHistogram by others."""

import subprocess

import numpy as np
import pytest
from ferry_server import BINARY
from hdrh.histogram import HdrHistogram

QUANTILES = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999]
COUNT = 1_000_000


def latencies(shape, seed=1):
    """Nanoseconds."""
    random = np.random.default_rng(seed)
    if shape == "lognormal":
        values = np.exp(random.normal(np.log(2e6), 0.8, COUNT))
    elif shape == "two humps":
        values = np.where(random.random(COUNT) < 0.97, random.normal(3e6, 2e5, COUNT), random.normal(9e8, 5e7, COUNT))
    else:
        values = random.uniform(1e3, 6e10, COUNT)
    return np.maximum(values, 1).astype(np.int64)


def of_ferry_bench(values):
    program = BINARY.parent / "histogram_quantiles"
    done = subprocess.run([program, *map(str, QUANTILES)], input=values.tobytes(), capture_output=True, check=True)
    return [int(line.split()[1]) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shape", ["lognormal", "two humps", "uniform"])
def test_percentiles_are_those_of_a_sort(shape):
    values = latencies(shape)
    exact = np.sort(values)[[int(np.ceil(q * COUNT)) - 1 for q in QUANTILES]]
    assert of_ferry_bench(values) == pytest.approx(exact, rel=0.001)


@pytest.mark.parametrize("shape", ["lognormal", "two humps", "uniform"])
def test_percentiles_are_those_of_another_hdr_histogram(shape):
    values = latencies(shape)
    other = HdrHistogram(1, 3600 * 10**9, 3)
    # One call for all that fall on the same value.
    for value, count in zip(*np.unique(values // 1000 * 1000 + 1, return_counts=True)):
        other.record_value(int(value), int(count))
    theirs = [other.get_value_at_percentile(q * 100) for q in QUANTILES]
    # Each has three digits, so that they differ by a unit of the last one at most; and the values by a microsecond.
    assert of_ferry_bench(values) == pytest.approx(theirs, rel=0.001, abs=1000)
