"""Before a server listens: where, for whom, and which models."""

import json
import socket
from pathlib import Path

import pytest

import rnnlab
from rnnlab.core.errors import ConfigError, RnnlabError
from rnnlab.serving.models import Models, named
from rnnlab.serving.security import Access, is_loopback
from rnnlab.serving.server import address_of, listen

TOKEN = "0123456789abcdef"


def test_names_of_models(tmp_path):
    (tmp_path / "a=b.rnnlab").touch()
    assert named(["runs/1f0c", "reviews.rnnlab"]) == {"1f0c": "runs/1f0c", "reviews": "reviews.rnnlab"}
    assert named(["zh=runs/1f0c", "en=runs/1f0c"]) == {"zh": "runs/1f0c", "en": "runs/1f0c"}
    assert named([str(tmp_path / "a=b.rnnlab")]) == {"a=b": str(tmp_path / "a=b.rnnlab")}


@pytest.mark.parametrize("arguments", [["=runs/1f0c"], ["a="], ["a\nb=runs/1f0c"]])
def test_names_that_are_none(arguments):
    with pytest.raises(ConfigError, match="NAME=PATH"):
        named(arguments)


def test_two_models_of_one_name():
    with pytest.raises(ConfigError, match="two models are called '1f0c'"):
        named(["runs/1f0c", "other/1f0c"])


def test_a_model_that_is_not_there(tmp_path):
    with pytest.raises(RnnlabError):
        Models([str(tmp_path / "missing")])


def test_hosts():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.0.0.2", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.5", "localhost.example", "")))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "models.example", ""])
def test_another_host_needs_a_token(host, monkeypatch):
    monkeypatch.delenv("RNNLAB_TOKEN", raising=False)
    with pytest.raises(ConfigError, match=r"needs a token. Set RNNLAB_TOKEN \(at least 16 characters\)"):
        Access.of(host)
    monkeypatch.setenv("RNNLAB_TOKEN", TOKEN)
    assert Access.of(host).token == TOKEN


@pytest.mark.parametrize("token", ["short", "fifteen letters", "sixteen letters\n", "十六个字" * 4])
def test_tokens_that_are_none(token, monkeypatch):
    monkeypatch.setenv("RNNLAB_TOKEN", token)
    with pytest.raises(ConfigError) as found:
        Access.of("127.0.0.1")
    assert token not in str(found.value)


def test_a_token_on_loopback_is_asked_for_too(monkeypatch):
    monkeypatch.setenv("RNNLAB_TOKEN", TOKEN)
    assert Access.of("127.0.0.1").token == TOKEN
    monkeypatch.setenv("RNNLAB_TOKEN", "")
    assert Access.of("127.0.0.1").token is None


def test_all_addresses_of_a_machine(monkeypatch):
    monkeypatch.setenv("RNNLAB_TOKEN", TOKEN)
    access = Access.of("0.0.0.0", ["Models.example"])
    headers = {"authorization": f"Bearer {TOKEN}"}
    for host in ("192.168.1.5:8000", "[fe80::1]:8000", "models.example", socket.gethostname()):
        access.check("/metrics", headers | {"host": host})
    with pytest.raises(Exception, match="names another server"):
        access.check("/metrics", headers | {"host": "evil.example"})


def test_ports():
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert address_of("127.0.0.1", listener) == f"http://127.0.0.1:{port}"
        assert address_of("0.0.0.0", listener) == f"http://127.0.0.1:{port}"
        assert address_of("::1", listener) == f"http://[::1]:{port}"
        with pytest.raises(
            ConfigError, match=rf"can't listen on 127.0.0.1, port {port}: Address already in use; choose"
        ):
            listen("127.0.0.1", port)
    with pytest.raises(ConfigError, match=r"--host no\.such\.host\.invalid"):
        listen("no.such.host.invalid", 0)


def test_a_numeric_model_is_refused(tmp_path):
    rows = [{"values": [n % 2 + 0.1 * k + n for k in range(4)], "label": "ab"[n % 2]} for n in range(40)]
    Path(tmp_path / "series.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    training = {"epochs": 1}
    result = rnnlab.compare(
        tmp_path / "series.jsonl", models=["linear"], seeds=1, training=training, out=tmp_path / "runs", jobs=0
    )
    with pytest.raises(RnnlabError, match="this model reads numeric sequences, and serve answers for texts"):
        Models([result.arms[0].runs[0].path])
