"""`python -m benchmarks recall|latency|extraction|…`: figures of the real service, as tables or as JSON."""

import argparse
import json
import signal
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.instance import Instance, instance, superuser

WIDTH = 160  # characters of a line where no terminal says how many there are: a file, a pipe
# For what no model's vectors matter to: 50,000 texts would take one half an hour.
WITHOUT_MODEL = {
    "EMBEDDER_BACKEND": "apps.adapters.embedders.fake.FakeEmbedder",
    "EMBEDDER_OPTIONS": "{}",
    "CLASSIFIER_BACKEND": "",
}

console = Console(width=None if sys.stdout.isatty() else WIDTH)
aside = Console(stderr=True)  # progress, and tables while JSON takes the standard output


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    # Ended in the middle, what was started is still stopped: the default would leave a whole instance behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for file in getattr(options, "files", []):
        if not file.is_file():
            parser.error(f"{file} is not a file")
    if options.json == "-":
        console.stderr = True
    result = options.run(options)
    if options.json == "-":
        print(json.dumps(result, indent=1))
    elif options.json:
        Path(options.json).write_text(json.dumps(result, indent=1))
    return 0 if not isinstance(result, dict) or result.get("is_good", True) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, run: Callable[[argparse.Namespace], object], text: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=text, description=text)
        one.add_argument("--json", metavar="OUT", help="also write everything to the file OUT; - writes it here")
        one.set_defaults(run=run)
        return one

    def number(one: argparse.ArgumentParser, name: str, usual: float, text: str) -> None:
        one.add_argument(name, type=type(usual), default=usual, help=f"{text} (default {usual})")

    def files(one: argparse.ArgumentParser) -> None:
        one.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one haystack a line, as JSON")

    recall = verb("recall", _in_instance(_recall), "load labelled sets, ask their questions, score every leg and all")
    files(recall)
    recall.add_argument("--gated", action="store_true", help="let extraction decide what is kept")
    recall.add_argument("--profile", choices=("default", "memorysync", "rrf"), help="the ranking profile")
    recall.add_argument(
        "--without", action="append", default=[], metavar="LEG", help="leave this way of finding out (repeatable)"
    )
    recall.add_argument(
        "--ablate",
        choices=("legs", "all"),
        help="say what each leg, or each leg and factor, is worth by leaving it out",
    )

    verb("lives", _in_instance(_lives), "months of turns by unseen writers, and what is asked about them afterwards")

    bystanders = verb("bystanders", _in_instance(_bystanders), "two facts in one turn, of which one changes")
    number(bystanders, "--pairs", 2_000, "of facts")

    latency = verb(
        "latency", _in_instance(_latency), "adds and queries over HTTP beside the bare limit of the same run"
    )
    number(latency, "--rows", 1000, "memories in the space")
    number(latency, "--runs", 100, "measured calls of each kind")
    latency.add_argument("--sealed", action="store_true", help="of a sealed space: nothing searchable at rest")

    scale = verb("scale", _in_instance(_scale), "queries in spaces of different sizes, while the tables grow")
    scale.add_argument("--spaces", type=_numbers, default=[1_000, 10_000, 100_000], help="rows of each, as 1000,10000")
    scale.add_argument("--tables", type=_numbers, default=[100_000, 1_000_000], help="rows of all, ascending")
    number(scale, "--runs", 100, "measured calls of each kind")

    ingest = verb("ingest", _in_instance(_ingest), "adds, one at a time and many at once, beside the bare writes")
    number(ingest, "--rows", 2_000, "written in each way")
    number(ingest, "--runs", 100, "measured single adds")

    throughput = verb("throughput", _in_instance(_throughput), "requests a second beside a view that does nothing")
    number(throughput, "--rows", 1000, "memories in the space")
    number(throughput, "--callers", 8, "that ask at once")
    number(throughput, "--seconds", 20.0, "of each kind of request")

    extraction = verb("extraction", _extraction, "what the pipeline makes of labelled turns, as predictions")
    extraction.add_argument("labels", type=Path, metavar="LABELS")
    extraction.add_argument("--out", type=Path, required=True, metavar="PREDICTIONS")
    extraction.add_argument("--by-rule", action="store_true", help="print how often each rule is right")
    extraction.add_argument("--rules-alone", action="store_true", help="weigh no sentence: the rules say what is kept")

    reading = verb(
        "reading", _in_instance(_reading, **WITHOUT_MODEL), "texts that pump every pattern, up to a mebibyte"
    )
    number(reading, "--texts", 1_000_000, "to read")
    number(reading, "--seed", 0, "of the first of them")
    number(reading, "--processes", 2, "that read")

    files(verb("leakage", _in_instance(_leakage), "attack what is stored of labelled sets: words, vectors, sizes"))

    isolation = verb("isolation", _in_instance(_isolation), "words and vectors of many tenants, asked for unfiltered")
    number(isolation, "--tenants", 20, "that said the same")
    number(isolation, "--texts", 500, "that each of them said")
    number(isolation, "--hits", 1_000_000, "to see by words")

    rotation = verb(
        "rotation", _in_instance(_rotation, **WITHOUT_MODEL), "a data key turns under load while workers are killed"
    )
    number(rotation, "--rows", 50_000, "memories of the tenant")
    number(rotation, "--kills", 100, "of workers")
    number(rotation, "--restarts", 3, "of the database, at once")
    number(rotation, "--questions", 500, "asked at each quarter")
    number(rotation, "--pace-rows", 4_000, "for the bare loop; 0: none")

    importing = verb("import", _in_instance(_import), "a file of records comes in while workers are killed")
    number(importing, "--records", 100_000, "in the file")
    number(importing, "--kills", 5, "of the workers")
    importing.add_argument("--skip-embedding", action="store_true", help="do not wait for the vectors")

    outbox = verb("outbox", _in_instance(_outbox), "dialogues, bulk adds and a large import while workers are killed")
    outbox.add_argument("file", type=Path, metavar="FILE", help="a labelled set with dialogues")
    number(outbox, "--runs", 10, "of loading the dialogues")
    number(outbox, "--records", 100_000, "in the file of another tenant")
    number(outbox, "--kills", 50, "of the workers' processes")

    retype = verb(
        "retype", _in_instance(_retype, **WITHOUT_MODEL), "memories get another type while others are added and read"
    )
    number(retype, "--rows", 20_000, "memories of the tenant")

    swept = verb("sweep", _in_instance(_sweep), "the retention takes out many memories while others are asked for")
    number(swept, "--rows", 1_000_000, "that are past their time")
    number(swept, "--live", 1000, "in the space that is asked")
    number(swept, "--runs", 200, "recalls before and after")
    number(swept, "--pause", 1.0, "as RETENTION_PAUSE")

    pages = verb("pages", _in_instance(_pages), "every page for people, in a tenant that holds many memories")
    number(pages, "--rows", 1_000_000, "memories of the tenant")
    number(pages, "--readable", 10_000, "of them in one space that opens")
    number(pages, "--audit-rows", 100_000, "of the tenant's trail")
    number(pages, "--runs", 40, "measured calls of each page")

    residue = verb(
        "residue", _in_instance(_residue), "what is left in files after an erasure, and after each step of a purge"
    )
    number(residue, "--people", 10, "of whom half are erased")

    abuse = verb("abuse", _in_instance(_abuse), "what others notice of slow connections and of costly documents")
    number(abuse, "--seconds", 30.0, "of each kind of misuse, and as long without it")

    verb("receipts", _receipts, "how long the check of a receipt takes, in logs of different lengths")
    verb("columns", _columns, "every column as sealed, keyed or plain: the table of docs/security.md")
    return parser


def _in_instance(
    run: Callable[[Instance, argparse.Namespace], object], **settings: str
) -> Callable[[argparse.Namespace], object]:
    """Run it on a fresh instance with these settings."""

    def running(options: argparse.Namespace) -> object:
        with instance(**settings) as one:
            return run(one, options)

    return running


# Each imports what it runs by itself: only once there is an instance does Django know its databases.


def _recall(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import recall

    result: dict[str, Any] = {}
    for file in options.files:
        now = datetime.now(UTC)
        ways = recall.ablations(without=options.without, factors=options.ablate == "all")
        report = recall.run(
            file,
            find_tenant_scope(running.tenant),
            gated=options.gated,
            profile=options.profile,
            ways=ways if options.ablate else ways[:1],
            now=now,
        )
        tables, worth = recall.table(report), recall.worth(report)
        figures = {
            "sha256": report.sha256,
            "items": report.items,
            "items_kept": report.kept,
            "gold_items": report.gold,
            "gold_kept": report.gold_kept,
            "questions": len(report.rows),
            "blinded_leg_differs_from_plaintext_bm25": report.differences,
            "adds_per_second": round(report.items / report.add_seconds, 1),
            "query_ms_p50": round(statistics.median(report.query_ms), 1),
        }
        console.rule(file.name)
        _say_figures(figures)
        for unit, categories in tables.items():
            console.print(_scores_table(f"{unit}, {file.name}", categories))
        console.print(_table(f"all of it, {file.name}, in percent", worth if options.ablate else worth[:1]))
        result[file.name] = {**figures, "worth": worth, "scores": tables, "rankings": report.rows}
    return result


def _lives(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import lives

    result = lives.run(find_tenant_scope(running.tenant), now=datetime.now(UTC))
    console.print_json(json.dumps(result))
    return result


def _bystanders(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import bystanders

    scope = find_tenant_scope(running.tenant)
    return _say_figures(bystanders.run(scope, limit=options.pairs, now=datetime.now(UTC), say=aside.print))


def _scores_table(title: str, categories: dict[str, dict[str, dict[str, float]]]) -> Table:
    names = list(next(iter(categories["all"].values())))
    table = Table("category", "ranking", *names, title=title)
    for category, rankings in categories.items():
        shown = {name: scores for name, scores in rankings.items() if not name.startswith(("with", "factor "))}
        for place, (ranking, scores) in enumerate(shown.items()):
            table.add_row("" if place else category, ranking, *(f"{100 * scores[name]:.1f}" for name in names))
        table.add_section()
    return table


def _latency(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import latency

    result = latency.run(running, rows=options.rows, runs=options.runs, is_sealed=options.sealed)
    console.print(f"{options.rows} memories in the {'sealed ' if options.sealed else ''}space")
    _say_figures(result["milliseconds"] | result["ratios"])
    return result


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _scale(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import scale

    result = scale.run(
        running, spaces=options.spaces, tables=sorted(options.tables), runs=options.runs, say=aside.print
    )
    console.print(_table("milliseconds, p50 (p95)", result["figures"]))
    console.print(f"growth of the p50, from the smallest tables to the largest: {result['growth of the p50']}")
    return result


def _ingest(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import ingest

    return _say_figures(ingest.run(running, rows=options.rows, runs=options.runs))


def _sweep(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import sweep

    return _say_figures(
        sweep.run(running, rows=options.rows, live=options.live, runs=options.runs, pause=options.pause)
    )


def _pages(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import pages

    result = pages.run(
        running, rows=options.rows, readable=options.readable, audit_rows=options.audit_rows, runs=options.runs,
        say=aside.print,
    )  # fmt: skip
    console.print(_table("milliseconds", result["pages"]))
    for name, reason in result["left out"].items():
        console.print(f"left out: {name}: {reason}")
    console.print(f"p95 above {pages.SLOW_MS:.0f} ms: {', '.join(result['slow']) or 'none'}")
    console.print(f"the first call alone: {', '.join(result['slow at first']) or 'none'}")
    return result


def _leakage(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import leakage

    started = datetime.now(UTC)
    report = asdict(leakage.run(options.files, find_tenant_scope(running.tenant), now=started))
    for name, rows in report.items():
        console.print(_table(name, rows))
    seconds = (datetime.now(UTC) - started).total_seconds()
    console.print(f"{started.date()}, {seconds:.0f} s", highlight=False)
    return report


def _isolation(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import isolation

    with superuser() as cursor:
        result = isolation.run(
            cursor, tenants=options.tenants, texts=options.texts, hits=options.hits, pairs=3000, queries=500,
            now=datetime.now(UTC),
        )  # fmt: skip
    return _say_figures(result)


def _throughput(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import throughput

    return _say_figures(throughput.run(running, rows=options.rows, callers=options.callers, seconds=options.seconds))


def _rotation(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import rotation

    return _say_figures(
        rotation.run(
            running,
            rows=options.rows,
            kills=options.kills,
            restarts=options.restarts,
            pace_rows=options.pace_rows,
            questions=options.questions,
            say=aside.print,
        )
    )


def _import(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import importing

    return _say_figures(
        importing.run(
            running,
            records=options.records,
            kills=options.kills,
            waits_for_vectors=not options.skip_embedding,
            say=aside.print,
        )
    )


def _outbox(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import outbox

    return _say_figures(
        outbox.run(
            running, options.file, runs=options.runs, records=options.records, kills=options.kills, say=aside.print
        )
    )


def _retype(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import retyping

    return _say_figures(retyping.run(running, rows=options.rows, say=aside.print))


def _residue(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import residue

    return _say_figures(residue.run(running, people=options.people))


def _abuse(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import abuse

    return _say_figures(abuse.run(running, seconds=options.seconds, say=aside.print))


def _extraction(options: argparse.Namespace) -> None:
    from benchmarks import extraction

    extraction.run(str(options.labels), str(options.out), by_rule=options.by_rule, rules_alone=options.rules_alone)


def _reading(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import reading

    return _say_figures(
        reading.run(texts=options.texts, seed=options.seed, processes=options.processes, say=aside.print)
    )


def _receipts(options: argparse.Namespace) -> list[dict[str, Any]]:
    from benchmarks import receipts

    result = receipts.run()
    console.print(_table("milliseconds to check a receipt", result))
    return result


def _columns(options: argparse.Namespace) -> None:
    from benchmarks.columns import markdown

    print(markdown())


def _say_figures(result: dict[str, Any]) -> dict[str, Any]:
    """The same, once it is printed."""
    table = Table("measured", "figure", show_header=False)
    for name, figure in _flat(result):
        table.add_row(name, _figure(figure))
    console.print(table)
    return result


def _flat(figures: Mapping[str, Any], before: str = "") -> list[tuple[str, object]]:
    """Figures inside of figures by all their names."""
    rows: list[tuple[str, object]] = []
    for name, figure in figures.items():
        rows += _flat(figure, f"{before}{name}: ") if isinstance(figure, dict) else [(f"{before}{name}", figure)]
    return rows


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, title=title)
    for row in rows:
        table.add_row(*(_figure(row.get(name, "")) for name in names))
    return table


def _figure(value: object) -> str:
    """Milliseconds as p50 (p95)."""
    if isinstance(value, tuple):
        median, slow = value
        return f"{median:.1f} ({slow:.1f})"
    return f"{value:,.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
