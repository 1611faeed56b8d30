"""Random histories of a profile, and a naive replay of them to compare with."""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from apps.core.plaintext import Plaintext
from apps.memories.typed import TypedMemory, canonical_json
from tests.makers import NOW

STEPS: Final = 25  # of a history
EACH: Final = 25  # histories of a test: all of its changes stay in one transaction, which slows down as it grows

Said = tuple[str | None, str]  # topic and value
Id = TypeVar("Id")


def seeds(variable: str) -> range:
    """Seeds of tests with EACH histories, for as many histories as the environment variable says; by default one."""
    return range(max(1, int(os.environ.get(variable, EACH)) // EACH))


def minute(number: float) -> datetime:
    return NOW + timedelta(minutes=number)


def stated(topic: str | None, value: str, **more: Any) -> TypedMemory:
    return TypedMemory(
        type="fact" if topic else "event",
        topic_key=topic,
        summary=Plaintext(f"{topic} is {value}"),
        content=Plaintext(canonical_json(value)),
        **more,
    )


def draw_batch(drawn: random.Random) -> list[Said]:
    topics = [drawn.choice(("a", "b", "c", None)) for _ in range(drawn.randint(1, 3))]
    return [(topic, drawn.choice("123456")) for topic in topics]


@dataclass
class Replay:
    """A naive model of one branch: its current values, and its state under each name."""

    holders: dict[str, str] = field(default_factory=dict)  # topic to value
    events: set[str] = field(default_factory=set)
    saved: dict[str, "Replay"] = field(default_factory=dict)

    def copy(self) -> "Replay":
        return Replay(dict(self.holders), set(self.events), dict(self.saved))

    def back(self, then: "Replay") -> None:
        """Hold the values of another state.  Names are kept."""
        self.holders, self.events = dict(then.holders), set(then.events)

    def write(self, batch: Sequence[Said]) -> None:
        for topic, value in dict.fromkeys(batch):  # said twice in a batch, it is a duplicate
            if topic is None:
                self.events.add(value)
            else:
                self.holders[topic] = value

    def current(self, ids: Mapping[Said, Id]) -> set[Id]:
        named: list[Said] = [*self.holders.items(), *((None, value) for value in self.events)]
        return {ids[one] for one in named}
