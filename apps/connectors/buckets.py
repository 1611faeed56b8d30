"""Read the objects of an S3-compatible bucket.  Every request goes through the guarded sender.

Attacks and defences:

- an endpoint on the server's own network, or the metadata service of a cloud: the sender's rules on addresses hold for
  each request, and it follows no redirect;
- keys that look like paths, queries or headers: quoted in the URL, and signed with it;
- an endless or huge listing: pages are limited in bytes, pages without objects in number, objects by the run;
- an object that is larger than its listing says, or that changes while it is read: at most one byte more is read, and
  what is not exactly the listed version is left for the next run;
- a server that answers with the request or with errors: nothing of an answer but its status becomes part of an error.
"""

import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from django.conf import settings

from apps.adapters.aws_signatures import AwsCredentials, signed_headers
from apps.adapters.instances import get_fetcher
from apps.adapters.senders.base import AddressRefused, Fetched, SendFailed
from apps.connectors.bucket_listing import ListedObject, parse_listing
from apps.connectors.found import FoundObject, FoundObjects, ObjectUnreadable, SourceFailed, SourceRefused
from apps.connectors.xml_reading import XmlRefused
from apps.ingest.objects import GivenObject
from apps.sources.sealing import ObjectName

SECONDS: Final = 10.0  # of one request
PAGE: Final = 1_000  # objects
MOST_PAGE_BYTES: Final = 8_000_000
MOST_EMPTY_PAGES: Final = 3  # in a row
# Kinds of files that no document reader reads, by the beginning of their media type.
_NO_DOCUMENTS: Final = ("image/", "audio/", "video/", "font/")
_CAUSES: Final = {401: "access_denied", 403: "access_denied", 404: "no_such_bucket", 429: "throttled", 503: "throttled"}
_NOT_AS_LISTED: Final = (400, 404, 412, 416)  # 400: encrypted with a key of the client


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSettings:
    """prefix: of the keys that are read.  is_path_style: the bucket's name is in the URL's path, not in its host."""

    name: str
    prefix: str
    region: str
    access_key_id: str
    is_path_style: bool

    def url(self, endpoint: str) -> str:
        """The bucket's URL, without a slash at its end.  Raises ValueError."""
        parts = urlsplit(endpoint)
        path = parts.path.rstrip("/")
        if self.is_path_style:
            path = f"{path}/{self.name}"
        host = parts.netloc if self.is_path_style else f"{self.name}.{parts.netloc}"
        return urlunsplit((parts.scheme, host, path, "", ""))


def check_bucket(endpoint: str, bucket: BucketSettings) -> None:
    """Raises SourceRefused."""
    try:
        if urlsplit(endpoint).query:
            raise SourceRefused
        get_fetcher().check(bucket.url(endpoint))
    except (AddressRefused, ValueError):
        raise SourceRefused from None


def read_bucket(endpoint: str, bucket: BucketSettings, secret: str, *, connector_id: int) -> FoundObjects:
    """The objects below the prefix, in the order of the listing.  Raises SourceRefused, SourceFailed while it is read.

    The version of an object is its ETag and size.
    """
    return FoundObjects(objects=_BucketReader(endpoint, bucket, secret, connector_id).objects(), is_complete=True)


class _BucketReader:
    def __init__(self, endpoint: str, bucket: BucketSettings, secret: str, connector_id: int) -> None:
        self._url = bucket.url(endpoint)
        self._bucket = bucket
        self._keys = AwsCredentials(access_key_id=bucket.access_key_id, secret_access_key=secret)
        self._connector_id = connector_id

    def objects(self) -> Iterator[FoundObject]:
        for page in self._pages():
            yield from map(self._found, page)

    def _pages(self) -> Iterator[Sequence[ListedObject]]:
        """The pages of the listing, without the entries that stand for directories."""
        token, empty = "", 0
        while True:
            query = {"list-type": "2", "encoding-type": "url", "max-keys": str(PAGE), "prefix": self._bucket.prefix}
            query |= {"continuation-token": token} if token else {}
            found = self._get(f"/?{urlencode(sorted(query.items()), quote_via=quote, safe='~')}", most=MOST_PAGE_BYTES)
            if found.status != 200:
                raise SourceFailed(_CAUSES.get(found.status, f"status_{found.status}"))
            try:
                listing = parse_listing(found.body)
            except XmlRefused:
                raise SourceFailed("malformed") from None
            objects = [one for one in listing.objects if not one.key.endswith("/")]
            empty = 0 if objects else empty + 1
            if empty > MOST_EMPTY_PAGES or (token and listing.next_token == token):
                raise SourceFailed("malformed")
            yield objects
            token = listing.next_token
            if not token:
                return

    def _found(self, listed: ListedObject) -> FoundObject:
        name = ObjectName(kind="bucket", external_id=listed.key, connector_id=self._connector_id)
        # With the bucket, because another one may count its versions alike.
        version = f"{self._url}\n{listed.etag}\n{listed.size}" if listed.etag else ""
        if not _is_document(listed):
            return FoundObject(name=name, size=0, read=_refuse)
        return FoundObject(
            name=name, size=listed.size, version=version, read=partial(self._read, name, listed, version)
        )

    def _read(self, name: ObjectName, listed: ListedObject, version: str) -> GivenObject:
        condition = {"If-Match": listed.etag} if listed.etag else {}
        found = self._get(f"/{quote(listed.key, safe='/~')}", condition, most=listed.size)
        if found.status in _NOT_AS_LISTED:
            raise ObjectUnreadable
        if found.status != 200:
            raise SourceFailed(_CAUSES.get(found.status, f"status_{found.status}"))
        if len(found.body) != listed.size:
            raise ObjectUnreadable
        filename = PurePosixPath(listed.key).name
        return GivenObject(name=name, content=found.body, title=filename[:512], filename=filename, version=version)

    def _get(self, target: str, headers: Mapping[str, str] | None = None, *, most: int) -> Fetched:
        """The answer to a signed request.  most: bytes of the body; one more is read."""
        url = self._url + target
        signed = signed_headers(
            url, {"User-Agent": "memsync"} | dict(headers or {}), credentials=self._keys, region=self._bucket.region
        )
        try:
            return get_fetcher().get(url, signed, seconds=SECONDS, most_bytes=most + 1)
        except AddressRefused:
            raise SourceRefused from None
        except SendFailed as failed:
            raise SourceFailed(failed.cause) from None


def _is_document(listed: ListedObject) -> bool:
    """Whether it may be a document that can be read, as far as its listing says."""
    media_type = mimetypes.guess_type(PurePosixPath(listed.key).name)[0] or ""
    is_media = media_type.startswith(_NO_DOCUMENTS) and media_type != "video/mp2t"  # .ts: TypeScript, more often
    return listed.size <= settings.MAX_UPLOAD_BYTES and not listed.is_archived and not is_media


def _refuse() -> GivenObject:
    raise ObjectUnreadable
