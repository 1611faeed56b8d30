"""Post and get over HTTP(S), with the standard library, at addresses that untrusted users choose.  Nothing else does.

Attacks and defences:

- internal addresses (loopback, private, link-local and metadata, shared, multicast, mapped): all addresses of the name
  are checked, and a single one that is not public refuses them all;
- DNS rebinding between check and connection: the connection goes to the checked address itself, and the name is
  resolved again for each request;
- redirects to internal addresses: no redirect is followed;
- plain HTTP, other schemes, credentials in the URL: refused; the operator may allow HTTP;
- slow, dripping or endless responses: one deadline for the whole request, and a limit on the bytes read;
- a certificate for another name: it is verified against the name, not the address;
- our own proxy: proxy settings of the environment are ignored.
"""

import http.client
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from apps.adapters.senders.addresses import Address, is_allowed
from apps.adapters.senders.base import AddressRefused, Answered, Fetched, SendFailed
from apps.adapters.timeout import run_with_timeout

CONNECT_SECONDS: Final = 5.0
LOOKUP_SECONDS: Final = 3.0
MOST_READ: Final = 1_024  # bytes of a response
_HOST: Final = re.compile(r"[A-Za-z0-9.:_-]{1,253}", re.ASCII)
_TARGET: Final = re.compile(r"[!-~]*", re.ASCII)  # of a request line: no blank, no control character

Resolve = Callable[[str, int], Sequence[str]]


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class HttpSender:
    """allow_http: also allow requests without TLS.  networks: the operator's own, allowed besides public addresses.

    resolve: returns a host's addresses; raises OSError.  tls: context that verifies certificates; tests pass their own.
    """

    def __init__(
        self,
        *,
        allow_http: bool = False,
        networks: Sequence[str] = (),
        resolve: Resolve = _resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._schemes: Final = ("https", "http") if allow_http else ("https",)
        self._networks: Final = tuple(map(ipaddress.ip_network, networks))
        self._resolve: Final = resolve
        self._tls: Final = tls or ssl.create_default_context()

    def check(self, url: str) -> None:
        parts = self._parts(url)
        try:
            run_with_timeout(LOOKUP_SECONDS, lambda _: self._addresses(parts))
        except (SendFailed, TimeoutError):
            return  # ``post`` resolves the name again

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Answered:
        got = self._ask("POST", url, body, headers, seconds=seconds, most_bytes=MOST_READ)
        return Answered(status=got.status, body=got.body)

    def get(self, url: str, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Fetched:
        return self._ask("GET", url, None, headers, seconds=seconds, most_bytes=most_bytes)

    def _ask(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        seconds: float,
        most_bytes: int,
    ) -> Fetched:
        parts = self._parts(url)
        opened: list[_Pinned] = []

        def ask(deadline: float) -> Fetched:
            connection = _Pinned(parts, self._addresses(parts), self._tls, deadline)
            opened.append(connection)
            try:
                connection.request(method, _target(parts), body=body, headers=dict(headers))
                with connection.getresponse() as answer:  # which may outlive its connection
                    named = {name.lower(): value for name, value in answer.getheaders()}
                    return Fetched(status=answer.status, headers=named, body=answer.read(most_bytes))
            finally:
                connection.close()

        try:
            return run_with_timeout(seconds, ask)
        except TimeoutError:
            failed = "timeout"
            for connection in opened:
                connection.abort()
        except ssl.SSLError:
            failed = "tls"
        except OSError:
            failed = "unreachable"
        except (http.client.HTTPException, ValueError):
            failed = "malformed"
        raise SendFailed(failed)  # outside of the except block, so that it references nothing of what was sent

    def _parts(self, url: str) -> SplitResult:
        try:
            parts = urlsplit(url)
            _port_of(parts)
        except ValueError:
            raise AddressRefused("malformed") from None
        if parts.scheme not in self._schemes:
            raise AddressRefused("scheme")
        is_plain = _HOST.fullmatch(parts.hostname or "") and _TARGET.fullmatch(_target(parts))
        if not is_plain or parts.username is not None or parts.password is not None or parts.fragment:
            raise AddressRefused("malformed")
        return parts

    def _addresses(self, parts: SplitResult) -> list[Address]:
        host = parts.hostname or ""
        try:
            found = [ipaddress.ip_address(one.partition("%")[0]) for one in self._resolve(host, _port_of(parts))]
        except (OSError, UnicodeError):
            raise SendFailed("unknown_host") from None
        if not found:
            raise SendFailed("unknown_host")
        if not all(is_allowed(address, self._networks) for address in found):
            raise AddressRefused("private")
        return found


class _Pinned(http.client.HTTPConnection):
    """Connects only to the checked addresses, with the host's own name."""

    def __init__(self, parts: SplitResult, addresses: Sequence[Address], tls: ssl.SSLContext, deadline: float) -> None:
        super().__init__(parts.hostname or "", _port_of(parts))
        self._is_tls = parts.scheme == "https"
        # So that the Host header leaves out the scheme's own port.
        self.default_port = 443 if self._is_tls else 80
        self._addresses, self._tls, self._deadline = addresses, tls, deadline
        self._raw: socket.socket | None = None  # kept, as the base class drops it before the response is read

    def connect(self) -> None:
        self._raw = self.sock = self._connected()
        self.sock.settimeout(self._left())
        if self._is_tls:
            self._raw = self.sock = self._tls.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()

    def abort(self) -> None:
        """Wake the thread that waits for a dripping response: each byte would restart its socket timeout."""
        if self._raw is not None:
            with suppress(OSError):
                self._raw.shutdown(socket.SHUT_RDWR)

    def _connected(self) -> Any:
        failure: OSError | None = None
        for address in self._addresses:
            try:
                return socket.create_connection((str(address), self.port), min(CONNECT_SECONDS, self._left()))
            except OSError as error:
                failure = error
        raise failure or TimeoutError

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _port_of(parts: SplitResult) -> int:
    """Raises ValueError."""
    return parts.port or (443 if parts.scheme == "https" else 80)


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
