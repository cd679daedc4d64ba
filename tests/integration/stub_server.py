"""A server of the V2 protocol that answers ModelInfer as a test wants, without a model behind it."""

import asyncio
import threading
import time

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc

ANSWER = np.zeros((1, 4), np.float32)


class StubServer(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Serves model `stub`, INPUT__0 FP32 [-1, 4], any number of requests at a time. `infer` is a coroutine of a request
    and may return a grpc.StatusCode; `arrivals` are the times of all requests, `metadata` what came with them. Tells no
    configuration and no statistics, as some servers do. With `tls`, a key and a certificate in PEM, clients must have a
    certificate that this one has signed."""

    def __init__(self, infer=None, tls=None):
        self._infer, self._tls = infer, tls
        self.arrivals = []
        self.requests = []
        self.metadata = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self):
        server = grpc.aio.server()
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(self, server)
        if self._tls is None:
            port = server.add_insecure_port("127.0.0.1:0")
        else:
            credentials = grpc.ssl_server_credentials([self._tls], self._tls[1], require_client_auth=True)
            port = server.add_secure_port("127.0.0.1:0", credentials)
        self.address = f"127.0.0.1:{port}"
        await server.start()
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._started.set()
        await self._ended.wait()
        await server.stop(None)

    def __enter__(self):
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def ModelReady(self, request, context):
        return service_pb2.ModelReadyResponse(ready=request.name == "stub")

    async def ModelMetadata(self, request, context):
        metadata = service_pb2.ModelMetadataResponse(name="stub", versions=["1"], platform="stub")
        metadata.inputs.add(name="INPUT__0", datatype="FP32", shape=[-1, 4])
        metadata.outputs.add(name="OUTPUT__0", datatype="FP32", shape=[-1, 4])
        return metadata

    async def _not_there(self, request, context):
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "the stub has no such method")

    ServerMetadata = ModelConfig = ModelStatistics = _not_there

    async def ModelInfer(self, request, context):
        self.arrivals.append(time.monotonic())
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        if self._infer is not None:
            code = await self._infer(request)
            if code is not None:
                await context.abort(code, "the stub says so")
        answer = service_pb2.ModelInferResponse(model_name="stub", model_version="1", id=request.id)
        answer.outputs.add(name="OUTPUT__0", datatype="FP32", shape=[1, 4])
        answer.raw_output_contents.append(ANSWER.tobytes())
        return answer
