"""A space's cipher from given keys, without a keyring: for known answers."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.test import override_settings

from apps.crypto.envelope import Context
from apps.crypto.key_derivation import SpaceKeys
from apps.crypto.keyring import Versions
from apps.crypto.services import SpaceCipher
from apps.projects.scope import TenantRef


@dataclass(frozen=True)
class GivenSpace:
    uid: uuid.UUID
    environment: str
    identity_version: int = 1
    is_sealed: bool = False

    @property
    def identity_uid(self) -> uuid.UUID:
        return self.uid


def cipher_of(case: dict[str, Any]) -> SpaceCipher:
    """case: a line of space_suite1.json."""
    where = case["where"]
    tenant = TenantRef(id=1, uid=uuid.UUID(where["tenant"]), name="known answers")
    space = GivenSpace(uuid.UUID(where["space"]), where["environment"])
    with override_settings(DEPLOYMENT_ID=where["deployment"]):
        keys = SpaceKeys(
            version=case["key_version"],
            root=bytearray.fromhex(case["root"]),
            identity=bytearray.fromhex(case["identity"]),
            salt=bytes.fromhex(case["salt"]),
            tenant=tenant.uid,
            space=space,
        )
    versions = Versions(active=case["key_version"], live=(case["key_version"],), epoch=1, identity=1)
    return SpaceCipher(tenant, space, versions, keys)


def context_in(where: dict[str, str], one: dict[str, Any]) -> Context:
    """where: the owner's parts of the context; one: the field's."""
    return Context(
        deployment=where["deployment"],
        tenant=uuid.UUID(where["tenant"]),
        environment=where["environment"],
        space=uuid.UUID(where["space"]),
        field=one["field"],
        record_id=one["record_id"],
        revision=one["revision"],
    )
