"""Read a web page, or the entries of an RSS or Atom feed.  The request goes through the guarded sender."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final

from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import AddressRefused, SendFailed
from apps.connectors.found import FoundObject, FoundObjects, SourceFailed, SourceRefused
from apps.connectors.xml_reading import XmlReader, XmlRefused, read_xml
from apps.ingest.objects import GivenObject
from apps.sources.sealing import ObjectName

SECONDS: Final = 20.0
_CONTENTS: Final = ("encoded", "content", "description", "summary")  # the fullest first
_HTML: Final = "page.html"


@dataclass(slots=True)
class FeedEntry:
    """parts: name of each child element, without namespace, to its text.  link: its address."""

    parts: dict[str, str] = field(default_factory=dict)
    link: str = ""

    @property
    def id(self) -> str:
        return (self.parts.get("guid") or self.parts.get("id") or self.link or self.parts.get("link", "")).strip()

    @property
    def title(self) -> str:
        return " ".join(self.parts.get("title", "").split())[:512]

    @property
    def html(self) -> str:
        content = next((self.parts[name] for name in _CONTENTS if self.parts.get(name)), "")
        return f"<h1>{escape(self.title)}</h1>\n{content}"


def check_url(url: str) -> None:
    """Raises SourceRefused."""
    try:
        get_fetcher().check(url)
    except AddressRefused:
        raise SourceRefused from None


def read_feed(url: str, validators: Mapping[str, str], *, connector_id: int, most_bytes: int) -> FoundObjects:
    """The entries of the feed, or the page itself.  validators: of the last run.  Raises SourceRefused, SourceFailed.

    An entry that left the feed is not gone.
    """
    headers = {"User-Agent": "memsync", "Accept": "application/atom+xml, application/rss+xml, text/html, */*"}
    headers |= {name: validators[key] for name, key in _CONDITIONS.items() if key in validators}
    try:
        found = get_fetcher().get(url, headers, seconds=SECONDS, most_bytes=most_bytes + 1)
    except AddressRefused:
        raise SourceRefused from None
    except SendFailed as failed:
        raise SourceFailed(failed.cause) from None
    if found.status == 304:
        return FoundObjects(objects=iter(()), is_unchanged=True, validators=validators)
    if found.status != 200:
        raise SourceFailed(f"status_{found.status}")
    if len(found.body) > most_bytes:
        raise SourceFailed("too_large")
    kept = {key: found.headers[key] for key in _CONDITIONS.values() if key in found.headers}
    try:
        objects = _of_entries(parse_feed(found.body), connector_id)
    except XmlRefused:
        name = ObjectName(kind="page", external_id=url, connector_id=connector_id)
        objects = iter([FoundObject.already_read(GivenObject(name=name, content=found.body, filename=_HTML))])
    return FoundObjects(objects=objects, validators=kept)


_CONDITIONS: Final = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}


def _of_entries(entries: list[FeedEntry], connector_id: int) -> Iterator[FoundObject]:
    for entry in entries:
        if entry.id:
            name = ObjectName(kind="entry", external_id=entry.id[:1_024], connector_id=connector_id)
            yield FoundObject.already_read(
                GivenObject(name=name, content=entry.html.encode(), title=entry.title, filename=_HTML)
            )


def parse_feed(content: bytes) -> list[FeedEntry]:
    """The entries of an RSS or Atom feed, in its order.  Raises XmlRefused."""
    reader = _FeedReader()
    read_xml(content, reader)
    return reader.entries


class _FeedReader(XmlReader):
    """Collects entries.  Markup inside of an entry's part (Atom's XHTML) is read as its text."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[FeedEntry] = []
        self._entry: FeedEntry | None = None
        self._depth = 0  # of the entry
        self._part: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if len(self.open) == 1 and name not in ("rss", "feed", "rdf"):
            raise XmlRefused
        if self._entry is None and name in ("item", "entry"):
            self._entry, self._depth = FeedEntry(), len(self.open)
        elif self._entry is not None and len(self.open) == self._depth + 1:
            self._part = []
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._entry.link = self._entry.link or attributes.get("href", "")

    def text(self, text: str) -> None:
        self._part.append(text)

    def end(self, name: str) -> None:
        depth = len(self.open) + 1
        if self._entry is None:
            return
        if depth == self._depth + 1:
            self._entry.parts.setdefault(name, "".join(self._part))
        elif depth == self._depth:
            self.entries.append(self._entry)
            self._entry = None
