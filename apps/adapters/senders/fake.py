"""A sender and fetcher for tests: it records what it was given, sends nothing, and responds as configured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from apps.adapters.senders.base import AddressRefused, Answered, Fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    url: str
    body: bytes
    headers: Mapping[str, str]


@dataclass(slots=True)
class FakeSender:
    """answer, page: return the response to each post and get; they may raise what a sender raises."""

    answer: Callable[[Sent], Answered] = lambda _: Answered(status=200, body=b"")
    page: Callable[[Sent], Fetched] = lambda _: Fetched(status=200, headers={}, body=b"")
    sent: list[Sent] = field(default_factory=list)

    def check(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https":
            raise AddressRefused("scheme")
        if not parts.hostname or parts.username:
            raise AddressRefused("malformed")
        if parts.hostname in ("localhost", "127.0.0.1"):
            raise AddressRefused("private")

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Answered:
        self.check(url)
        one = Sent(url=url, body=body, headers=dict(headers))
        self.sent.append(one)
        return self.answer(one)

    def get(self, url: str, headers: Mapping[str, str], *, seconds: float, most_bytes: int) -> Fetched:
        self.check(url)
        one = Sent(url=url, body=b"", headers=dict(headers))
        self.sent.append(one)
        found = self.page(one)
        return replace(found, body=found.body[:most_bytes])
