"""Tables of figures, and the consoles for them."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 160  # characters per line if there is no terminal: a file, a pipe

console = Console(width=None if sys.stdout.isatty() else WIDTH)
aside = Console(stderr=True)  # stderr, for progress, and for tables while stdout carries JSON


def say_figures(result: dict[str, Any]) -> dict[str, Any]:
    """Print the figures and return them."""
    table = Table("measured", "figure", show_header=False)
    for name, figure in _flat(result):
        table.add_row(name, _figure(figure))
    console.print(table)
    return result


def scores_table(title: str, categories: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Percentages: a row per ranking, in a section per category of questions."""
    names = list(next(iter(categories["all"].values())))
    table = Table("category", "ranking", *names, title=title)
    for category, rankings in categories.items():
        shown = {name: scores for name, scores in rankings.items() if not name.startswith(("with", "factor "))}
        for place, (ranking, scores) in enumerate(shown.items()):
            table.add_row("" if place else category, ranking, *(f"{100 * scores[name]:.1f}" for name in names))
        table.add_section()
    return table


def figures_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each of rows, and a column for each name in any of them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, title=title)
    for row in rows:
        table.add_row(*(_figure(row.get(name, "")) for name in names))
    return table


def _flat(figures: Mapping[str, Any], before: str = "") -> list[tuple[str, object]]:
    """Nested figures, with their names joined."""
    rows: list[tuple[str, object]] = []
    for name, figure in figures.items():
        rows += _flat(figure, f"{before}{name}: ") if isinstance(figure, dict) else [(f"{before}{name}", figure)]
    return rows


def _figure(value: object) -> str:
    """A figure as text; milliseconds as p50 (p95)."""
    if isinstance(value, tuple):
        median, slow = value
        return f"{median:.1f} ({slow:.1f})"
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
