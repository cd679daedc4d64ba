"""Faults of HTTP, each by its number, as they can come to the metrics port: the one place that speaks HTTP/1.

Ferry takes no requests to models there. What it cannot read it need not answer, but it must close the
connection at once. Whatever came, the page must be there for others, and take no memory for those who misuse
it.
"""

import contextlib
import http.client
import socket
import time

import pytest
from metrics_text import Metrics, scrape
from wire import TIMEOUT, assert_serves

MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def serves_on_afterwards(server):
    yield
    assert_page(server)
    assert_serves(server)


def assert_page(server):
    assert scrape(server).value("nv_inference_pending_request_count", model="addone", version="1") == 0


def connect(server):
    return socket.create_connection(("127.0.0.1", server.metrics_port), timeout=TIMEOUT)


def head(method="GET", path="/metrics", *lines):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: ferry", *lines, "", ""]).encode()


def read_to_end(connection):
    """Returns what comes until the server closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while octets := connection.recv(1 << 16):
            received += octets
    return received


def exchange(server, octets, timeout=5):
    """Sends the octets and reads until the server closes the connection, which it must do in time."""
    with connect(server) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(octets)
        connection.settimeout(timeout)
        return read_to_end(connection)


def status(received):
    return int(received.split(b" ", 2)[1])


def assert_refused(received):
    assert received == b"" or 400 <= status(received) < 500


METHODS = [("GET", "/metrics", 200), ("POST", "/metrics", 405), ("POST", "/v2/models/addone/infer", 405),
           ("POST", "/v2/repository/index", 405), ("POST", "/v2/repository/models/addone/load", 405)]


def chunked(method, path):
    return head(method, path, "Transfer-Encoding: chunked", "Connection: close")


# Bodies


@pytest.mark.parametrize("method, path, answered", METHODS)
def test_b034_half_a_million_chunks_of_one_byte_are_no_burden(server, method, path, answered):
    before = server.resident_bytes()
    body = b"1\r\na\r\n" * 500_000 + b"0\r\n\r\n"
    assert status(exchange(server, chunked(method, path) + body)) == answered
    assert server.resident_bytes() - before < 64 * MEGABYTE


@pytest.mark.parametrize("chunk", [
    b"1\r\na\r\n", b"1;note=\"chunk\"\r\na\r\n", b"10000\r\n" + b"a" * 65536 + b"\r\n",
], ids=["one byte", "with an extension", "large"])
def test_b034_endless_chunks_are_cut_off(server, chunk):
    before = server.resident_bytes()
    endless = chunk * (1 + 65536 // len(chunk))
    with connect(server) as connection:
        connection.sendall(chunked("POST", "/metrics"))
        deadline = time.monotonic() + 20
        with pytest.raises(ConnectionError):
            while time.monotonic() < deadline:
                connection.sendall(endless)
    assert server.resident_bytes() - before < 64 * MEGABYTE


def test_b034_others_get_the_page_while_chunks_come(server):
    with connect(server) as connection:
        connection.sendall(chunked("POST", "/metrics"))
        for _ in range(20):
            connection.sendall(b"1\r\na\r\n" * 1000)
            assert_page(server)


@pytest.mark.parametrize("size", ["-1", "FFFFFFFFFFFFFFFF", "10000000000000004", "7FFFFFFFFFFFFFFF", "zz",
                                  "0x4", "", " 4", "4 4", "4\0"])
def test_b034_bad_chunk_sizes_are_refused(server, size):
    assert_refused(exchange(server, chunked("POST", "/metrics") + f"{size}\r\nabcd\r\n0\r\n\r\n".encode()))


def test_b031_body_that_is_only_claimed_takes_no_memory(server):
    before = server.resident_bytes()
    too_long = head("POST", "/metrics", "Content-Length: 1000000000000")
    assert_refused(exchange(server, too_long + b"0123456789"))
    with contextlib.ExitStack() as connections:
        for _ in range(50):
            # Within what a body may have, so that the server waits for the rest.
            waiting = connections.enter_context(connect(server))
            waiting.sendall(head("POST", "/metrics", "Content-Length: 1000000") + b"0123456789")
        assert_page(server)
        assert server.resident_bytes() - before < 16 * MEGABYTE


@pytest.mark.parametrize("lengths", [
    ["-1"], ["abc"], ["1e3"], [""], ["+4"], ["0x4"], ["4 4"], ["2147483648"], ["9223372036854775808"],
    ["18446744073709551620"], ["4", "5"], ["4, 5"],
], ids=",".join)
def test_b035_wrong_content_lengths_are_refused(server, lengths):
    lines = [f"Content-Length: {each}" for each in lengths]
    assert_refused(exchange(server, head("POST", "/metrics", *lines) + b"abcd"))


def test_b035_length_beside_chunks_is_refused(server):
    """Two readers that believe different ones would disagree about where the next request begins."""
    lines = "Content-Length: 4", "Transfer-Encoding: chunked"
    assert_refused(exchange(server, head("POST", "/metrics", *lines) + b"0\r\n\r\nGET /"))


def test_b035_right_body_leaves_the_connection_of_use(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.metrics_port, timeout=TIMEOUT)
    with contextlib.closing(connection):
        connection.connect()
        first = connection.sock
        for method, answered in [("POST", 405), ("GET", 200)] * 2:
            connection.request(method, "/metrics", body=b"abcd")
            answer = connection.getresponse()
            assert answer.status == answered and answer.read()
            # It would connect again where the server has closed.
            assert connection.sock is first


def test_b037_large_form_is_refused_without_reading_it(server):
    lines = ["Content-Type: application/x-www-form-urlencoded", "Expect: 100-continue",
             "Content-Length: 14000000"]
    # A client that waits for the server's word gets it: no.
    assert_refused(exchange(server, head("POST", "/metrics", *lines)))
    assert_refused(exchange(server, head("POST", "/metrics", *lines) + bytes(14_000_000)))


def test_b037_small_form_that_expects_to_be_asked_for_is_answered(server):
    """curl sends the body after a second without an answer."""
    with connect(server) as connection:
        lines = "Expect: 100-continue", "Content-Length: 4", "Connection: close"
        connection.sendall(head("POST", "/metrics", *lines))
        connection.sendall(b"a=bc")
        assert b" 405 " in read_to_end(connection)


# Heads


@pytest.mark.parametrize("line", [
    "X: " + "a" * 1_000_000, "X: a\r\n" * 100_000 + "Y: b", "X" * 100_000 + ": a", "no colon", ": no name",
    "X: \0",
], ids=["long value", "many lines", "long name", "no colon", "no name", "zero"])
def test_b032_bad_headers_are_refused(server, line):
    before = server.resident_bytes()
    assert_refused(exchange(server, head("GET", "/metrics", line)))
    assert server.resident_bytes() - before < 16 * MEGABYTE


@pytest.mark.parametrize("octets", [
    b"[]\r\n\r\n", b"null\r\n\r\n", b"\r\n" * 100_000, b"\xef\xbb\xbfGET /metrics HTTP/1.1\r\n\r\n",
    b"\xff\xfe" * 1000, b"GET /metrics HTTP/3.0\r\n\r\n", b"GET  /metrics HTTP/1.1\r\n\r\n",
    b"GET /metrics\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
], ids=["list", "null", "empty lines", "byte order mark", "noise", "HTTP/3.0", "two blanks", "HTTP/0.9",
        "HTTP/2", "TLS"])
def test_b032_what_is_no_request_is_refused(server, octets):
    assert_refused(exchange(server, octets))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POTATO"])
def test_b032_other_methods_are_refused(server, method):
    received = exchange(server, head(method, "/metrics", "Connection: close"))
    assert status(received) in (400, 405)


# Encodings


@pytest.mark.parametrize("accepted", ["gzip", "deflate", "br", "identity;q=0", "gzip;q=0",
                                      "gzip, deflate, br", "*;q=0", ""])
def test_b112_page_is_plain_and_says_so_whatever_the_client_accepts(server, accepted):
    connection = http.client.HTTPConnection("127.0.0.1", server.metrics_port, timeout=TIMEOUT)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics", headers={"Accept-Encoding": accepted})
        answer = connection.getresponse()
        text = answer.read()
    assert answer.getheader("Content-Encoding") is None
    assert len(text) == int(answer.getheader("Content-Length"))
    assert Metrics(text.decode()).types["nv_inference_count"] == "counter"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip", "gzip, gzip", "potato"])
def test_b113_encoding_of_a_body_that_nobody_reads_does_no_harm(server, encoding):
    lines = f"Content-Encoding: {encoding}", "Content-Length: 4", "Connection: close"
    assert status(exchange(server, head("GET", "/metrics", *lines) + b"abcd")) in (200, 415)
    assert status(exchange(server, head("POST", "/metrics", *lines) + b"abcd")) in (405, 415)
