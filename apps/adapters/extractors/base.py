"""The promise every extractor keeps; ``tests/contracts/test_extractors.py`` holds each of them to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from apps.adapters.errors import AdapterError

TYPES: Final = ("fact", "preference", "instruction", "constraint", "event", "decision", "task", "relation")
MOST_PROPOSED: Final = 20  # of one turn


class ExtractionFailed(AdapterError):
    """The model gave nothing that could be used.

    cause: ``timeout``, ``unavailable``, ``throttled``, ``circuit_open``, ``refused``, ``truncated``, ``malformed`` or
    ``schema``.
    tokens_in, tokens_out: what it cost all the same, as far as the endpoint said.
    """

    def __init__(self, cause: str, *, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(f"the extraction model failed: {cause}", permanent=False)
        self.cause = cause
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """One thing worth remembering, as a model proposes it.  Nothing of it is believed before it is checked.

    quote: an exact part of the turn.  key: dotted, subject first, or None.  value: canonical.  event_at: when it is
    about a time.  confidence: 0..1, the model's own.
    """

    quote: str = field(repr=False)
    type: str
    key: str | None = field(default=None, repr=False)
    value: str | None = field(default=None, repr=False)
    event_at: datetime | None = None
    confidence: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What a model made of one turn, and what that cost in tokens."""

    proposed: Sequence[Proposed]
    tokens_in: int
    tokens_out: int


@runtime_checkable
class Extractor(Protocol):
    """A language model behind an endpoint that the operator has named.

    is_self_hosted: texts stay with the operator.  most_tokens: what one call of so many characters may cost at most.
    """

    @property
    def is_self_hosted(self) -> bool: ...

    def most_tokens(self, characters: int) -> int: ...

    def cost(self, tokens_in: int, tokens_out: int) -> int:
        """In millionths of the operator's currency; 0 where no price is known."""
        ...

    def propose(self, text: str, *, said_at: datetime, seconds: float) -> Proposals:
        """What is worth remembering of one turn of a user.  Answers or raises ExtractionFailed within ``seconds``."""
        ...
