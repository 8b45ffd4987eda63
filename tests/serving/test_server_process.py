"""A real server: slow clients, reload, drain, and how it starts."""

import json
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from serving_process import Serving, serving

from rnnlab.serving.limits import Limits

QUICK = {"header_seconds": 1, "grace_seconds": 1, "body_seconds": 3, "write_seconds": 1, "idle_seconds": 2}
TEXT = "the great film number 3"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(models, tmp_path_factory) -> Iterator[Serving]:
    """With little patience, so that the tests needn't have much."""
    with serving(f"rnn={models['rnn']}", limits=QUICK, folder=tmp_path_factory.mktemp("patience")) as started:
        yield started


def connected(server: Serving, seconds: float = 10) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), seconds)


def rest(sock: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    found = b""
    try:
        while part := sock.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def code(answer: bytes) -> str:
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"]


def drip(sock: socket.socket, stop: threading.Event) -> float:
    """A byte now and then, for as long as the server takes it: how long that was."""
    began = time.monotonic()
    try:
        while not stop.wait(0.25):
            sock.sendall(b"x")
            sock.settimeout(0.01)
            try:
                if not sock.recv(65536):
                    break
            except TimeoutError:
                pass
    except OSError:
        pass
    return time.monotonic() - began


# Slow clients


@pytest.mark.parametrize("begun", [b"", b"GET", GET, GET + b"X: "], ids=["nothing", "method", "headers", "a header"])
def test_headers_that_do_not_come(server, begun):
    with closing(connected(server)) as sock:
        sock.sendall(begun)
        began = time.monotonic()
        answer = rest(sock)
        assert (status(answer), code(answer)) == (408, "too_slow")
        assert time.monotonic() - began < 6


def test_headers_that_come_byte_by_byte(server):
    with closing(connected(server)) as sock:
        sock.sendall(GET + b"X-Slow: ")
        assert drip(sock, threading.Event()) < 6


@pytest.mark.parametrize("path", [b"/v1/predict", b"/healthz", b"/nope"])
@pytest.mark.parametrize("length", [b"Content-Length: 900000", b"Transfer-Encoding: chunked"])
def test_bodies_that_come_byte_by_byte(server, path, length):
    """On every route, also where nobody reads the body."""
    with closing(connected(server)) as sock:
        sock.sendall(POST.replace(b"/v1/predict", path) + length + b"\r\n\r\n")
        if b"chunked" in length:
            sock.sendall(b"ffff\r\n")
        assert drip(sock, threading.Event()) < 8


def test_a_body_that_does_not_come(server):
    with closing(connected(server)) as sock:
        sock.sendall(POST + b'Content-Length: 100\r\n\r\n{"text": "')
        answer = rest(sock)
        assert (status(answer), code(answer)) == (408, "too_slow")


def test_a_body_that_comes_steadily_but_slowly(server):
    """Within its time and fast enough, it is answered."""
    body = json.dumps({"text": TEXT, "model": "rnn"}).encode() + b" " * 2500
    with closing(connected(server)) as sock:
        sock.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 300):
            sock.sendall(body[start : start + 300])
            time.sleep(0.15)
        assert status(sock.recv(65536)) == 200


def test_an_idle_connection(server):
    with closing(connected(server)) as sock:
        sock.sendall(GET + b"\r\n")
        began = time.monotonic()
        assert rest(sock).endswith(b'{"status":"ok"}')
        assert 1 < time.monotonic() - began < 6


def test_a_second_request_has_the_same_patience(server):
    with closing(connected(server)) as sock:
        sock.sendall(GET + b"\r\n" + GET)  # and no more
        answer = rest(sock)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"HTTP/1.1 408" in answer


def test_requests_in_one_packet(server):
    with closing(connected(server)) as sock:
        body = json.dumps({"text": TEXT}).encode()
        one = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
        sock.sendall(one * 3 + GET + b"Connection: close\r\n\r\n")
        answers = rest(sock)
    assert answers.count(b"HTTP/1.1 200 OK") == 4
    assert answers.count(b'"label":"good"') == 3


def test_answers_that_nobody_reads(server):
    """A client that asks and asks and never reads: it is cut off, and what it didn't read is forgotten."""
    with closing(socket.socket()) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        sock.settimeout(10)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            _ask_on(sock)


def _ask_on(sock: socket.socket) -> None:
    began = time.monotonic()
    while time.monotonic() - began < 20:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        time.sleep(0.05)


@pytest.mark.long
def test_200_slow_clients_and_an_ordinary_one(server):
    stop = threading.Event()
    beginnings = [GET + b"X: ", POST + b"Content-Length: 90000\r\n\r\n"]
    socks = [connected(server) for _ in range(200)]
    try:
        for number, sock in enumerate(socks):
            sock.sendall(beginnings[number % 2])
        dripping = threading.Thread(target=_drip_all, args=(socks, stop))
        dripping.start()
        took = []
        for _ in range(20):
            began = time.monotonic()
            assert server.predict(text=TEXT).status_code == 200
            took.append(time.monotonic() - began)
        assert sorted(took)[10] < 1
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and _connections(server) > 3:
            time.sleep(0.2)
        assert _connections(server) <= 3  # they are all gone
    finally:
        stop.set()
        for sock in socks:
            sock.close()


def _drip_all(socks: list[socket.socket], stop: threading.Event) -> None:
    while not stop.wait(0.5):
        for sock in socks:
            with suppress(OSError):
                sock.send(b"x")


def _connections(server: Serving) -> int:
    lines = httpx.get(f"{server.address}/metrics", trust_env=False).text.splitlines()
    return int(next(line for line in lines if line.startswith("rnnlab_connections ")).split()[1])


@pytest.mark.long
def test_too_many_connections(models, tmp_path):
    with serving(models["tfidf"], limits={"connections": 5}, folder=tmp_path) as server:
        held = [connected(server) for _ in range(5)]
        time.sleep(0.2)
        with closing(connected(server)) as sock:
            sock.sendall(GET + b"\r\n")
            answer = rest(sock)
        assert (status(answer), code(answer)) == (503, "too_many_connections")
        assert b"retry-after: 5" in answer.lower()
        for sock in held:
            sock.close()
        time.sleep(0.2)
        assert server.predict(text=TEXT).status_code == 200


# What isn't HTTP, or is too large


@pytest.mark.parametrize(
    "sent",
    [
        b"rubbish\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # somebody tries https
        GET + b"Host: other\r\n\r\n",
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        POST + b"Content-Length: -1\r\n\r\n",
        POST + b"Transfer-Encoding: gzip\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http(server, sent):
    with closing(connected(server)) as sock:
        sock.sendall(sent)
        answer = rest(sock)
    assert status(answer) in (400, 408)
    assert b"application/json" in answer
    assert code(answer)
    assert server.predict(text=TEXT).status_code == 200


def test_headers_that_are_too_large(server):
    with closing(connected(server)) as sock:
        sock.sendall(GET + b"X: " + b"x" * 70_000)
        answer = rest(sock)
    assert (status(answer), code(answer)) == (431, "headers_too_large")


def test_a_body_that_is_too_large_is_refused_before_it_comes(server):
    with closing(connected(server)) as sock:
        sock.sendall(POST + b"Content-Length: 1000001\r\n\r\n")
        answer = rest(sock)
    assert (status(answer), code(answer)) == (413, "too_large")
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    "begun", [POST, POST.replace(b"/v1/predict", b"/nope"), GET], ids=["read", "refused", "unread"]
)
def test_a_stream_that_is_too_large_is_cut_off(server, begun):
    """Also where a request needs no body, and has been answered already."""
    with closing(connected(server)) as sock:
        sock.sendall(begun + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        try:
            while sent < 100_000_000:
                sock.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
                sent += 0x10000
                time.sleep(0.005)
        except OSError:
            pass
        assert sent < 90_000_000


def test_the_reason_reaches_a_client_that_sends_it_all(server):
    with server.client() as client:
        response = client.post("/v1/predict", content=b"x" * 1_500_000, headers={"Content-Type": "application/json"})
        assert response.status_code == 413
        assert client.get("/healthz").status_code == 200


def test_a_client_that_waits_for_100_continue(server):
    with closing(connected(server)) as sock:
        sock.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 15\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 100")
        sock.sendall(b'{"text": "abc"}')
        assert status(sock.recv(65536)) == 200


# Batching, seen from outside


def test_200_clients_at_once_get_their_own_answers(server):
    texts = [f"the {'great' if n % 3 else 'awful'} film number {n}" + " film" * (n % 50) for n in range(200)]
    alone = [server.predict(text=text).json()["predictions"][0] for text in texts[:40]]
    with ThreadPoolExecutor(40) as pool, server.client(limits=httpx.Limits(max_connections=40)) as client:
        ask = lambda text: client.post("/v1/predict", json={"text": text}).json()["predictions"][0]  # noqa: E731 # one line
        together = list(pool.map(ask, texts))
    for one, other in zip(alone, together, strict=False):
        assert one["label"] == other["label"]
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)


# The life of a server


def test_it_reloads_without_dropping_a_request(models, tmp_path):
    path = tmp_path / "model"
    shutil.copytree(models["rnn"], path)
    other = Path(models["textcnn"])
    stop = threading.Event()
    with serving(path, folder=tmp_path) as server:

        def ask_on(number: int) -> set[tuple[int, float]]:
            found = set()
            with server.client() as client:
                while not stop.is_set():
                    response = client.post("/v1/predict", json={"text": TEXT})
                    found.add((response.status_code, round(response.json()["predictions"][0]["probability"], 5)))
            return found

        with ThreadPoolExecutor(8) as pool:
            asking = [pool.submit(ask_on, number) for number in range(8)]
            time.sleep(0.3)
            before = server.predict(text=TEXT).json()["predictions"][0]["probability"]
            shutil.rmtree(path)
            shutil.copytree(other, path)
            server.process.send_signal(signal.SIGHUP)
            _wait(server, "model is reloaded")
            after = server.predict(text=TEXT).json()["predictions"][0]["probability"]
            (path / "weights.safetensors").write_bytes(b"damaged")
            server.process.send_signal(signal.SIGHUP)
            _wait(server, "stays as it is")
            kept = server.predict(text=TEXT).json()["predictions"][0]["probability"]
            stop.set()
            found = set().union(*(task.result() for task in asking))
        kinds = [model["kind"] for model in httpx.get(f"{server.address}/v1/models", trust_env=False).json()["models"]]
        metrics = httpx.get(f"{server.address}/metrics", trust_env=False).text
    assert before != after == kept
    assert found == {(200, round(before, 5)), (200, round(after, 5))}
    assert kinds == ["textcnn"]
    assert 'rnnlab_reloads_total{result="failed"} 1' in metrics


def _until_connected(server: Serving, clients: int, asked: Sequence[Future[httpx.Response]] = ()) -> None:
    """Beside the connection that looks; or answered already. And a moment more, in which what they sent is read."""
    deadline = time.monotonic() + 20
    while _connections(server) - 1 + sum(task.done() for task in asked) < clients:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)


def _until_refused(server: Serving) -> None:
    """It takes no connections any more."""
    deadline = time.monotonic() + 20
    with suppress(OSError):
        while time.monotonic() < deadline:
            connected(server).close()
            time.sleep(0.02)
    with pytest.raises(OSError):
        connected(server).close()


def _wait(server: Serving, words: str) -> None:
    deadline = time.monotonic() + 20
    while words not in server.log.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline, server.log.read_text(encoding="utf-8")
        time.sleep(0.05)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGINT])
def test_it_finishes_what_was_asked(models, tmp_path, number):
    """Requests wait for others for a second; the signal comes meanwhile."""
    with serving(models["tfidf"], options=["--wait-ms", "1000"], folder=tmp_path) as server:
        with ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(server.predict, text=TEXT) for _ in range(5)]
            _until_connected(server, 5, asked)  # on a slow machine some have their answer before the last one asks
            server.process.send_signal(number)
            _until_refused(server)
            assert [task.result().status_code for task in asked] == [200] * 5
        assert server.process.wait(10) == 0
        assert "Traceback" not in server.log.read_text(encoding="utf-8")


def test_a_second_signal_ends_it_at_once(models, tmp_path):
    with serving(models["tfidf"], limits={}, folder=tmp_path) as server, closing(connected(server)) as sock:
        sock.sendall(POST + b"Content-Length: 50000\r\n\r\n")  # a request that holds it up
        _until_connected(server, 1)
        server.process.send_signal(signal.SIGTERM)
        _until_refused(server)
        assert server.process.poll() is None
        assert server.stop(signal.SIGTERM) == 128 + signal.SIGTERM


def test_the_time_to_drain_ends(models, tmp_path):
    with (
        serving(models["tfidf"], limits={"drain_seconds": 1}, folder=tmp_path) as server,
        closing(connected(server)) as sock,
    ):
        sock.sendall(POST + b"Content-Length: 50000\r\n\r\n")
        _until_connected(server, 1)
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < Limits().drain_seconds / 2
        answer = rest(sock)
        assert answer == b"" or code(answer) == "stopping"
        assert "Traceback" not in server.log.read_text(encoding="utf-8")


def test_a_token_is_asked_for(models, tmp_path):
    environment = {"RNNLAB_TOKEN": "0123456789abcdef"}
    options = ["--host", "0.0.0.0", "--allow-host", "models.example"]
    with (
        serving(models["tfidf"], options=options, environment=environment, folder=tmp_path) as server,
        server.client() as client,
    ):
        assert client.get("/v1/models").status_code == 401
        client.headers["Authorization"] = "Bearer 0123456789abcdef"
        assert client.get("/v1/models").status_code == 200
        assert client.get("/v1/models", headers={"Host": "models.example"}).status_code == 200
        assert client.get("/v1/models", headers={"Host": "evil.example"}).status_code == 400
