"""The match of a pattern, with the interface of ``re.Match``."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

Spans = list[tuple[int, int]]


class Matched(Protocol):
    """What a match needs from its pattern."""

    @property
    def groupindex(self) -> Mapping[str, int]: ...

    @property
    def closing(self) -> tuple[int, ...]: ...


class Match:
    __slots__ = ("_spans", "re", "string")

    def __init__(self, pattern: Matched, text: str, spans: Spans) -> None:
        self.re, self.string, self._spans = pattern, text, spans

    def __repr__(self) -> str:
        return f"<patterns.Match {self._spans[0]}>"  # never the text

    def _index(self, group: int | str) -> int:
        if isinstance(group, str):
            try:
                return self.re.groupindex[group]
            except KeyError:
                raise IndexError("no such group") from None
        if not 0 <= group < len(self._spans):
            raise IndexError("no such group")
        return group

    def span(self, group: int | str = 0) -> tuple[int, int]:
        return self._spans[self._index(group)]

    def start(self, group: int | str = 0) -> int:
        return self._spans[self._index(group)][0]

    def end(self, group: int | str = 0) -> int:
        return self._spans[self._index(group)][1]

    def __getitem__(self, group: int | str) -> Any:
        first, last = self._spans[self._index(group)]
        return None if first < 0 else self.string[first:last]

    def group(self, *groups: int | str) -> Any:
        if len(groups) < 2:
            return self[groups[0] if groups else 0]
        return tuple(self[group] for group in groups)

    def groups(self, default: Any = None) -> tuple[Any, ...]:
        return tuple(default if (text := self[group]) is None else text for group in range(1, len(self._spans)))

    def groupdict(self, default: Any = None) -> dict[str, Any]:
        return {name: default if (text := self[name]) is None else text for name in self.re.groupindex}

    @property
    def lastindex(self) -> int | None:
        """The group that closed last, as in ``re``."""
        last, found = -1, None
        for group in self.re.closing:
            if self._spans[group][1] >= max(last, 0):
                last, found = self._spans[group][1], group
        return found

    @property
    def lastgroup(self) -> str | None:
        index = self.lastindex
        return next((name for name, group in self.re.groupindex.items() if group == index), None)

    def expand(self, template: str) -> str:
        """The template with ``\\1`` and ``\\g<name>`` replaced; a group that did not participate is empty."""
        return "".join(piece if isinstance(piece, str) else (self[piece[0]] or "") for piece in _pieces(template))


@lru_cache(maxsize=64)
def _pieces(template: str) -> tuple[str | tuple[int | str], ...]:
    pieces: list[str | tuple[int | str]] = []
    at = 0
    while (slash := template.find("\\", at)) >= 0:
        pieces.append(template[at:slash])
        following = template[slash + 1 : slash + 2]
        if following.isdigit():
            pieces.append((int(following),))
            at = slash + 2
        elif template.startswith("g<", slash + 1) and (close := template.find(">", slash)) > 0:
            name = template[slash + 3 : close]
            pieces.append((int(name) if name.isdigit() else name,))
            at = close + 1
        elif following in ("n", "t", "\\"):
            pieces.append({"n": "\n", "t": "\t", "\\": "\\"}[following])
            at = slash + 2
        else:
            raise ValueError("the template holds an unknown escape")
    return (*pieces, template[at:])
