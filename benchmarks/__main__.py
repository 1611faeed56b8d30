"""`python -m benchmarks recall|latency|extraction|…`: figures of the real service, as tables or as JSON."""

import argparse
import json
import signal
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.instance import Instance, instance, superuser

console = Console(stderr=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)

    recall = verbs.add_parser("recall", help="load labelled sets, ask their questions, score every leg and the fusion")
    recall.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one haystack a line, as JSON")
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
    recall.add_argument("--json", type=Path, metavar="OUT", help="also write everything, with each ranking, to OUT")

    latency = verbs.add_parser("latency", help="adds and queries over HTTP beside the bare limit of the same run")
    latency.add_argument("--rows", type=int, default=1000, help="memories in the space (default 1000)")
    latency.add_argument("--sealed", action="store_true", help="of a sealed space: nothing searchable at rest")
    latency.add_argument("--runs", type=int, default=100, help="measured calls of each kind (default 100)")
    latency.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    scale = verbs.add_parser("scale", help="queries in spaces of different sizes, while the tables grow")
    scale.add_argument("--spaces", type=_numbers, default=[1_000, 10_000, 100_000], help="rows of each, as 1000,10000")
    scale.add_argument("--tables", type=_numbers, default=[100_000, 1_000_000], help="rows of all, ascending")
    scale.add_argument("--runs", type=int, default=100, help="measured calls of each kind (default 100)")
    scale.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    ingest = verbs.add_parser("ingest", help="adds, one at a time and many at once, beside the bare writes")
    ingest.add_argument("--rows", type=int, default=2_000, help="written in each way (default 2000)")
    ingest.add_argument("--runs", type=int, default=100, help="measured single adds (default 100)")
    ingest.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    throughput = verbs.add_parser("throughput", help="requests a second beside a view that does nothing, and memory")
    throughput.add_argument("--rows", type=int, default=1000, help="memories in the space (default 1000)")
    throughput.add_argument("--callers", type=int, default=8, help="that ask at once (default 8)")
    throughput.add_argument("--seconds", type=float, default=20.0, help="of each kind of request (default 20)")
    throughput.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    extraction = verbs.add_parser("extraction", help="what the pipeline makes of labelled turns, as predictions")
    extraction.add_argument("labels", type=Path, metavar="LABELS")
    extraction.add_argument("--out", type=Path, required=True, metavar="PREDICTIONS")
    extraction.add_argument("--by-rule", action="store_true", help="print how often each rule is right")

    leakage = verbs.add_parser("leakage", help="attack what is stored of labelled sets: words, vectors, sizes")
    leakage.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one haystack a line, as JSON")
    leakage.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    isolation = verbs.add_parser("isolation", help="words and vectors of many tenants, asked for with no filter at all")
    isolation.add_argument("--tenants", type=int, default=20, help="that said the same (default 20)")
    isolation.add_argument("--texts", type=int, default=500, help="that each of them said (default 500)")
    isolation.add_argument("--hits", type=int, default=1_000_000, help="to see by words (default 1000000)")
    isolation.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    rotation = verbs.add_parser("rotation", help="a data key turns under load while workers are killed")
    rotation.add_argument("--rows", type=int, default=50_000, help="memories of the tenant (default 50000)")
    rotation.add_argument("--kills", type=int, default=100, help="of workers (default 100)")
    rotation.add_argument("--restarts", type=int, default=3, help="of the database, at once (default 3)")
    rotation.add_argument("--questions", type=int, default=500, help="asked at each quarter (default 500)")
    rotation.add_argument("--pace-rows", type=int, default=4_000, help="for the bare loop (default 4000; 0: none)")
    rotation.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    importing = verbs.add_parser("import", help="a file of records comes in while workers are killed")
    importing.add_argument("--records", type=int, default=100_000, help="in the file (default 100000)")
    importing.add_argument("--kills", type=int, default=5, help="of the workers (default 5)")
    importing.add_argument("--skip-embedding", action="store_true", help="do not wait for the vectors")
    importing.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    retype = verbs.add_parser("retype", help="memories get another type while others are added and asked for")
    retype.add_argument("--rows", type=int, default=20_000, help="memories of the tenant (default 20000)")
    retype.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    swept = verbs.add_parser("sweep", help="the retention takes out many memories while others are asked for")
    swept.add_argument("--rows", type=int, default=1_000_000, help="that are past their time (default 1000000)")
    swept.add_argument("--live", type=int, default=1000, help="in the space that is asked (default 1000)")
    swept.add_argument("--runs", type=int, default=200, help="recalls before and after (default 200)")
    swept.add_argument("--pause", type=float, default=1.0, help="as RETENTION_PAUSE (default 1.0)")
    swept.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    pages = verbs.add_parser("pages", help="every page for people, in a tenant that holds many memories")
    pages.add_argument("--rows", type=int, default=1_000_000, help="memories of the tenant (default 1000000)")
    pages.add_argument("--readable", type=int, default=10_000, help="of them in one space that opens (default 10000)")
    pages.add_argument("--audit-rows", type=int, default=100_000, help="of the tenant's trail (default 100000)")
    pages.add_argument("--runs", type=int, default=40, help="measured calls of each page (default 40)")
    pages.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to OUT")

    verbs.add_parser("receipts", help="how long the check of a receipt takes, in logs of different lengths")
    verbs.add_parser("columns", help="every column as sealed, keyed or plain: the table of docs/security.md")

    options = parser.parse_args(arguments)
    # Ended in the middle, what was started is still stopped: the default would leave a whole instance behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for file in getattr(options, "files", []):
        if not file.is_file():
            parser.error(f"{file} is not a file")
    if options.verb == "columns":
        from benchmarks.columns import markdown

        print(markdown())
        return 0
    if options.verb == "receipts":
        from benchmarks import receipts

        print(json.dumps(receipts.run(), indent=1))
        return 0
    if options.verb == "extraction":
        from benchmarks import extraction as extracting

        extracting.run(str(options.labels), str(options.out), by_rule=options.by_rule)
        return 0
    if options.verb == "rotation":
        return _rotation(options)
    if options.verb == "import":
        return _import(options)
    if options.verb == "retype":
        return _retype(options)
    with instance() as running:
        run = {
            "recall": _recall, "latency": _latency, "throughput": _throughput, "leakage": _leakage,
            "isolation": _isolation, "sweep": _sweep, "scale": _scale, "ingest": _ingest,
            "pages": _pages,
        }[options.verb]  # fmt: skip
        result = run(running, options)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    return 0


def _recall(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    # Imported once Django knows its databases.
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
        tables = recall.table(report)
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
        for name, value in figures.items():
            console.print(f"{name.replace('_', ' ')}: {value}", highlight=False)
        for unit, categories in tables.items():
            console.print(_scores_table(f"{unit}, {file.name}", categories))
        worth = recall.worth(report)
        if options.ablate:
            console.print(_figures_table(f"what each is worth, {file.name}", worth))
        result[file.name] = {**figures, "worth": worth, "scores": tables, "rankings": report.rows}
    return result


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
    table = Table(
        "what", "p50 ms", "p95 ms", title=f"{options.rows} memories in the {'sealed ' if options.sealed else ''}space"
    )
    for name, (median, slow) in result["milliseconds"].items():
        table.add_row(name, f"{median:.2f}", f"{slow:.2f}")
    console.print(table)
    for name, ratio in result["ratios"].items():
        console.print(f"{name}: {ratio:.2f}", highlight=False)
    return result


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _scale(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import scale

    result = scale.run(
        running, spaces=options.spaces, tables=sorted(options.tables), runs=options.runs, say=console.print
    )
    rows = [
        {name: f"{value[0]:.1f} ({value[1]:.1f})" if isinstance(value, tuple) else value for name, value in one.items()}
        for one in result["figures"]
    ]
    console.print(_figures_table("milliseconds, p50 (p95)", rows))
    console.print(f"growth of the p50, from the smallest tables to the largest: {result['growth of the p50']}")
    return result


def _ingest(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import ingest

    result = ingest.run(running, rows=options.rows, runs=options.runs)
    print(json.dumps(result, indent=1))
    return result


def _sweep(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import sweep

    result = sweep.run(running, rows=options.rows, live=options.live, runs=options.runs, pause=options.pause)
    for name, value in result.items():
        shown = f"p50 {value[0]:.1f} ms, p95 {value[1]:.1f} ms" if isinstance(value, tuple) else f"{value:,}"
        console.print(f"{name}: {shown}", highlight=False)
    return result


def _pages(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import pages

    result = pages.run(
        running, rows=options.rows, readable=options.readable, audit_rows=options.audit_rows, runs=options.runs,
        say=console.print,
    )  # fmt: skip
    print(f"{'page':<64}{'first ms':>10}{'p50':>8}{'p95':>8}{'statements':>12}{'kB':>8}")
    for one in result["pages"]:
        print(
            f"{one['page']:<64}{one['first']:>10}{one['p50']:>8}{one['p95']:>8}{one['statements']:>12}"
            f"{one['kilobytes']:>8}"
        )
    for name, reason in result["left out"].items():
        print(f"left out: {name}: {reason}")
    print(f"p95 above {pages.SLOW_MS:.0f} ms: {', '.join(result['slow']) or 'none'}")
    print(f"the first call alone: {', '.join(result['slow at first']) or 'none'}")
    return result


def _leakage(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import leakage

    started = datetime.now(UTC)
    report = asdict(leakage.run(options.files, find_tenant_scope(running.tenant), now=started))
    for name, rows in report.items():
        console.print(_figures_table(name, rows))
    seconds = (datetime.now(UTC) - started).total_seconds()
    console.print(f"{started.date()}, {seconds:.0f} s", highlight=False)
    return report


def _figures_table(title: str, rows: list[dict[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, title=title)
    for row in rows:
        table.add_row(*(_figure(row.get(name, "")) for name in names))
    return table


def _figure(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _isolation(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import isolation

    with superuser() as cursor:
        result = isolation.run(
            cursor, tenants=options.tenants, texts=options.texts, hits=options.hits, pairs=3000, queries=500,
            now=datetime.now(UTC),
        )  # fmt: skip
    print(json.dumps(result, indent=1))
    return result


def _throughput(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import throughput

    result = throughput.run(running, rows=options.rows, callers=options.callers, seconds=options.seconds)
    rates = Table("asked for", "a second", "of a view that does nothing")
    for name, rate in result["requests a second"].items():
        rates.add_row(name, f"{rate:,.1f}", f"{result['share of a view that does nothing'][name]:.1%}")
    console.print(rates)
    memory = Table("processes", "how many", "MiB in all", "MiB of the largest")
    for kind, of in result["MiB"].items():
        memory.add_row(kind, str(of["processes"]), f"{of['all']:,.0f}", f"{of['largest']:,.0f}")
    console.print(memory)
    print(json.dumps(result, indent=1))
    return result


def _rotation(options: argparse.Namespace) -> int:
    """The embedder without a model: what is measured is sealing, and 50,000 texts would take it half an hour."""
    with instance(EMBEDDER_BACKEND="apps.adapters.embedders.fake.FakeEmbedder", EMBEDDER_OPTIONS="{}") as running:
        from benchmarks import rotation

        result = rotation.run(
            running,
            rows=options.rows,
            kills=options.kills,
            restarts=options.restarts,
            pace_rows=options.pace_rows,
            questions=options.questions,
            say=console.print,
        )
    table = Table("measured", "figure")
    for name, figure in result.items():
        table.add_row(name, json.dumps(figure) if isinstance(figure, dict) else _figure(figure))
    console.print(table)
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    return 0 if result["is_good"] else 1


def _import(options: argparse.Namespace) -> int:
    with instance() as running:
        from benchmarks import importing

        result = importing.run(
            running,
            records=options.records,
            kills=options.kills,
            waits_for_vectors=not options.skip_embedding,
            say=console.print,
        )
    return _finished(result, options)


def _retype(options: argparse.Namespace) -> int:
    """The embedder without a model, as in ``_rotation``: no vector changes with a type."""
    with instance(EMBEDDER_BACKEND="apps.adapters.embedders.fake.FakeEmbedder", EMBEDDER_OPTIONS="{}") as running:
        from benchmarks import retyping

        result = retyping.run(running, rows=options.rows, say=console.print)
    return _finished(result, options)


def _finished(result: dict[str, Any], options: argparse.Namespace) -> int:
    table = Table("measured", "figure")
    for name, figure in result.items():
        table.add_row(name, _figure(figure))
    console.print(table)
    print(json.dumps(result))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    return 0 if result["is_good"] else 1


if __name__ == "__main__":
    sys.exit(main())
