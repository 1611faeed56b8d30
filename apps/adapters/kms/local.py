"""Key-encryption keys in a file on this machine: for a single server without a key service.

The file is JSON, readable only by its owner: ``{"ref": "...", "current": "2", "keys": {"1": base64, "2": base64}}``.
Anyone who can read it and the keyring database can read everything, so back them up separately.
"""

import base64
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from apps.adapters.errors import AdapterError
from apps.adapters.kms.base import KeyMismatch, KeyShared, KeyUnavailable, Wrapped, bound

_NONCE_BYTES: Final = 12
_KEK_BYTES: Final = 32


class KeyringFileExists(AdapterError):
    """A keyring exists already; overwriting it would lose every key that it wrapped."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists; add a version to it instead of making another", permanent=True)


@dataclass(frozen=True, slots=True)
class _Keyring:
    ref: str
    current: str
    keys: Mapping[str, bytes] = field(repr=False)


class LocalKeyring:
    """Wraps with AES-256-GCM; blob: nonce 12 | wrapped key and tag.

    The file is read for each call (a few dozen microseconds), so that running processes see a new version and no state
    is shared across a fork.
    """

    name = "local"

    def __init__(self, *, path: str | Path) -> None:
        self._path: Final = Path(path)

    @classmethod
    def create(cls, path: str | Path) -> "LocalKeyring":
        """Write a keyring with one version.  Raises KeyringFileExists; of two concurrent calls, one fails with it."""
        ring = _Keyring(ref=f"local-{secrets.token_hex(8)}", current="1", keys={"1": secrets.token_bytes(_KEK_BYTES)})
        target = Path(path)
        written = _write_aside(target, ring)
        try:
            # A link, unlike a rename, does not replace an existing file.
            os.link(written, target)
        except FileExistsError:
            raise KeyringFileExists(target) from None
        finally:
            written.unlink()
        _sync_directory(target)
        return cls(path=target)

    def add_version(self) -> str:
        """Add a version, make it current and return it; earlier ones still unwrap.  Not safe for concurrent calls."""
        ring = self._load()
        version = str(max(map(int, ring.keys)) + 1)
        keys = {**ring.keys, version: secrets.token_bytes(_KEK_BYTES)}
        _write_aside(self._path, _Keyring(ring.ref, version, keys)).replace(self._path)
        _sync_directory(self._path)
        return version

    def wrap(self, key: bytes, ctx: Mapping[str, str]) -> Wrapped:
        ring = self._load()
        nonce = os.urandom(_NONCE_BYTES)
        sealed = AESGCM(ring.keys[ring.current]).encrypt(nonce, key, self._associated(ring.ref, ring.current, ctx))
        return Wrapped(self.name, ring.ref, ring.current, nonce + sealed)

    def unwrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> bytearray:
        ring = self._load()
        if (wrapped.provider, wrapped.ref) != (self.name, ring.ref):
            raise KeyMismatch(f"the key was wrapped by {wrapped.provider} {wrapped.ref}, not by {self._path}")
        kek = ring.keys.get(wrapped.version)
        if kek is None:
            raise KeyUnavailable(f"version {wrapped.version} is not in {self._path}; restore the file that holds it")
        nonce, sealed = wrapped.blob[:_NONCE_BYTES], wrapped.blob[_NONCE_BYTES:]
        try:
            return bytearray(AESGCM(kek).decrypt(nonce, sealed, self._associated(ring.ref, wrapped.version, ctx)))
        except (InvalidTag, ValueError):  # ValueError: too short for a nonce
            raise KeyMismatch from None

    def rewrap(self, wrapped: Wrapped, ctx: Mapping[str, str]) -> Wrapped:
        return self.wrap(bytes(self.unwrap(wrapped, ctx)), ctx)

    def current_version(self) -> str:
        return self._load().current

    def destroy(self, ref: str) -> None:
        raise KeyShared(ref)

    def health(self) -> None:
        ctx = {"p": "health"}
        probe = os.urandom(_KEK_BYTES)
        if self.unwrap(self.wrap(probe, ctx), ctx) != probe:
            raise KeyMismatch

    def _associated(self, ref: str, version: str, ctx: Mapping[str, str]) -> bytes:
        return bound(ctx, "memsync/kek/1", self.name, ref, version)

    def _load(self) -> _Keyring:
        try:
            with self._path.open("rb") as file:
                # Checks the open file, not the path, which could be replaced in between.
                mode = os.fstat(file.fileno()).st_mode
                raw = file.read()
        except OSError as error:
            raise KeyUnavailable(f"{self._path} cannot be read: {error.strerror}") from error
        if stat.S_IMODE(mode) & 0o077:
            raise KeyUnavailable(f"{self._path} is open to others than its owner; chmod 600 it and renew its keys")
        return _parse(raw, self._path)


def _parse(raw: bytes, path: Path) -> _Keyring:
    try:
        content = json.loads(raw)
        keys = {version: base64.b64decode(key, validate=True) for version, key in content["keys"].items()}
        ring = _Keyring(ref=content["ref"], current=str(content["current"]), keys=keys)
    except (ValueError, KeyError, TypeError, AttributeError):
        # Not chained: the decoder's message can quote the file.
        raise KeyUnavailable(f"{path} is not a keyring file; restore it from its backup") from None
    if ring.current not in keys or any(len(key) != _KEK_BYTES for key in keys.values()):
        raise KeyUnavailable(f"{path} lacks its current key or holds one of the wrong size; restore it from its backup")
    return ring


def _write_aside(target: Path, ring: _Keyring) -> Path:
    """Write a complete, synced file beside ``target``, readable only by its owner; return its path."""
    keys = {version: base64.b64encode(key).decode() for version, key in ring.keys.items()}
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # mkstemp creates the file with mode 0600, so the keys are never readable by others.
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    with os.fdopen(descriptor, "w") as file:
        json.dump({"ref": ring.ref, "current": ring.current, "keys": keys}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def _sync_directory(target: Path) -> None:
    # Without this, a power failure may lose the name although the content is on disk.
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
