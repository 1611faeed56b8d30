"""Derivation of each space's keys from the tenant's root key and identity key.

::

    PRK            = HKDF-Extract(salt of the space, root key of the tenant and version)
    key of purpose = HKDF-Expand(PRK, "mem/1|" purpose "|" deployment "|" tenant "|" environment "|" space, size)

Purposes under the root key: content (64 bytes), term, tag, vector (32).  Under the identity key: id (32); that of a
branch is its origin's, with the origin's salt and uid, so that a memory has one public id in both.
For values that belong to a whole tenant, the space is the tenant's uid and the environment is empty.
"""

import uuid
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, final

from django.conf import settings

from apps.crypto import aead
from apps.crypto.envelope import KEY_BYTES, Box
from apps.crypto.vectors import Rotation


class SpaceLike(Protocol):
    @property
    def uid(self) -> uuid.UUID: ...

    @property
    def identity_uid(self) -> uuid.UUID:
        """Uid of the space whose identity key it uses: its own, or of a branch the origin's."""

    @property
    def environment(self) -> str: ...

    @property
    def identity_version(self) -> int: ...

    @property
    def is_sealed(self) -> bool: ...


@dataclass(slots=True, eq=False)
class Tally:
    """Use counts of a root key in this process.  They are estimates: concurrent threads may lose counts."""

    seals: int = 0
    opens: int = 0


@final
class SpaceKeys:
    """The derived keys of one space, for one version of the root key and one of the identity key."""

    __slots__ = ("_rotations", "_vector_key", "box", "identity", "tag", "tally", "term", "version")

    def __init__(
        self,
        *,
        version: int,
        root: bytearray,
        identity: bytearray,
        salt: bytes,
        tenant: uuid.UUID,
        space: SpaceLike,
        identity_salt: bytes | None = None,
        tally: Tally | None = None,
    ) -> None:
        deployment, environment = settings.DEPLOYMENT_ID, space.environment
        derive = partial(_derive, deployment=deployment, tenant=tenant, environment=environment, space=space.uid)
        prk = aead.extract(salt, root)
        self.version: Final = version
        self.tally: Final = tally or Tally()
        self.box: Final = Box(
            derive(prk, "content", KEY_BYTES),
            key_version=version,
            deployment=deployment,
            tenant=tenant,
            environment=environment,
            space=space.uid,
        )
        self.term: Final = aead.Mac(derive(prk, "term"))
        self.tag: Final = aead.Mac(derive(prk, "tag"))
        self.identity: Final = aead.Mac(
            derive(aead.extract(identity_salt or salt, identity), "id", space=space.identity_uid)
        )
        self._vector_key: Final = derive(prk, "vector")
        self._rotations: Final[dict[int, Rotation]] = {}

    def rotation(self, dimensions: int) -> Rotation:
        rotation = self._rotations.get(dimensions)
        if rotation is None:
            rotation = self._rotations[dimensions] = Rotation.from_key(self._vector_key, dimensions)
        return rotation


def _derive(
    prk: bytes,
    purpose: str,
    size: int = aead.KEY_BYTES,
    *,
    deployment: str,
    tenant: uuid.UUID,
    environment: str,
    space: uuid.UUID,
) -> bytes:
    # Only the deployment is free text.  UUIDs and environments contain no "|", so the parts cannot be confused.
    return aead.expand(prk, f"mem/1|{purpose}|{deployment}|{tenant}|{environment}|{space}".encode(), size)
