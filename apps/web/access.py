"""Access levels: what a page requires of the user who opens it."""

from enum import StrEnum
from typing import Final

from apps.tenants.members import Reach


class AccessLevel(StrEnum):
    """A level includes the requirements of those above it, up to the first tenant level; operator levels require a
    second factor."""

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


OF_A_TENANT: Final = frozenset(
    {
        AccessLevel.READER,
        AccessLevel.GRANTED,
        AccessLevel.DECIDER,
        AccessLevel.STEP_UP,
        AccessLevel.ASSERTION,
        AccessLevel.OWNER,
    }
)
DELETING: Final = frozenset({AccessLevel.DECIDER, AccessLevel.STEP_UP, AccessLevel.ASSERTION})
STEPPED_UP: Final = frozenset({AccessLevel.STEP_UP, AccessLevel.ASSERTION, AccessLevel.OWNER})
OF_OPERATORS: Final = frozenset({AccessLevel.OPERATOR, AccessLevel.READING_OPERATOR, AccessLevel.FRESH_OPERATOR})


def permits(reach: Reach, need: AccessLevel, grant: str = "") -> bool:
    """Whether the role is sufficient for a page of the tenant; the step-up is checked separately.

    grant: a name of ``apps.tenants.grants``, checked as the API does.  Without one, the level alone decides.
    """
    if grant:
        return grant in reach.permissions
    if need == AccessLevel.OWNER:
        return reach.is_owner
    return reach.may_delete if need in DELETING else reach.may_read
