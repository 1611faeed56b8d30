"""The server that a command uses, and its requests.  Every failure is a ``CommandFailed`` with its exit code."""

import argparse
import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx

from memsync import instance

DEFAULT_URL: Final = "http://127.0.0.1:8000"
SECONDS: Final = 120.0
ATTEMPTS: Final = 4  # of a request that meets a rate limit
LONGEST_WAIT: Final = 60.0

REFUSED: Final = 1
MISUSED: Final = 2
UNREACHABLE: Final = 3


class CommandFailed(Exception):
    """The reason, for the person who typed the command, and the exit code."""

    def __init__(self, reason: str, code: int = REFUSED) -> None:
        super().__init__(reason)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where the server is, and who asks.  end_user: whose memory it is; may be empty."""

    url: str
    key: str
    end_user: str

    @property
    def headers(self) -> dict[str, str]:
        named = {"X-API-Key": self.key, "X-End-User-ID": self.end_user}
        return {name: value for name, value in named.items() if value}


def add_address_options(parser: argparse.ArgumentParser) -> None:
    given = os.environ.get
    parser.add_argument(
        "--url", default=given("MEMSYNC_URL", ""), help=f"of the server (the one that runs here, or {DEFAULT_URL})"
    )
    parser.add_argument(
        "--key", default=given("MEMSYNC_API_KEY", ""), help="an API key (of the server that runs here: its first one)"
    )
    parser.add_argument(
        "--end-user", default=given("MEMSYNC_END_USER", ""), metavar="ID", help="whose memory it is; any ID of yours"
    )


def address_of(options: argparse.Namespace) -> ServerAddress:
    """What the options say; else the instance that runs here, and its development key, which only it gets."""
    here = str(instance.running().get("url", ""))
    url = (options.url or here or DEFAULT_URL).rstrip("/")
    key = options.key or (own_key() if here and url == here else "")
    return ServerAddress(url=url, key=key, end_user=options.end_user)


def require(address: ServerAddress, *, end_user: bool) -> None:
    """Raises CommandFailed that names what is missing."""
    missing = [] if address.key else ["--key or MEMSYNC_API_KEY"]
    if end_user and not address.end_user:
        missing.append("--end-user or MEMSYNC_END_USER")
    if missing:
        raise CommandFailed(f"missing {' and '.join(missing)}", MISUSED)


def own_key() -> str:
    """The development key of the instance in MEMSYNC_HOME; empty if it kept none."""
    with contextlib.suppress(ValueError, OSError):
        return str(instance.read(instance.home() / instance.SECRETS_FILE).get("development_key", ""))
    return ""


class Server:
    """Requests to one server, as the owner of a key."""

    def __init__(self, address: ServerAddress) -> None:
        self.url = address.url
        parts = urlsplit(address.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandFailed(f"{address.url} is no address of a server: it begins with http:// or https://", MISUSED)
        self._http = httpx.Client(
            headers=in_utf8(address.headers),
            timeout=SECONDS,
            trust_env=parts.hostname not in ("127.0.0.1", "localhost", "::1"),  # no proxy on the way to this machine
        )

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(self, method: str, path: str, **request: Any) -> Any:
        """The JSON of the answer.  A request that meets a limit is sent again.  Raises CommandFailed."""
        for attempt in range(1, ATTEMPTS + 1):
            with self._reaching():
                response = self._http.request(method, self.url + path, **request)
            pause = _pause(response)
            if pause is None or attempt == ATTEMPTS:
                break
            time.sleep(pause)
        if response.is_success:
            return _json(response)
        raise refusal(response)

    @contextlib.contextmanager
    def stream(self, path: str, **request: Any) -> Iterator[httpx.Response]:
        """An answer that is read in parts.  Raises CommandFailed, also while it is read."""
        with self._reaching(), self._http.stream("GET", self.url + path, **request) as response:
            if not response.is_success:
                response.read()
                raise refusal(response)
            yield response

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException:
            raise CommandFailed(f"{self.url} has not answered in {SECONDS:.0f} s", UNREACHABLE) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            hint = "" if instance.running() else " Start one with `memsync up`, or set MEMSYNC_URL."
            raise CommandFailed(f"{self.url} cannot be reached ({type(error).__name__}).{hint}", UNREACHABLE) from None


def refusal(response: httpx.Response) -> CommandFailed:
    """What the server said, with its code and the ID to report."""
    body = _json(response)
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping) or "code" not in error:
        return CommandFailed(f"{response.url.copy_with(query=None)} answered {response.status_code}")
    hint = ""
    if response.status_code == 401:
        hint = " Set MEMSYNC_API_KEY, or make new keys with `memsync up --reissue`."
    named = f"({error['code']}, request {body.get('request_id', '')})"
    return CommandFailed(f"{str(error.get('message', '')).rstrip('.')}. {named}{hint}")


def in_utf8(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers for httpx, which does not choose UTF-8 for characters beyond ASCII by itself."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def segment(text: str) -> str:
    """A part of a path."""
    return quote(text, safe="")


def _pause(response: httpx.Response) -> float | None:
    """Seconds until a refused request may be sent again; None if it need not be."""
    if response.status_code not in (429, 503):
        return None
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= LONGEST_WAIT else None


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
