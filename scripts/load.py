"""Drives one model from concurrent clients, each waiting for its answer before it asks again.

The clients share the cores with the server, so they do as little as they can: the request is
serialised once, and the answers stay bytes until the clock has stopped.
"""

import asyncio
import time
from dataclasses import dataclass

import grpc
import numpy as np
from tritonclient.grpc import service_pb2

INFER = "/inference.GRPCInferenceService/ModelInfer"
REQUEST_TIMEOUT_S = 60


@dataclass
class Load:
    seconds: float
    latencies_ms: np.ndarray  # One for each request answered.
    answers: list  # The last one of each client: the FP32 row.

    @property
    def requests(self):
        return len(self.latencies_ms)

    @property
    def requests_per_second(self):
        return self.requests / self.seconds

    def percentile_ms(self, percent):
        return float(np.percentile(self.latencies_ms, percent))


def infer_request(model, row):
    request = service_pb2.ModelInferRequest(model_name=model)
    request.inputs.add(name="INPUT__0", datatype="FP32", shape=[1, row.size])
    request.raw_input_contents.append(row.astype(np.float32).tobytes())
    return request.SerializeToString()


def first_output(answer):
    response = service_pb2.ModelInferResponse.FromString(answer)
    return np.frombuffer(response.raw_output_contents[0], dtype=np.float32)


async def ask_until(deadline, infer, request, latencies):
    while True:
        begin = time.perf_counter()
        answer = await infer(request, timeout=REQUEST_TIMEOUT_S)
        end = time.perf_counter()
        latencies.append(end - begin)
        if end >= deadline:
            return answer


async def drive_async(address, model, rows, seconds):
    async with grpc.aio.insecure_channel(address) as channel:
        await channel.channel_ready()
        infer = channel.unary_unary(INFER)  # No serialisers: bytes in, bytes out.
        requests = [infer_request(model, row) for row in rows]
        latencies = []
        begin = time.perf_counter()
        answers = await asyncio.gather(
            *(ask_until(begin + seconds, infer, request, latencies) for request in requests)
        )
        elapsed = time.perf_counter() - begin
    return Load(elapsed, np.array(latencies) * 1e3, [first_output(answer) for answer in answers])


def drive(address, model, rows, seconds):
    """One client for each row of `rows`, for `seconds`; answers asked for by then are awaited."""
    return asyncio.run(drive_async(address, model, rows, seconds))
