"""Tombstones: keyed hashes of erased data, so that work in progress at the erasure does not store it again.

They do not block a user who states it again on purpose.  After a compromise of the identity key the hashes match
nothing.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from apps.core.locks import lock
from apps.core.queries import execute, fetch_all
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher, open_tenant
from apps.memories.models import Tombstone
from apps.projects.scope import Environment, Scope

LAST: Final = timedelta(days=90)  # longer than anything waits in a queue


def record_erased_texts(
    scope: Scope, space_id: int, cipher: SpaceCipher, digests: Iterable[bytes], *, now: datetime
) -> None:
    """Record the erasure of texts.  digests: as ``text_mac`` makes them.

    Inside the transaction that erases them, under the space's lock.
    """
    _write(scope, space_id, [_of_text(cipher, digest) for digest in digests], now=now)


def texts_erased_at(scope: Scope, cipher: SpaceCipher, digests: Sequence[bytes]) -> dict[bytes, datetime]:
    """Those of these digests that were erased, each with the time.

    Inside the tenant's transaction, under the space's lock.
    """
    wanted = {_of_text(cipher, digest): digest for digest in digests}
    if not wanted:
        return {}
    rows = fetch_all(
        "select wanted.mac, erased.created_at from unnest(%s::bytea[]) wanted(mac) cross join lateral ("
        "select created_at from memories_tombstone where tenant_id = %s "
        "and mac >= wanted.mac and mac <= wanted.mac order by mac) erased",  # by one index, whatever the plan
        [list(wanted), scope.tenant_id],
        prepared=True,
    )
    return {wanted[mac]: erased_at for mac, erased_at in rows}


def bury_person(scope: Scope, environment: str, external_mac: bytes, *, now: datetime) -> None:
    """Record the erasure of an end user.  Inside the transaction that takes away their space.

    Waits for other locks on the end user.
    """
    _hold(scope, external_mac)
    _write(scope, None, [_of_person(scope, environment, external_mac)], now=now)


def block_person(scope: Scope, external_id: str) -> datetime | None:
    """When this end user was erased in the scope's environment, or None; holds off erasure until the transaction ends.

    Inside the tenant's transaction.
    """
    external_mac = open_tenant(scope.tenant).end_user_mac(external_id)
    _hold(scope, external_mac)
    mac = _of_person(scope, scope.environment, external_mac)
    return Tombstone.objects.within(scope).filter(mac=mac).values_list("created_at", flat=True).first()


def forget_old(scope: Scope, *, now: datetime) -> int:
    """Delete expired tombstones; returns how many."""
    with tenant_transaction(scope):
        return execute(
            "delete from memories_tombstone where tenant_id = %s and expires_at <= %s", [scope.tenant_id, now]
        )


def _hold(scope: Scope, external_mac: bytes) -> None:
    lock("person", scope.tenant_id, external_mac.hex())


def _of_text(cipher: SpaceCipher, digest: bytes) -> bytes:
    return cipher.identity_mac("erased text", digest)


def _of_person(scope: Scope, environment: Environment | str, external_mac: bytes) -> bytes:
    return open_tenant(scope.tenant).identity_mac("erased end user", str(environment), external_mac)


def _write(scope: Scope, space_id: int | None, macs: Sequence[bytes], *, now: datetime) -> None:
    execute(
        "insert into memories_tombstone (tenant_id, space_id, mac, created_at, expires_at) "
        "select %s, %s, mac, %s, %s from unnest(%s::bytea[]) as mac "
        "on conflict (tenant_id, mac) do update set created_at = excluded.created_at, "
        # A branch has its origin's hashes, and a higher id: its end does not take the origin's tombstones with it.
        "expires_at = excluded.expires_at, space_id = least(memories_tombstone.space_id, excluded.space_id)",
        [scope.tenant_id, space_id, now, now + LAST, sorted(set(macs))],
    )
