"""Typed memories: their four types, and the values that identify them (seed-systems T3 to T5)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from apps.core.plaintext import Plaintext

# What each type of memory is called here.  Tenants' own types are facts.
FACTS: Final = (
    "fact",
    "preference",
    "entity",
    "relation",
    "reflection",
    "insight",
    "narrative",
    "analysis",
    "reference",
)
TYPES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "fact": FACTS,
    "instruction": ("instruction", "constraint"),
    "event": ("event", "decision", "summary"),
    "task": ("task",),
}
NAMES: Final = tuple(TYPES_OF)
KEYED: Final = ("fact", "instruction")  # types that have a topic key, and that a newer value replaces
_CALLED: Final = {name: called for called, names in TYPES_OF.items() for name in names}
_LONGEST_VALUE: Final = 256  # characters
OF_CALLER: Final = "caller-"  # begins the embedder of a vector that came with its memory


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformLabels:
    """Labels of a memory of an agent platform.  context: what else than its key it replaces an older one by.

    based_on: id and time of change of the memory whose fields it repeats, which it may replace alone, and unchanged.
    messages: ids of the messages that it is from.
    """

    category: str
    workspace: str = ""
    context: str = ""
    based_on: tuple[int, datetime] | None = None
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedMemory:
    """A memory as its caller states it.

    content: canonical JSON (``canonical_json``).  vector: the caller's own, unit length, of any number of dimensions;
    None for one of ours.  ttl: None for the default of its type.  importance: 0..1.
    is_extracted: found in a transcript, and not stated by the caller.
    labels: of an agent platform; the content is then an object with ``value``, a string.
    """

    type: str
    summary: Plaintext
    content: Plaintext
    topic_key: str | None = None
    keywords: Plaintext | None = None
    vector: NDArray[np.float32] | None = None
    is_extracted: bool = False
    session_id: str | None = None
    source: str = ""
    ttl: timedelta | None = None
    tags: tuple[str, ...] = ()
    importance: float | None = None
    pinned: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    labels: PlatformLabels | None = None

    @property
    def text(self) -> Plaintext:
        """What is searched: the summary, and the keywords on a line of their own."""
        if not self.keywords:
            return self.summary
        return Plaintext(f"{self.summary.reveal()}\n{self.keywords.reveal()}")

    @property
    def checked(self) -> str:
        """What must contain nothing forbidden: text and content.

        Not of an agent platform's memory: ids of messages, sizes and checksums, many of which look like card numbers.
        """
        content = self.content.reveal()
        if self.labels:
            stated = orjson.loads(content)
            stated.pop("messages", None)
            for asset in stated.get("assets", ()):
                del asset["size"], asset["checksum"]
            content = canonical_json(stated)
        return f"{self.text.reveal()}\n{content}"

    @property
    def value(self) -> str:
        """The value under its topic key: the only value of its content, else the content; of a platform, its value."""
        content = orjson.loads(self.content.reveal())
        if self.labels:
            content = content["value"]
        elif isinstance(content, dict) and len(content) == 1:
            (content,) = content.values()
        value = content if isinstance(content, str) else canonical_json(content)
        return value[:_LONGEST_VALUE]


def canonical_json(content: Any) -> str:
    """Compact JSON with keys sorted at every level."""
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()


def typed_name(type_: str) -> str:
    """The one of the four types that a memory's type is called."""
    return _CALLED.get(type_, "fact")


def types_named(names: Iterable[str], own: Collection[str]) -> list[str]:
    """The types of memories that these of the four types stand for.  own: names of the tenant's own types."""
    wanted = set(names)
    found = [name for called in sorted(wanted) for name in TYPES_OF[called]]
    return found + (sorted(own) if "fact" in wanted else [])


def embedder_of(vector: NDArray[np.float32]) -> str:
    """The embedder named beside a caller's vector: only vectors of one length are compared."""
    return f"{OF_CALLER}{len(vector)}"
