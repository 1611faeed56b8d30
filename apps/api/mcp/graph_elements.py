"""What the tools at ``/v1/mcp/graph`` store: entities, observations and relations, each a memory kept word for word.

They are memories of the routes for agent platforms (docs/agent-platforms.md) in a workspace of their own.  The category
says what one is, and the lines of its value are

    entity        name, type
    observation   name, text (of several lines too)
    relation      from, type, to
"""

import hashlib
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apps.api.mcp.session import ToolSession

PATH: Final = "/api/v1/memories"
WORKSPACE: Final = "knowledge-graph"
PAGE: Final = 50  # memories, the most that the route lists at once
ENTITY, OBSERVATION, RELATION = "entity", "observation", "relation"
LINES: Final = {ENTITY: 2, OBSERVATION: 2, RELATION: 3}


@dataclass(frozen=True, slots=True)
class Element:
    """kind: entity, observation or relation.  memory_id: None before it is stored."""

    kind: str
    lines: tuple[str, ...]
    memory_id: int | None = field(default=None, compare=False)

    @classmethod
    def entity(cls, name: str, type_: str) -> "Element":
        return cls(ENTITY, (name, type_))

    @classmethod
    def observation(cls, name: str, text: str) -> "Element":
        return cls(OBSERVATION, (name, text))

    @classmethod
    def relation(cls, stated: Any) -> "Element":
        return cls(RELATION, (stated["from"], stated["relationType"], stated["to"]))

    @classmethod
    def read(cls, memory: Any) -> "Element | None":
        """None for a memory of another form, which another client may have put into the workspace."""
        count = LINES.get(memory["category"], 0)
        lines = tuple(memory["value"].split("\n", count - 1)) if count else ()
        return cls(memory["category"], lines, memory["memoryId"]) if count and len(lines) == count else None

    @property
    def value(self) -> str:
        return "\n".join(self.lines)

    @property
    def key(self) -> str:
        """The same for elements that say the same, of which one is stored; an entity is known by its name."""
        says = self.lines[:1] if self.kind == ENTITY else self.lines
        return f"{self.kind}:{hashlib.sha256(chr(10).join(says).encode()).hexdigest()}"

    def concerns(self, names: Container[str]) -> bool:
        """Whether it is one of these entities, an observation of one, or a relation with one at either end."""
        return self.lines[0] in names or (self.kind == RELATION and self.lines[2] in names)

    def stated(self) -> dict[str, str]:
        """A relation as the tools take it."""
        start, type_, end = self.lines
        return {"from": start, "to": end, "relationType": type_}


class KnowledgeGraph:
    """The stored elements of an end user, oldest first.  Of two that say the same, the older counts."""

    def __init__(self, stored: Iterable[Element]) -> None:
        self.stored = sorted(stored, key=lambda one: one.memory_id or 0)
        self.entities: dict[str, str] = {}
        self.observations: dict[str, list[str]] = {}
        self.relations: dict[Element, None] = {}
        for one in self.stored:
            if one.kind == ENTITY:
                self.entities.setdefault(*one.lines)
            elif one.kind == RELATION:
                self.relations[one] = None
            elif one.lines[1] not in self.observations.setdefault(one.lines[0], []):
                self.observations[one.lines[0]].append(one.lines[1])

    @classmethod
    def of(cls, session: ToolSession) -> "KnowledgeGraph":
        """Raises RouteFailed."""
        found: dict[int, Element] = {}
        page: str | None = "1"
        while page is not None:
            query = {"scope": "global", "workspaceId": WORKSPACE, "limit": PAGE, "page": page}
            listed = session.ask("GET", PATH, query=query)["data"]
            for memory in listed["items"]:
                if one := Element.read(memory):
                    found[memory["memoryId"]] = one
            page = listed["nextCursor"]
        return cls(found.values())

    def ids(self, is_meant: Callable[[Element], bool]) -> list[int]:
        """Of the memories that are meant, with those that repeat another."""
        return [one.memory_id for one in self.stored if one.memory_id is not None and is_meant(one)]

    def body(self, names: Container[str]) -> dict[str, Any]:
        """These entities, and the relations with one of them at either end."""
        return {
            "entities": [self.entity(name) for name in self.entities if name in names],
            "relations": [one.stated() for one in self.relations if one.concerns(names)],
        }

    def whole(self) -> dict[str, Any]:
        return {
            "entities": [self.entity(name) for name in self.entities],
            "relations": [one.stated() for one in self.relations],
        }

    def entity(self, name: str) -> dict[str, Any]:
        return {"name": name, "entityType": self.entities[name], "observations": self.observations.get(name, [])}

    def matching(self, query: str) -> set[str]:
        """Names of the entities of which name, type or an observation contains the query, whatever its case."""
        low = query.lower()
        return {
            name
            for name, type_ in self.entities.items()
            if any(low in text.lower() for text in (name, type_, *self.observations.get(name, ())))
        }


def save(session: ToolSession, element: Element) -> None:
    """Store an element as a memory of its own, unless another call did so meanwhile.  Raises RouteFailed."""
    labels = {"key": element.key, "category": element.kind, "workspaceId": WORKSPACE, "source": session.source}
    session.ask("POST", PATH, labels | {"value": element.value})


def distinct(elements: Sequence[Element]) -> list[Element]:
    return list(dict.fromkeys(elements))
