"""Who may ask: the address that a request was sent to, the page that it came from, and the token."""

import hmac
import ipaddress
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rnnlab.core.errors import ConfigError
from rnnlab.serving.limits import Refusal

TOKEN = "RNNLAB_TOKEN"
SHORTEST_TOKEN = 16
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
WITHOUT_TOKEN = frozenset({"/", "/healthz"})  # the page tells nothing of the models, and asks for the token

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
NO_CONTENT = "default-src 'none'; frame-ancestors 'none'"  # the policy of answers that aren't a page


@dataclass(frozen=True)
class Access:
    hosts: frozenset[str]  # names under which the server may be asked
    any_address: bool  # and any IP address: it listens on all of the machine's
    token: str | None = None

    @classmethod
    def of(cls, host: str, names: Sequence[str] = ()) -> "Access":
        """For a server that listens on `host`; beyond this machine it needs a token."""
        token = os.environ.get(TOKEN) or None
        if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
            raise ConfigError(
                "{token}: at least {shortest_token} ASCII characters are needed (got {count})",
                token=TOKEN,
                shortest_token=SHORTEST_TOKEN,
                count=len(token),
            )
        if not is_loopback(host) and token is None:
            raise ConfigError(
                "--host {host}: other machines could ask the models then, which needs a token. Set "
                "{token} (at least {shortest_token} characters), for example:\n  export {token}=$(python "
                '-c "import secrets; print(secrets.token_urlsafe(24))")',
                host=host,
                token=TOKEN,
                shortest_token=SHORTEST_TOKEN,
            )
        everywhere = host in ("", "0.0.0.0", "::")
        own = {socket.gethostname(), socket.getfqdn()} if everywhere else set[str]()
        return cls(frozenset(name.lower() for name in (*LOOPBACK, host, *own, *names)), everywhere, token)

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Raises a `Refusal` for a request that isn't allowed."""
        host = headers.get("host", "")
        self._check_host(host)
        origin = headers.get("origin")
        if origin is not None and not _same(origin, host):
            raise Refusal(403, "foreign_origin", "pages of other sites may not ask this server")
        if self.token is not None and path not in WITHOUT_TOKEN:
            self._check_token(headers.get("authorization", ""))

    def _check_host(self, host: str) -> None:
        """A name of somebody else's that leads to this machine makes their page look like ours (DNS rebinding)."""
        name = host_name(host)
        if name is None or not (name in self.hosts or (self.any_address and _is_address(name))):
            raise Refusal(400, "wrong_host", "the Host header names another server; --allow-host NAME adds a name")

    def _check_token(self, authorization: str) -> None:
        scheme, _, given = authorization.partition(" ")
        expected = (self.token or "").encode()
        right = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), expected)
        if scheme.lower() != "bearer" or not right:
            reason = "this server needs a token: Authorization: Bearer …" if not given else "the token isn't right"
            raise Refusal(401, "unauthorized", reason, {"WWW-Authenticate": "Bearer"})


def is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def host_name(host: str) -> str | None:
    """The name in a Host header, without its port: ``"[::1]:8000"`` → ``"::1"``. None if it can't be read."""
    if not host or any(sign in host for sign in "/?#@\\ "):
        return None
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises for a port that isn't one
        return parts.hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same(origin: str, host: str) -> bool:
    scheme, sign, rest = origin.partition("://")
    return bool(sign) and scheme in ("http", "https") and rest.lower() == host.lower()
