"""Locks the space of a writer, so that it is not taken away meanwhile."""

from apps.crypto.services import SpaceCipher, SpaceShredded, open_space
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef


def lock_space(scope: Scope) -> tuple[SpaceRef, SpaceCipher]:
    """Lock the scope's one space; returns its current state and its cipher.  Inside the tenant's transaction.

    It is the lock for adding memories: no one else writes to the space until the commit.  Raises SpaceShredded if the
    space was taken from its owner.
    """
    mine = scope.space
    open_space(scope.tenant, mine, writing=True)  # holds off a rotation first, as every writer does
    locked = Space.objects.within(scope).select_for_update(no_key=True).filter(pk=mine.id, owner_id=mine.owner_id)
    space = locked.first()
    if space is None:
        raise SpaceShredded
    return space.ref, open_space(scope.tenant, space.ref, writing=True)
