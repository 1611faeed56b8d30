"""Terminal output of `memsync demo`, drawn with rich from a report."""

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memsync.demo.replay import DemoAnswer, DemoFound, DemoReport

COLOURS = {
    "created": "green",
    "superseding": "yellow",
    "revived": "cyan",
    "discarded_policy": "red",
    "discarded_transient": "blue",
    "discarded_low_signal": "bright_black",
    "duplicate": "magenta",
}
FOUND_BY = {"both": "meaning and words", "vector": "meaning", "words": "words", "context": "the turn before it"}
HIDDEN = "(a secret: not shown here either)"


def pages(report: DemoReport) -> Iterator[RenderableType]:
    yield _kept(report)
    yield _refused(report)
    yield _counts(report)
    for number, asked in enumerate(report.asked, start=1):
        yield _asked(number, asked)


def _kept(report: DemoReport) -> Table:
    table = Table("turn", "decision", "type", "text", "now", title="Kept: sealed before it reached the database")
    for one in report.kept:
        is_current = one.validity != "superseded"
        text = Text(one.text, style="" if is_current else "dim strike")
        now = "current" if is_current else f"replaced by {one.replaced_by}"
        table.add_row(str(one.turn), _coloured(one.decision), one.type, text, f"[dim]{one.memory_id}[/dim] {now}")
    return table


def _refused(report: DemoReport) -> Table:
    table = Table(
        "turn", "decision", "why", "said", title="Refused: no text is stored, only the decision and a keyed digest"
    )
    for one in report.refused:
        why = one.reason.replace("_", " ") + (f", see {one.memory_id}" if one.memory_id else "")
        said = HIDDEN if one.reason.startswith("secret") else one.text
        table.add_row(str(one.turn), _coloured(one.decision), why, escape(said))
    return table


def _counts(report: DemoReport) -> Text:
    parts = ", ".join(f"{count} {decision}" for decision, count in report.counts.items())
    return Text(f"{report.turns} turns, {sum(report.counts.values())} statements: {parts}.\n", style="bold")


def _asked(number: int, asked: DemoAnswer) -> Group:
    mark = "[green]as expected[/green]" if asked.is_as_expected else "[yellow]something else came first[/yellow]"
    title = (
        f"[bold]{number}. {escape(asked.question.query)}[/bold]\n   [dim]{escape(asked.question.shows)};[/dim] {mark}"
    )
    table = Table("memory", "score", "which is", "found by", box=None, header_style="dim", padding=(0, 2, 0, 0))
    for one in asked.found:
        table.add_row(escape(one.text), f"{one.score:.3f}", _sum(one.factors), _found_by(one))
    return Group(title, Padding(table, (0, 0, 1, 3)))


def _sum(factors: Mapping[str, float]) -> str:
    """The parts of the score, largest first, without those that are 0."""
    parts = sorted(factors.items(), key=lambda part: -abs(part[1]))
    return " ".join(f"{value:+.2f} {name}" for name, value in parts if abs(value) >= 0.005)


def _found_by(one: DemoFound) -> str:
    places = ", ".join(f"{leg} #{place['rank']:.0f}" for leg, place in one.legs.items())
    found_by = FOUND_BY.get(one.matched_by, one.matched_by)
    return f"{found_by} [dim]({places})[/dim]" if places else found_by


def _coloured(decision: str) -> str:
    colour = COLOURS.get(decision, "white")
    return f"[{colour}]{decision}[/{colour}]"
