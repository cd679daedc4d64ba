"""Faults of the protocol, each by its number, as they can come in gRPC's own frames and headers.

Ferry takes requests over gRPC only: chunks are HTTP/2 frames here, the length of a body is that of gRPC's
prefix, and encodings are negotiated in gRPC's headers. test_faults_http.py has the same for the metrics port.
"""

import contextlib
import gzip
import time
import zlib

import grpc
import numpy as np
import pytest
from ferry_server import wait_until
from models import ADDONE, VAR
from raw_grpc import DATA, ENHANCE_YOUR_CALM, PING, RawGrpc, frame, message
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc
from wire import TIMEOUT, arrays, assert_serves, floats, infer, of_rows

MEGABYTE = 1 << 20

# gRPC's status codes by number.
INVALID, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAVAILABLE = 3, 8, 12, 14

GOOD = of_rows("addone", [[1, 2, 3, 4]]).SerializeToString()
ANSWER = floats(2, 3, 4, 5)


@pytest.fixture(autouse=True)
def serves_on_afterwards(server):
    yield
    assert_serves(server)


@pytest.fixture
def connection(server):
    with RawGrpc(server) as connection:
        yield connection


def assert_still_of_use(connection):
    """The next call on the connection is answered."""
    assert connection.call(message(GOOD)).data.endswith(ANSWER)


def values(answer):
    return next(iter(arrays(pb.ModelInferResponse.FromString(answer.message)).values()))


def test_frames_by_hand_make_a_right_call(connection):
    answer = connection.call(message(GOOD))
    assert (answer.status, values(answer).tolist()) == (0, [[2, 3, 4, 5]])
    assert_still_of_use(connection)


@contextlib.contextmanager
def grows_by_less_than(server, megabytes):
    before = server.resident_bytes()
    yield
    assert server.resident_bytes() - before < megabytes * MEGABYTE


# Lengths


def test_b031_length_that_is_only_claimed_takes_no_memory(server):
    with contextlib.ExitStack() as connections, grows_by_less_than(server, 16):
        for claim in [2**32 - 1, 600 * MEGABYTE, 200 * MEGABYTE] * 10:
            waiting = connections.enter_context(RawGrpc(server))
            waiting.data(waiting.open(), message(bytes(10), length=claim), end=False)
        assert_serves(server)


def test_b031_messages_above_the_limit_are_refused_and_leave_no_memory_behind(start, repository):
    server = start(repository.add(ADDONE), flags=["--grpc-max-message-size=8388608"])
    body = message(bytes(32 * MEGABYTE))

    def send():
        with RawGrpc(server) as connection:
            assert connection.call(body).status == RESOURCE_EXHAUSTED
            assert_still_of_use(connection)

    # The allocator keeps the first one's memory for the next.
    send()
    with grows_by_less_than(server, 16):
        for _ in range(4):
            send()


@pytest.mark.parametrize("octets", [
    b"", b"\0", message(GOOD)[:4], message(b""), message(GOOD)[:-1],
    *(message(GOOD, length) for length in (0, len(GOOD) - 1, len(GOOD) + 1, 2**31 - 1, 2**31, 2**32 - 1)),
    message(GOOD, flag=2), message(GOOD, flag=255),
], ids=["no message", "half a prefix", "a byte less than a prefix", "empty", "cut", "length 0", "a byte less",
        "a byte more", "2^31 - 1", "2^31", "2^32 - 1", "flag 2", "flag 255"])
def test_b035_message_with_a_wrong_prefix_is_refused(connection, octets):
    answer = connection.call(octets)
    assert answer.status or answer.reset
    assert answer.data == b""
    assert_still_of_use(connection)


# Messages in tiny pieces


@pytest.mark.parametrize("method, body, status", [
    ("ModelInfer", of_rows("var_unbatched", np.arange(125_000)), 0),
    ("ModelInfer", pb.ModelInferRequest(model_name="addone", id="x" * 500_000), INVALID),
    ("RepositoryIndex", pb.RepositoryIndexRequest(repository_name="x" * 500_000), UNIMPLEMENTED),
    ("RepositoryModelLoad", pb.RepositoryModelLoadRequest(model_name="x" * 500_000), UNAVAILABLE),
], ids=["tensor", "id", "index", "load"])
def test_b034_half_a_million_frames_of_one_byte_are_one_message(server, connection, method, body, status):
    """HTTP/1 has chunks; HTTP/2 has DATA frames."""
    stream = connection.open(method)
    with grows_by_less_than(server, 256):
        connection.data(stream, message(body.SerializeToString()), piece=1)
        answer = connection.answer(stream)
    assert answer.status == status
    if status == 0:
        assert values(answer).tolist() == list(range(125_000))


def test_b034_endless_frames_without_data_take_no_memory(server, connection):
    stream = connection.open()
    empty = frame(DATA, 0, stream) * 10_000
    with grows_by_less_than(server, 64):
        end = time.monotonic() + 1.5
        while time.monotonic() < end and not connection.closed:
            connection.send(empty)
        assert_serves(server)


def test_b034_thousands_of_tiny_messages_on_a_stream_are_all_answered(server, connection):
    count = 20_000
    stream = connection.open("ModelStreamInfer")
    with grows_by_less_than(server, 256):
        connection.data(stream, message(b"") * count, piece=1000)
        answer = connection.answer(stream)
    assert answer.status == 0
    assert answer.data.count(b"is not found") == count


# Large uploads with unusual headers


@pytest.mark.parametrize("headers", [
    {"content_type": "application/x-www-form-urlencoded", "expect": "100-continue"},
    {"content_type": None},
    {"connection": "close"},
], ids=["form", "no content type", "connection: close"])
def test_b037_large_upload_with_unusual_headers_is_served(server, connection, headers):
    """What curl sends for a large file; gRPC passes over these headers."""
    numbers = np.arange(3_500_000, dtype=np.float32)
    answer = connection.call(message(of_rows("var_unbatched", numbers).SerializeToString()), **headers)
    np.testing.assert_array_equal(values(answer), numbers)


# Encodings


@pytest.mark.parametrize("accepted", ["gzip", "deflate", "br", "identity;q=0", "gzip;q=0",
                                      "identity,deflate,gzip", "", None])
def test_b112_answer_is_plain_whatever_the_client_accepts(connection, accepted):
    """An answer that is compressed without saying so was the fault; `message` refuses one that is."""
    answer = connection.call(message(GOOD), grpc_accept_encoding=accepted)
    assert values(answer).tolist() == [[2, 3, 4, 5]]
    assert b"grpc-encoding" not in answer.headers


@pytest.mark.parametrize("encoding, encode", [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_b113_known_encoding_is_decoded(connection, encoding, encode):
    encodings = {"grpc_encoding": encoding, "grpc_accept_encoding": encoding}
    answer = connection.call(message(encode(GOOD), flag=1), **encodings)
    assert values(answer).tolist() == [[2, 3, 4, 5]]


# The bytes of Brotli's stream of "hello"; whatever it holds cannot be decoded.
BROTLI = b"\x0b\x02\x80hello\x03"


@pytest.mark.parametrize("encoding, octets", [
    ("br", BROTLI), ("gzip, gzip", gzip.compress(gzip.compress(GOOD))), ("identity", gzip.compress(GOOD)),
    (None, gzip.compress(GOOD)),
], ids=["br", "gzip twice", "identity", "none"])
def test_b113_unknown_encoding_is_refused(connection, encoding, octets):
    answer = connection.call(message(octets, flag=1), grpc_encoding=encoding)
    assert answer.status in (INVALID, UNIMPLEMENTED)
    assert_still_of_use(connection)


@pytest.mark.parametrize("encoding, octets", [
    ("gzip", GOOD), ("gzip", gzip.compress(GOOD)[:-10]), ("gzip", gzip.compress(GOOD) + b"xx"), ("gzip", b""),
    ("gzip", zlib.compress(GOOD)), ("deflate", GOOD), ("deflate", gzip.compress(GOOD)),
    ("gzip", gzip.compress(gzip.compress(GOOD))),
], ids=["plain", "cut", "more behind", "empty", "of another kind", "deflate: plain",
        "deflate: of another kind", "twice"])
def test_b113_damaged_data_is_refused(connection, encoding, octets):
    """gRPC answers what it cannot decode with a reset of the stream, which clients report as INTERNAL."""
    answer = connection.call(message(octets, flag=1), grpc_encoding=encoding)
    assert answer.status or answer.reset
    assert answer.data == b""
    assert_still_of_use(connection)


def test_b113_message_that_grows_beyond_the_limit_is_refused(start, repository):
    server = start(repository.add(ADDONE, VAR), flags=["--grpc-max-message-size=8388608"])
    bomb = message(zlib.compress(bytes(64 * MEGABYTE)), flag=1)
    assert len(bomb) < MEGABYTE
    with RawGrpc(server) as connection:
        assert connection.call(bomb, grpc_encoding="deflate").status == RESOURCE_EXHAUSTED
        with grows_by_less_than(server, 64):
            for _ in range(4):
                assert connection.call(bomb, grpc_encoding="deflate").data == b""
        assert_still_of_use(connection)


# Pings


def ping(connection):
    """Sends a ping; returns whether it was answered and nothing else said."""
    before = connection.pongs
    connection.send(frame(PING, payload=b"eight by"))
    return connection.wait(lambda: connection.pongs > before, timeout=5) and connection.goaway is None


def test_b118_pings_ten_seconds_apart_are_no_offence(connection):
    """gRPC puts up with two pings that come too early. After these, one more that its default of five minutes
    forbids would end the connection: that it does not shows that the interval is Ferry's."""
    assert [ping(connection) for _ in range(3)] == [True] * 3
    time.sleep(9.5)
    assert ping(connection)
    assert_still_of_use(connection)


def test_b118_pings_without_a_pause_end_their_own_connection_only(server, connection):
    with RawGrpc(server) as other:
        for _ in range(10):
            if not ping(connection):
                break
        assert connection.wait(lambda: connection.goaway is not None, timeout=5)
        assert connection.goaway == (ENHANCE_YOUR_CALM, b"too_many_pings")
        assert_still_of_use(other)


def test_b118_client_that_is_sent_away_for_its_pings_loses_no_request_silently(start, repository, gates):
    """Stock clients ping once a second at the most."""
    server = start(repository.add(ADDONE, gates.model()))
    hasty = [("grpc.keepalive_time_ms", 1000), ("grpc.keepalive_permit_without_calls", 1),
             ("grpc.http2.max_pings_without_data", 0)]
    with grpc.insecure_channel(server.address, options=hasty) as channel:
        stub, states = service_pb2_grpc.GRPCInferenceServiceStub(channel), []
        held = gates.hold(stub, "gated")
        channel.subscribe(states.append)
        ready = grpc.ChannelConnectivity.READY
        wait_until(lambda: ready in states and states[-1] != ready, timeout=20, what="the connection's end")
        held.release()
        error = held.future.exception(timeout=TIMEOUT)
        assert error is None or error.code() == grpc.StatusCode.UNAVAILABLE
        # The client connects again by itself.
        assert infer(stub, of_rows("addone", [[1, 2, 3, 4]])).tolist() == [[2, 3, 4, 5]]
