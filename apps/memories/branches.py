"""Branches: temporary copies of an end user's memories, to try something in (seed-systems T25).

A branch is a space of the same owner with a name and an end.  So whatever is about the owner - an erasure, an export, a
legal hold - covers it.  It has keys of its own; its keyed hashes are made with its origin's identity key, so that a
memory has one public id in both, and no branch can be read after its origin is shredded.  Branches are made of the
space itself and are never merged.  After its end a branch is found no more, and retention shreds it
(``apps.erasure.branches``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.errors import Conflict
from apps.core.scoping import ScopedQuerySet, tenant_transaction
from apps.crypto.services import open_space
from apps.memories.copying import copy_memories
from apps.memories.rewinding import change_named, rewind_locked
from apps.memories.spaces import BranchNotFound, lock_space, space_now
from apps.policies.retention import copy_policy
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.projects.selectors import branches_of

MAIN: Final = "main"  # what the space itself is called
MOST: Final = 20  # branches of a space
SHORTEST: Final = timedelta(minutes=1)
USUAL: Final = timedelta(days=7)
LONGEST: Final = timedelta(days=30)


class BranchExists(Conflict):
    """There is a branch with this name."""

    code = "BRANCH_EXISTS"


class TooManyBranches(Conflict):
    """This end user has as many branches as there may be."""

    code = "TOO_MANY_BRANCHES"


class MainStays(Conflict):
    """The branch main is the end user's memories themselves: a branch can be made of it, and it has no end."""

    code = "BRANCH_IS_MAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """txid: number of its latest change.  expires_at: its end; None of ``main``."""

    name: str
    txid: int
    created_at: datetime
    expires_at: datetime | None


def create_branch(scope: Scope, name: str, *, at: str | None = None, lasts: timedelta = USUAL, now: datetime) -> Branch:
    """Copy the memories of the scope's one space into a new branch.

    at: the name of a checkpoint, or the number of a change: the branch then has the memories of that moment, as they
    held then.  Raises BranchExists, TooManyBranches, CheckpointNotFound, TooLargeToBranch, MainStays.
    """
    with tenant_transaction(scope):
        origin, before = lock_space(scope)
        if origin.origin_uid is not None:
            raise BranchNotFound("A branch is made of main.")
        if name == MAIN:
            raise BranchExists
        mine = list(_branches(scope, origin))
        for one in mine:
            if one.branch == name:
                if not one.ref.has_ended(now):
                    raise BranchExists
                _end(one, now=now)
        if sum(not one.ref.has_ended(now) for one in mine) >= MOST:
            raise TooManyBranches
        txid = origin.txid if at is None else change_named(scope, origin, at)
        space = Space(
            tenant_id=scope.tenant_id,
            environment=origin.environment,
            kind=origin.kind,
            owner_id=origin.owner_id,
            namespace_id=origin.namespace_id,
            branch=name,
            origin_uid=origin.uid,
            identity_version=origin.identity_version,
            profile=origin.profile,
            txid=origin.txid,
            created_at=now,
            expires_at=now + lasts,
        )
        space.bind()
        space.save(force_insert=True)
        copy_policy(scope, origin.pk, space.pk, now=now)
        after = open_space(scope.tenant, space.ref, writing=True)
        count = copy_memories(scope, space, before, after, txid=txid, now=now)
        rewind_locked(scope.in_spaces(space.ref), space, txid, may_review=True, now=now)
        _record(scope, AuditAction.MEMORY_BRANCH, space, count, now=now)
    return _branch(space)


def list_branches(scope: Scope, *, now: datetime) -> Sequence[Branch]:
    """``main``, and then the branches of the scope's one space, oldest first."""
    if not scope.spaces:
        return ()
    with tenant_transaction(scope):
        origin = space_now(scope, scope.space.id)
        rows = [one for one in _branches(scope, origin) if not one.ref.has_ended(now)]
    return [_branch(origin), *map(_branch, rows)]


def end_branch(scope: Scope, name: str, *, now: datetime) -> None:
    """End a branch of the scope's one space now.  Raises BranchNotFound, MainStays."""
    if name == MAIN:
        raise MainStays
    with tenant_transaction(scope):
        origin, _ = lock_space(scope)
        row = _branches(scope, origin).filter(branch=name).select_for_update(no_key=True).first()
        if row is None or row.ref.has_ended(now):
            raise BranchNotFound
        _end(row, now=now)
        _record(scope, AuditAction.MEMORY_BRANCH_END, row, 1, now=now)


def with_branches(scope: Scope) -> list[Scope]:
    """The scope, and one for each branch of its one space: for what reaches all of them, as an erasure does."""
    with tenant_transaction(scope):
        return [scope, *(scope.in_spaces(one.ref) for one in branches_of(scope, [scope.space.uid]))]


def _branches(scope: Scope, origin: Space) -> ScopedQuerySet[Space]:
    return Space.objects.within(scope).filter(origin_uid=origin.uid).order_by("pk")


def _end(row: Space, *, now: datetime) -> None:
    """Its name is free again: no name of a branch has this character."""
    row.branch = f"~{row.pk}"
    row.expires_at = now
    row.bind()
    row.save(update_fields=["branch", "expires_at", "row_mac"])


def _branch(space: Space) -> Branch:
    return Branch(name=space.branch or MAIN, txid=space.txid, created_at=space.created_at, expires_at=space.expires_at)


def _record(scope: Scope, action: AuditAction, space: Space, count: int, *, now: datetime) -> None:
    record(scope, actor=scope.principal.label, action=action, target=f"space:{space.pk}", count=count, now=now)
