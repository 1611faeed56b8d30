"""Seal, open and blind what belongs to a space or a tenant.  The one module of this app that others import.

No key of a tenant leaves it.  What it gives for one space is useless in another: every key is derived for one tenant,
environment and space.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from apps.core.plaintext import Plaintext
from apps.crypto import key_cache, keyed_hashes, keyring
from apps.crypto.envelope import DecryptError, PlaintextTooLarge, key_version_of
from apps.crypto.key_cache import service_key
from apps.crypto.key_derivation import SpaceKeys, SpaceLike
from apps.crypto.keyring import (
    KeysExist,
    KeysMissing,
    KeysUnavailable,
    SpaceShredded,
    TenantLike,
    Versions,
    create_tenant_keys,
)
from apps.crypto.shredding import (
    destroy_all_salts,
    destroy_own_keks,
    destroy_salt,
    destroy_tenant_keys,
    drop_cached_keys,
    follow_keyring,
    has_salt,
    living_keys,
    living_salts,
    loadable_versions,
)
from apps.crypto.vectors import Vectors

__all__ = [
    "DecryptError",
    "KeysExist",
    "KeysMissing",
    "KeysUnavailable",
    "PlaintextTooLarge",
    "SpaceCipher",
    "SpaceShredded",
    "create_tenant_keys",
    "destroy_all_salts",
    "destroy_own_keks",
    "destroy_salt",
    "destroy_tenant_keys",
    "drop_cached_keys",
    "end_user_mac",
    "follow_keyring",
    "has_salt",
    "key_version_of",
    "live_versions",
    "living_keys",
    "living_salts",
    "loadable_versions",
    "open_for_tenant",
    "open_space",
    "open_tenant",
    "seal_for_tenant",
    "service_key",
]


@final
class SpaceCipher:
    """One space under one key version.  Made for a request and dropped with it, since it outlives a key's revocation.

    Tokens and vectors belong to ``key_version`` and change with it; macs and ids stay.
    """

    __slots__ = ("_is_reread", "_keys", "_space", "_tenant", "_versions", "key_version")

    def __init__(self, tenant: TenantLike, space: SpaceLike, versions: Versions, keys: SpaceKeys) -> None:
        self._tenant: Final = tenant
        self._space: Final = space
        self._versions = versions
        self._keys: Final = keys
        self.key_version: Final = keys.version
        self._is_reread = False

    def live(self) -> "tuple[SpaceCipher, ...]":
        """A cipher for each version that rows may be under, the active one first: a search asks under each."""
        others = [version for version in self._versions.live if version != self.key_version]
        return (self, *(SpaceCipher(self._tenant, self._space, self._versions, self._keys_of(one)) for one in others))

    def of_space(self, space: SpaceLike) -> "SpaceCipher":
        """The cipher of another space of the tenant, by the same look at its keys.  Raises as ``open_space``."""
        return _cipher(self._tenant, space, self._versions, self.key_version)

    @property
    def identity_version(self) -> int:
        """Of the identity key that the handles are made with."""
        return self._space.identity_version

    @property
    def is_searchable(self) -> bool:
        """Whether the space keeps tokens and rotated vectors at rest.  A sealed one keeps none."""
        return not self._space.is_sealed

    def seal(self, field: str, record_id: int, text: Plaintext | bytes, *, revision: int = 0) -> bytes:
        """The sealed form of ``text``, which opens only as this field of this record.

        field: ``"table.column"``.  revision: to be raised with each new value of a field that changes.
        Raises PlaintextTooLarge.
        """
        raw = text.reveal().encode() if isinstance(text, Plaintext) else text
        self._keys.tally.seals += 1
        return self._keys.box.seal(field, record_id, raw, revision=revision)

    def open(self, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> Plaintext:
        """The text, whichever live version sealed it.  Raises DecryptError."""
        try:
            return Plaintext(self.open_bytes(field, record_id, blob, revision=revision).decode())
        except UnicodeDecodeError:
            # Not chained: the decoder's error quotes the text.
            raise DecryptError("encoding") from None

    def open_bytes(self, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> bytes:
        """As ``open``, for what was sealed as bytes."""
        keys = self._keys_of(key_version_of(blob))
        keys.tally.opens += 1
        return keys.box.open(field, record_id, blob, revision=revision)

    def term_tokens(self, terms: Iterable[str]) -> list[int]:
        """A token for each term, in order, for the lexical index."""
        return keyed_hashes.tokens(self._keys.term, "term", terms)

    def tag_token(self, tag: str) -> int:
        return self._label_token("tag", tag)

    def actor_token(self, name: str) -> int:
        """The same in every key version, as is the session's: turns of one session stay together while keys turn."""
        return keyed_hashes.tokens(self._keys.identity, "actor", (name,))[0]

    def session_token(self, session_id: str) -> int:
        return keyed_hashes.tokens(self._keys.identity, "session", (session_id,))[0]

    def filter_token(self, kind: str, value: str) -> int:
        """A token for any other label that is compared for equality."""
        return self._label_token(f"filter.{kind}", value)

    def identity_mac(self, kind: str, *parts: str | bytes) -> bytes:
        """16 bytes that stand for these parts in this space, in every key version: slots, digests, references."""
        return keyed_hashes.mac16(self._keys.identity, kind, *parts)

    def end_user_mac(self, external_id: str) -> bytes:
        """Of the tenant's own cipher: 16 bytes to look an end user up by the tenant's own id for them."""
        return self.identity_mac("end_user", external_id)

    def public_id(self, type: str, topic_key: str, canonical_content: str) -> str:  # noqa: A002 -- the product's word
        """``mem_`` and 32 hex digits, in every key version.  canonical_content: compact JSON, keys sorted."""
        return keyed_hashes.public_id(self._keys.identity, type, topic_key, canonical_content)

    def protect_vectors(self, x: Vectors) -> Vectors:
        """x: float32, shape (n, dimensions), of stored texts or of a query.  Ranks among the results are as before."""
        return self._keys.rotation(x.shape[-1]).apply(x)

    def _label_token(self, field: str, value: str) -> int:
        return keyed_hashes.tokens(self._keys.tag, field, (value,))[0]

    def _keys_of(self, version: int) -> SpaceKeys:
        if version == self.key_version:
            return self._keys
        if version not in self._versions.live and not self._is_reread:
            # The key may have turned since this cipher was made, and a row been sealed under the next one.
            self._versions, self._is_reread = keyring.versions(self._tenant), True
        if version not in self._versions.live:
            raise DecryptError("key_version")
        return key_cache.space_keys(self._tenant, self._space, version=version, epoch=self._versions.epoch)


def open_space(
    tenant: TenantLike, space: SpaceLike, *, version: int | None = None, writing: bool = False
) -> SpaceCipher:
    """The cipher of a space, under the active key version unless ``version`` names another live one.

    writing: hold off a rotation until the caller's transaction ends, so that no row is committed under a version that
    is no longer active.  Raises KeysMissing, KeysUnavailable, SpaceShredded; TransactionRequired when writing outside.
    """
    versions = keyring.versions(tenant, lock=writing)
    chosen = versions.active if version is None else version
    if chosen not in versions.live:
        raise KeysMissing
    return _cipher(tenant, space, versions, chosen)


def open_tenant(tenant: TenantLike, *, writing: bool = False) -> SpaceCipher:
    """The cipher of what belongs to the tenant and to no space.  writing: as of ``open_space``."""
    versions = keyring.versions(tenant, lock=writing)
    return _cipher(tenant, _WholeTenant(tenant.uid, identity_version=versions.identity), versions, versions.active)


def live_versions(tenant: TenantLike) -> tuple[int, ...]:
    """The key versions that rows may be under; during a rotation a search asks under each."""
    return keyring.versions(tenant).live


def end_user_mac(tenant: TenantLike, external_id: str) -> bytes:
    """16 bytes to look an end user up by the tenant's own id for them; the same in every key version."""
    return open_tenant(tenant).end_user_mac(external_id)


def seal_for_tenant(
    tenant: TenantLike, field: str, record_id: int, text: Plaintext | bytes, *, revision: int = 0
) -> bytes:
    """As ``SpaceCipher.seal``, for what belongs to the tenant and to no space.  Holds off a rotation, as writers do."""
    return open_tenant(tenant, writing=True).seal(field, record_id, text, revision=revision)


def open_for_tenant(tenant: TenantLike, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> Plaintext:
    """As ``SpaceCipher.open``, for what ``seal_for_tenant`` sealed."""
    return open_tenant(tenant).open(field, record_id, blob, revision=revision)


@dataclass(frozen=True, slots=True)
class _WholeTenant:
    """Stands for a space where there is none."""

    uid: uuid.UUID
    environment: str = ""
    identity_version: int = 1
    is_sealed: bool = False


def _cipher(tenant: TenantLike, space: SpaceLike, versions: Versions, version: int) -> SpaceCipher:
    keys = key_cache.space_keys(tenant, space, version=version, epoch=versions.epoch)
    return SpaceCipher(tenant, space, versions, keys)
