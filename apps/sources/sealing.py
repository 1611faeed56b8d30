"""Encrypts, decrypts and looks up external objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from apps.core.plaintext import Plaintext
from apps.crypto.services import SpaceCipher
from apps.sources.models import ABOUT, ExternalObject, ObjectKind

OBJECT: Final = "external_object"  # the table's name in the quarantine
OBJECT_KINDS: Final = tuple(kind.value for kind in ObjectKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectName:
    """What identifies an object in a project.  external_id: its id, path or address there."""

    kind: str
    external_id: str
    connector_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedObject:
    """An external object decrypted for its owner.  size: in bytes.  The times are those of ``ExternalObject``."""

    id: int
    name: ObjectName
    title: Plaintext | None
    version: int
    size: int
    first_seen_at: datetime
    seen_at: datetime
    changed_at: datetime
    gone_at: datetime | None


def object_mac(cipher: SpaceCipher, name: ObjectName, *, project_id: int | None) -> bytes:
    """The keyed hash by which an object is found."""
    return cipher.identity_mac(
        "external_object", str(project_id or ""), str(name.connector_id or ""), name.kind, name.external_id
    )


def digest_of(cipher: SpaceCipher, title: str, tags: Sequence[str], content: bytes) -> bytes:
    """The keyed digest by which a changed object is noticed."""
    return cipher.identity_mac("external_object.content", title, *tags, content)


def version_mac(cipher: SpaceCipher, version: str) -> bytes:
    """The keyed hash by which a known version is noticed; empty for an object without versions."""
    return cipher.identity_mac("external_object.version", version) if version else b""


def seal_about(row: ExternalObject, external_id: str, title: str, cipher: SpaceCipher) -> None:
    """Encrypt external id and title under the row's current revision."""
    about = orjson.dumps({"external_id": external_id, "title": title})
    row.about_ct = cipher.seal(ABOUT, row.pk, about, revision=row.revision)
    row.key_version = cipher.key_version


def open_object(row: ExternalObject, cipher: SpaceCipher) -> OpenedObject:
    """Raises DecryptError."""
    about = orjson.loads(cipher.open_bytes(ABOUT, row.pk, bytes(row.about_ct), revision=row.revision))
    return OpenedObject(
        id=row.pk,
        name=ObjectName(kind=row.kind, external_id=about["external_id"], connector_id=row.connector_id),
        title=Plaintext(about["title"]) if about["title"] else None,
        version=row.revision,
        size=row.size,
        first_seen_at=row.created_at,
        seen_at=row.seen_at,
        changed_at=row.changed_at,
        gone_at=row.gone_at,
    )
