"""What a page requires of the user who opens it."""

from enum import StrEnum
from typing import Final

from apps.tenants.members import Reach


class Need(StrEnum):
    """Each asks for what stands above it too, down to the tenant's own; those of operators ask for a second factor."""

    NOBODY = "nobody"
    PERSON = "a person who signed in"
    FACTOR = "who has shown a second factor in this session"
    FRESH = "who has confirmed moments ago, to change passkeys and codes"
    READER = "who may read in the tenant that the address names"
    GRANTED = "whose role there grants what the page names"
    DECIDER = "who may delete there"
    STEP_UP = "who may, and has stepped up"
    ASSERTION = "who may, has stepped up, and was given leave for exactly this"
    OWNER = "who owns it, and has stepped up"
    OPERATOR = "an operator who has shown a second factor in this session"
    READING_OPERATOR = "an operator who has confirmed within the time of a grant"
    FRESH_OPERATOR = "an operator who has stepped up"


OF_A_TENANT: Final = frozenset({Need.READER, Need.GRANTED, Need.DECIDER, Need.STEP_UP, Need.ASSERTION, Need.OWNER})
DELETING: Final = frozenset({Need.DECIDER, Need.STEP_UP, Need.ASSERTION})
STEPPED_UP: Final = frozenset({Need.STEP_UP, Need.ASSERTION, Need.OWNER})
OF_OPERATORS: Final = frozenset({Need.OPERATOR, Need.READING_OPERATOR, Need.FRESH_OPERATOR})


def permits(reach: Reach, need: Need, grant: str = "") -> bool:
    """Whether the role is enough for a page of the tenant; the step-up is asked for beside it.

    grant: one of ``apps.tenants.grants``, which the page asks for as the API does; without one it is about memories.
    """
    if grant:
        return grant in reach.permissions
    if need == Need.OWNER:
        return reach.is_owner
    return reach.may_delete if need in DELETING else reach.may_read
