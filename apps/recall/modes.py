"""Search modes: presets of filters and retrievers, as other memory systems name them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from text.extraction.code import has_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """types: any of them; empty for any.  legs: the only retrievers to run; empty for those of the settings.

    more_legs: retrievers to run besides.  keeps: which texts may be returned; None for any.
    """

    types: Sequence[str] = ()
    include_summaries: bool = True
    legs: Collection[str] = ()
    more_legs: Collection[str] = ()
    keeps: Callable[[str], bool] | None = None


MODES: Final[Mapping[str, Mode]] = {
    "auto": Mode(),
    "chunks": Mode(include_summaries=False),
    "summaries": Mode(types=("summary", "reflection")),
    "entities": Mode(legs=("entity", "graph")),
    "code": Mode(more_legs=("entity",), keeps=has_code),
    "skills": Mode(types=("instruction", "reflection")),
}
