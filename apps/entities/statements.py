"""What a stored memory says of whom, between extraction and the entities of a space.  Pure."""

from dataclasses import dataclass

from apps.core.plaintext import Plaintext
from text.mentions import Mentions


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementContext:
    """What one stored memory says.  may_meet: whether it may add an entity that was not known before, and say how
    entities are related; what an assistant says may not.  voice: of the speaker, where they have a name.  turn:
    what was said in one turn, or in one session, has the same.
    """

    memory_id: int
    reading: Mentions
    turn: object = None
    session: str | None = None
    voice: Plaintext | None = None
    may_meet: bool = True
