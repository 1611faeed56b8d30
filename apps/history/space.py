"""The space that a writer writes to, held so that no one takes it away meanwhile."""

from apps.crypto.services import SpaceCipher, SpaceShredded, open_space
from apps.projects.models import Space
from apps.projects.scope import Scope, SpaceRef


def lock_space(scope: Scope) -> tuple[SpaceRef, SpaceCipher]:
    """Lock the scope's one space, as it is now.  Inside the tenant's transaction.

    The lock is the one for adding memories: between this and the commit no one else writes there.  Raises
    SpaceShredded for a space that was taken from its owner.
    """
    mine = scope.space
    open_space(scope.tenant, mine, writing=True)  # holds off a rotation first, as by everybody who writes
    locked = Space.objects.within(scope).select_for_update(no_key=True).filter(pk=mine.id, owner_id=mine.owner_id)
    space = locked.first()
    if space is None:
        raise SpaceShredded
    return space.ref, open_space(scope.tenant, space.ref, writing=True)
