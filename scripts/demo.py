"""Starts Ferry on the sample models, talks to it as a client would, and stops it."""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FERRY = ROOT / "build" / "release" / "ferry"
MODELS = ROOT / "models"
LOG = ROOT / "build" / "demo" / "ferry.log"

GRPC_PORT, METRICS_PORT = 8001, 8002
READY_TIMEOUT_S = 180
STOP_TIMEOUT_S = 40

EXPECTED_LABEL = "espresso"
MAX_DIFFERENCE = 1e-3
SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A woman holds her child in her arms.",
    "Interest rates were raised again on Thursday.",
]
CLIENTS = 32
WARM_UP_S, MEASURE_S = 1, 6
MIN_SPEEDUP = 3.0


class DemoError(Exception):
    """Something is not as it should be; the text says what was seen."""


def check(condition, message):
    if not condition:
        raise DemoError(message)


class Server:
    """The server process, with its log in a file.

    It gets a session of its own, so that Ctrl-C reaches the demo alone, which then stops it: the
    server would take a second signal as an order to leave at once.
    """

    def __init__(self, flags):
        check(FERRY.is_file(), f"{FERRY} is missing: run scripts/setup")
        with LOG.open("wb") as log:
            self.process = subprocess.Popen(
                [FERRY, f"--model-repository={MODELS}", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )

    def wait_until_ready(self):
        """The gRPC and the metrics address, from the line that says that all loads have ended."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            match = re.search(r"ready: grpc=\S*:(\d+) metrics=\S*:(\d+)", LOG.read_text(errors="replace"))
            if match:
                return f"127.0.0.1:{match[1]}", f"127.0.0.1:{match[2]}"
            code = self.process.poll()
            check(code is None, f"the server ended with exit code {code} before it was ready")
            time.sleep(0.05)
        raise DemoError(f"the server was not ready after {READY_TIMEOUT_S} s")

    def stop(self):
        """Ends the server with SIGTERM; returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise DemoError(f"the server did not stop within {STOP_TIMEOUT_S} s of SIGTERM") from None


def check_models_are_ready(client):
    for entry in client.get_model_repository_index().models:
        check(entry.state == "READY", f"model {entry.name} is {entry.state}: {entry.reason}")


def infer(client, model, output, **inputs):
    """One request through tritonclient, with a batch dimension of 1; the row that came back."""
    from tritonclient.grpc import InferInput
    from tritonclient.utils import np_to_triton_dtype

    tensors = []
    for name, array in inputs.items():
        array = array[None]
        tensors.append(InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)))
        tensors[-1].set_data_from_numpy(array)
    return client.infer(model, tensors).as_numpy(output)[0]


def eager(model, *arrays):
    """What the model gives in PyTorch, without the server; the row."""
    import torch

    with torch.no_grad():
        return model(*(torch.from_numpy(array[None]) for array in arrays))[0].numpy()


def softmax(logits):
    import numpy as np

    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def classify(client):
    import numpy as np
    from PIL import Image

    import sample_models

    photo = sample_models.coffee_photo()
    print(f"1. What is in the photograph?   (efficientnet_lite0, {photo.name} of scikit-image)")
    image = sample_models.preprocess(Image.open(photo))
    labels = (MODELS / "efficientnet_lite0" / "labels.txt").read_text(encoding="utf-8").splitlines()

    served = softmax(infer(client, "efficientnet_lite0", "logits", image=image))
    best = np.argsort(served)[::-1][:5]
    for index in best:
        print(f"   {labels[index]:<20}{served[index]:.4f}")

    expected = softmax(eager(sample_models.efficientnet_lite0(), image))
    difference = float(np.abs(served - expected).max())
    print(f"   eager PyTorch: {labels[expected.argmax()]} {expected.max():.4f}; "
          f"the largest difference of 1000 probabilities is {difference:.1e}\n")
    check(difference < MAX_DIFFERENCE, f"the server differs from eager PyTorch by {difference:.1e}")
    check(labels[best[0]] == EXPECTED_LABEL, f"expected the label {EXPECTED_LABEL}")


def compare_sentences(client):
    import numpy as np

    import sample_models

    print("2. Which sentences mean the same?   (minilm, cosine similarity)")
    model = sample_models.minilm()
    served, difference = [], 0.0
    for sentence in SENTENCES:  # Each at its own length: nothing is padded.
        (ids,), (mask,) = sample_models.tokenize([sentence])
        served.append(infer(client, "minilm", "embedding", input_ids=ids, attention_mask=mask))
        difference = max(difference, float(np.abs(served[-1] - eager(model, ids, mask)).max()))

    similarity = np.stack(served) @ np.stack(served).T
    width = max(map(len, SENTENCES))
    print(f"     {'':<{width}}" + "".join(f"{number:>7}" for number in range(1, len(SENTENCES) + 1)))
    for number, (sentence, row) in enumerate(zip(SENTENCES, similarity), start=1):
        print(f"   {number} {sentence:<{width}}" + "".join(f"{value:7.2f}" for value in row))
    print(f"   largest difference from eager PyTorch {difference:.1e}\n")
    check(difference < MAX_DIFFERENCE, f"the server differs from eager PyTorch by {difference:.1e}")


def executions_by_batch_size(client, model):
    statistics = client.get_inference_statistics(model).model_stats[0]
    return Counter({b.batch_size: b.compute_infer.count for b in statistics.batch_stats})


def measure(client, address, model, rows):
    """Drives the model; returns the load and the executions that it made, by batch size."""
    import load

    load.drive(address, model, rows, WARM_UP_S)
    before = executions_by_batch_size(client, model)
    result = load.drive(address, model, rows, MEASURE_S)
    return result, executions_by_batch_size(client, model) - before


def print_load(name, result, executions):
    sizes = ", ".join(f"{size} (x{count})" for size, count in executions.most_common(4))
    rest = len(executions) - 4
    mean = sum(size * count for size, count in executions.items()) / max(1, executions.total())
    print(f"   {name:<9}{result.requests_per_second:10.0f}{result.percentile_ms(50):9.1f}"
          f"{result.percentile_ms(99):9.1f}{mean:8.1f}   {sizes}{f', {rest} more' if rest > 0 else ''}")


def check_load(model, result, executions, expected):
    import numpy as np

    executed = sum(size * count for size, count in executions.items())
    check(executed == result.requests,
          f"{model}: {result.requests} requests answered, the statistics count {executed}")
    difference = float(np.abs(np.stack(result.answers) - expected).max())
    check(difference < MAX_DIFFERENCE, f"{model}: answers differ from eager PyTorch by {difference:.1e}")


def compare_batching(client, address):
    import numpy as np
    import torch

    import sample_models

    print(f"3. What does batching give?   (1024-4096-4096-1000 perceptron, {CLIENTS} clients, "
          f"{MEASURE_S} s each)")
    print("   batching requests/s   p50 ms   p99 ms    mean   batch sizes")
    rows = np.random.default_rng(0).standard_normal((CLIENTS, 1024), dtype=np.float32)
    with torch.no_grad():
        expected = sample_models.mlp()(torch.from_numpy(rows)).numpy()

    rates = {}
    for name, model in (("off", "mlp_unbatched"), ("on", "mlp")):
        result, executions = measure(client, address, model, rows)
        print_load(name, result, executions)
        check_load(model, result, executions, expected)
        rates[name] = result.requests_per_second
    speedup = rates["on"] / rates["off"]
    print(f"   {speedup:.1f} times as many requests per second with batching\n")
    check(speedup >= MIN_SPEEDUP,
          f"batching gave {speedup:.2f} times the requests per second, expected {MIN_SPEEDUP:.0f}")


def show(address):
    import tritonclient.grpc

    with tritonclient.grpc.InferenceServerClient(address) as client:
        check_models_are_ready(client)
        classify(client)
        compare_sentences(client)
        compare_batching(client, address)


def check_port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError as error:
            raise DemoError(f"port {port} cannot be used ({error.strerror}): stop what listens there, or run the "
                            "demo without --serve, which takes free ports") from None


def run_demo(serve):
    if serve:
        for port in (GRPC_PORT, METRICS_PORT):
            check_port_is_free(port)
        flags = [f"--grpc-port={GRPC_PORT}", f"--metrics-port={METRICS_PORT}"]
    else:
        flags = ["--grpc-address=127.0.0.1", "--grpc-port=0", "--metrics-address=127.0.0.1", "--metrics-port=0"]

    begin = time.monotonic()
    server = Server(flags)
    try:
        address, metrics = server.wait_until_ready()
        print(f"Server ready in {time.monotonic() - begin:.1f} s: gRPC {address}, metrics http://{metrics}/metrics, "
              f"log {LOG.relative_to(ROOT)}\n")
        show(address)
        if serve:
            print(f"The server keeps running on {address}; Ctrl-C stops it.", flush=True)
            wait_for_interrupt(server)
    except BaseException:
        server.stop()
        raise
    code = server.stop()
    check(code == 0, f"the server stopped with exit code {code}, expected 0")
    print("Server stopped: exit code 0.")
    if not serve:
        print("To keep one running:  ./scripts/demo --serve   or   build/release/ferry --model-repository=models")


def wait_for_interrupt(server):
    try:
        code = server.process.wait()
    except KeyboardInterrupt:
        print()
        return
    raise DemoError(f"the server ended by itself with exit code {code}")


def report_failure(error):
    print(f"\nThe demo failed: {error}", file=sys.stderr)
    if LOG.is_file():
        lines = LOG.read_text(errors="replace").splitlines()[-15:]
        print(f"The end of the server's log, {LOG}:", *lines, sep="\n  ", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true",
                        help=f"use ports {GRPC_PORT} and {METRICS_PORT} and leave the server running")
    arguments = parser.parse_args()
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.unlink(missing_ok=True)  # After a failure, only the log of this run is shown.
    # The demo's own computations must not take the cores from the server; OpenMP threads spin.
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run_demo(arguments.serve)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except Exception as error:
        report_failure(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
