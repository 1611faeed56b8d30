"""Interface of extractors; ``tests/contracts/test_extractors.py`` tests every implementation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from apps.adapters.errors import AdapterError

TYPES: Final = ("fact", "preference", "instruction", "constraint", "event", "decision", "task", "relation")
MOST_PROPOSED: Final = 20  # of one turn


class ExtractionFailed(AdapterError):
    """The model returned nothing usable.

    cause: ``timeout``, ``unavailable``, ``throttled``, ``circuit_open``, ``refused``, ``truncated``, ``malformed`` or
    ``schema``.
    tokens_in, tokens_out: usage of the failed call, if the endpoint reported it.
    """

    def __init__(self, cause: str, *, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(f"the extraction model failed: {cause}", permanent=False)
        self.cause = cause
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A memory that a model proposes; untrusted until it is checked.

    quote: an exact part of the turn.  key: dotted, subject first, or None.  value: canonical.  event_at: time of the
    event, if any.  confidence: 0..1, the model's own.
    """

    quote: str = field(repr=False)
    type: str
    key: str | None = field(default=None, repr=False)
    value: str | None = field(default=None, repr=False)
    event_at: datetime | None = None
    confidence: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """A model's proposals for one turn, and their cost in tokens."""

    proposed: Sequence[Proposed]
    tokens_in: int
    tokens_out: int


@runtime_checkable
class Extractor(Protocol):
    """A language model behind an endpoint that the operator configured.

    is_self_hosted: texts stay with the operator.  most_tokens: upper bound of the cost of a call with that many
    characters.
    """

    @property
    def is_self_hosted(self) -> bool: ...

    def most_tokens(self, characters: int) -> int: ...

    def cost(self, tokens_in: int, tokens_out: int) -> int:
        """Cost in millionths of the operator's currency; 0 if no price is configured."""
        ...

    def propose(self, text: str, *, said_at: datetime, seconds: float) -> Proposals:
        """Return proposals for one turn of a user, or raise ExtractionFailed, within ``seconds``."""
        ...
