"""rnnlab serve: what stands in the way of starting. What it does then is tested in tests/serving."""

import socket
import sys

import pytest

pytest.importorskip("uvicorn")


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    monkeypatch.delenv("RNNLAB_TOKEN", raising=False)


def test_another_host_needs_a_token(rnnlab, compared):
    done = rnnlab("serve", compared.run("rnn"), "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rnnlab: --host 0.0.0.0: other machines could ask the models then, which needs a token.")
    assert "RNNLAB_TOKEN" in done.err


def test_a_port_that_is_taken(rnnlab, compared):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = rnnlab("serve", compared.run("rnn"), "--port", str(port))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"rnnlab: can't listen on 127.0.0.1, port {port}: ")
    assert "--port" in done.err


def test_a_model_that_is_not_there(rnnlab):
    done = rnnlab("serve", "missing", "--port", "0")
    assert (done.code, done.out) == (1, "")
    assert "missing" in done.err


def test_two_models_of_one_name(rnnlab, compared):
    run = compared.run("rnn")
    done = rnnlab("serve", run, run, "--port", "0")
    assert done.code == 1
    assert "two models are called" in done.err


def test_without_the_extra(rnnlab, compared, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("uvicorn", "rnnlab.serving"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # as if it weren't installed
    done = rnnlab("serve", compared.run("rnn"))
    assert (done.code, done.out) == (1, "")
    assert done.err == "rnnlab: serve needs uvicorn: pip install 'rnnlab[serve]'\n"


def test_no_model(rnnlab):
    assert rnnlab("serve").code == 2
