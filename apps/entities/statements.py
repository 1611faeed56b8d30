"""What a stored memory states about entities: from extraction to the entities of a space.  Pure data."""

from dataclasses import dataclass

from apps.core.plaintext import Plaintext
from text.mentions import Mentions


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementContext:
    """What one stored memory states.

    may_meet: whether it may add new entities and relations; an assistant's statements may not.  voice: the speaker's
    name, if any.  turn: the same for all statements of one turn, or of one session.
    """

    memory_id: int
    reading: Mentions
    turn: object = None
    session: str | None = None
    voice: Plaintext | None = None
    may_meet: bool = True
