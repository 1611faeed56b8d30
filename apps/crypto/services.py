"""Encryption, decryption and keyed hashes for the data of a space or a tenant: this app's interface to other apps.

No tenant key leaves this module.  Ciphertexts and hashes of one space are useless in another, because every key is
derived for one tenant, environment and space.
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
    "follow_keyring",
    "has_salt",
    "key_version_of",
    "live_versions",
    "living_keys",
    "living_salts",
    "loadable_versions",
    "open_space",
    "open_tenant",
    "service_key",
]


@final
class SpaceCipher:
    """Encrypts and decrypts for one space under one key version.

    Create one per request and do not keep it: it keeps working after a key is revoked.  Tokens and vectors change with
    ``key_version``; MACs and ids do not.
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
        """Return a cipher for each live key version, the active one first.  A search queries under each."""
        others = [version for version in self._versions.live if version != self.key_version]
        return (self, *(SpaceCipher(self._tenant, self._space, self._versions, self._keys_of(one)) for one in others))

    def of_space(self, space: SpaceLike) -> "SpaceCipher":
        """Return the cipher of another space of the tenant, with the same key versions.  Raises as ``open_space``."""
        return _cipher(self._tenant, space, self._versions, self.key_version)

    @property
    def identity_version(self) -> int:
        """Version of the identity key used for MACs and ids."""
        return self._space.identity_version

    @property
    def is_searchable(self) -> bool:
        """Whether the space stores tokens and rotated vectors.  A sealed space stores none."""
        return not self._space.is_sealed

    def seal(self, field: str, record_id: int, text: Plaintext | bytes, *, revision: int = 0) -> bytes:
        """Encrypt ``text`` into an envelope that decrypts only as this field of this record.

        field: ``"table.column"``.  revision: increase it with each new value of the field.
        Raises PlaintextTooLarge.
        """
        raw = text.reveal().encode() if isinstance(text, Plaintext) else text
        self._keys.tally.seals += 1
        return self._keys.box.seal(field, record_id, raw, revision=revision)

    def open(self, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> Plaintext:
        """Decrypt a text of any live key version.  Raises DecryptError."""
        try:
            return Plaintext(self.open_bytes(field, record_id, blob, revision=revision).decode())
        except UnicodeDecodeError:
            # Not chained: the decoder's error quotes the text.
            raise DecryptError("encoding") from None

    def open_bytes(self, field: str, record_id: int, blob: bytes, *, revision: int = 0) -> bytes:
        """Decrypt as ``open`` does, but return bytes."""
        keys = self._keys_of(key_version_of(blob))
        keys.tally.opens += 1
        return keys.box.open(field, record_id, blob, revision=revision)

    def term_tokens(self, terms: Iterable[str]) -> list[int]:
        """Return a token per term, in order, for the lexical index."""
        return keyed_hashes.tokens(self._keys.term, "term", terms)

    def tag_token(self, tag: str) -> int:
        return self._label_token("tag", tag)

    def actor_token(self, name: str) -> int:
        """Return a token that, like the session's, does not change when the root key is rotated.

        So the turns of one session stay together during a key rotation.
        """
        return keyed_hashes.tokens(self._keys.identity, "actor", (name,))[0]

    def session_token(self, session_id: str) -> int:
        return keyed_hashes.tokens(self._keys.identity, "session", (session_id,))[0]

    def filter_token(self, kind: str, value: str) -> int:
        """Return a token for any other label that is compared for equality."""
        return self._label_token(f"filter.{kind}", value)

    def identity_mac(self, kind: str, *parts: str | bytes) -> bytes:
        """Return a 16-byte MAC of these parts for this space, the same in every version of the root key."""
        return keyed_hashes.mac16(self._keys.identity, kind, *parts)

    def end_user_mac(self, external_id: str) -> bytes:
        """Return the 16-byte MAC to look up an end user by external id.  Call it on the tenant's own cipher."""
        return self.identity_mac("end_user", external_id)

    def public_id(self, type: str, topic_key: str, canonical_content: str) -> str:  # noqa: A002 -- the product's word
        """Return ``mem_`` and 32 hex digits, the same in every version of the root key.

        canonical_content: compact JSON, keys sorted.
        """
        return keyed_hashes.public_id(self._keys.identity, type, topic_key, canonical_content)

    def protect_vectors(self, x: Vectors) -> Vectors:
        """Rotate embeddings of stored texts or of a query.  The ranking does not change.

        x: float32, shape (n, dimensions).
        """
        return self._keys.rotation(x.shape[-1]).apply(x)

    def _label_token(self, field: str, value: str) -> int:
        return keyed_hashes.tokens(self._keys.tag, field, (value,))[0]

    def _keys_of(self, version: int) -> SpaceKeys:
        if version == self.key_version:
            return self._keys
        if version not in self._versions.live and not self._is_reread:
            # The key may have been rotated since this cipher was created, and the row written under the new version.
            self._versions, self._is_reread = keyring.versions(self._tenant), True
        if version not in self._versions.live:
            raise DecryptError("key_version")
        return key_cache.space_keys(self._tenant, self._space, version=version, epoch=self._versions.epoch)


def open_space(
    tenant: TenantLike, space: SpaceLike, *, version: int | None = None, writing: bool = False
) -> SpaceCipher:
    """Return the cipher of a space, under the active key version or another live ``version``.

    writing: block a rotation until the caller's transaction ends, so that no row is committed under a version that is
    no longer active.  Raises KeysMissing, KeysUnavailable, SpaceShredded; if writing outside a transaction,
    TransactionRequired.
    """
    versions = keyring.versions(tenant, lock=writing)
    chosen = versions.active if version is None else version
    if chosen not in versions.live:
        raise KeysMissing
    return _cipher(tenant, space, versions, chosen)


def open_tenant(tenant: TenantLike, *, writing: bool = False) -> SpaceCipher:
    """Return the cipher for data that belongs to the tenant and to no space.  writing: as for ``open_space``."""
    versions = keyring.versions(tenant, lock=writing)
    return _cipher(tenant, _WholeTenant(tenant.uid, identity_version=versions.identity), versions, versions.active)


def live_versions(tenant: TenantLike) -> tuple[int, ...]:
    """Return the key versions that rows may be under.  During a rotation, a search queries under each."""
    return keyring.versions(tenant).live


@dataclass(frozen=True, slots=True)
class _WholeTenant:
    """Takes the place of a space for data that belongs to the whole tenant."""

    uid: uuid.UUID
    environment: str = ""
    identity_version: int = 1
    is_sealed: bool = False

    @property
    def identity_uid(self) -> uuid.UUID:
        return self.uid


def _cipher(tenant: TenantLike, space: SpaceLike, versions: Versions, version: int) -> SpaceCipher:
    keys = key_cache.space_keys(tenant, space, version=version, epoch=versions.epoch)
    return SpaceCipher(tenant, space, versions, keys)
