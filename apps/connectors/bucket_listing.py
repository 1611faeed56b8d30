"""Read a page of the objects in a bucket: the answer to S3's ListObjectsV2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from apps.connectors.xml_reading import XmlReader, XmlRefused, read_xml

_ROOT: Final = "listbucketresult"
_LONGEST: Final = 1_024  # bytes of a key, and characters of what else is read


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedObject:
    """size: in bytes.  etag: with its quotes; empty if there is none.  is_archived: it cannot be read at once."""

    key: str
    size: int
    etag: str
    is_archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """next_token: of the next page; empty on the last one."""

    objects: Sequence[ListedObject]
    next_token: str


def parse_listing(content: bytes) -> Listing:
    """The objects of the page, in its order.  Raises XmlRefused."""
    reader = _ListingReader()
    read_xml(content, reader)
    is_encoded = reader.page.get("encodingtype", "") == "url"
    is_truncated = reader.page.get("istruncated", "") == "true"
    next_token = reader.page.get("nextcontinuationtoken", "") if is_truncated else ""
    if is_truncated and not 0 < len(next_token) <= _LONGEST:
        raise XmlRefused
    return Listing(objects=[_listed(parts, is_encoded=is_encoded) for parts in reader.objects], next_token=next_token)


def _listed(parts: Mapping[str, str], *, is_encoded: bool) -> ListedObject:
    key, size, etag = parts.get("key", ""), parts.get("size", ""), parts.get("etag", "")
    key = unquote_plus(key) if is_encoded else key
    if not 0 < len(key.encode()) <= _LONGEST or len(etag) > _LONGEST:
        raise XmlRefused
    if not (size.isascii() and size.isdecimal() and len(size) < 19):
        raise XmlRefused
    is_archived = parts.get("storageclass", "") in ("GLACIER", "DEEP_ARCHIVE")
    return ListedObject(key=key, size=int(size), etag=etag, is_archived=is_archived)


class _ListingReader(XmlReader):
    """page: text of each element of the page.  objects: the same of each object."""

    def __init__(self) -> None:
        super().__init__()
        self.page: dict[str, str] = {}
        self.objects: list[dict[str, str]] = []
        self._pieces: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if len(self.open) == 1 and name != _ROOT:
            raise XmlRefused
        if self.open == [_ROOT, "contents"]:
            self.objects.append({})
        self._pieces = []

    def text(self, text: str) -> None:
        self._pieces.append(text)

    def end(self, name: str) -> None:
        if self.open == [_ROOT]:
            self.page[name] = "".join(self._pieces)
        elif self.open == [_ROOT, "contents"]:
            self.objects[-1][name] = "".join(self._pieces)
