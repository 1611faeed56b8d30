"""Sub-commands of `python -m benchmarks`: each runs one benchmark, prints its figures and returns them.

Each imports its benchmark in the function: Django is set up only once an instance runs.
"""

import argparse
import json
import statistics
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from benchmarks.instance import Instance, superuser
from benchmarks.tables import aside, console, figures_table, say_figures, scores_table


def run_recall(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
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
        say_figures(figures)
        for unit, categories in tables.items():
            console.print(scores_table(f"{unit}, {file.name}", categories))
        console.print(figures_table(f"all of it, {file.name}, in percent", worth if options.ablate else worth[:1]))
        result[file.name] = {**figures, "worth": worth, "scores": tables, "rankings": report.rows}
    return result


def run_lives(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import lives

    result = lives.run(find_tenant_scope(running.tenant), now=datetime.now(UTC))
    console.print_json(json.dumps(result))
    return result


def run_bystanders(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import bystanders

    scope = find_tenant_scope(running.tenant)
    return say_figures(bystanders.run(scope, limit=options.pairs, now=datetime.now(UTC), say=aside.print))


def run_latency(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import latency

    result = latency.run(running, rows=options.rows, runs=options.runs, is_sealed=options.sealed, kind=options.kind)
    console.print(f"{options.rows} memories ({options.kind}) in the {'sealed ' if options.sealed else ''}space")
    say_figures(result["milliseconds"] | result["ratios"])
    return result


def run_typed(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import typed

    result = typed.run(running, runs=options.runs)
    say_figures(result["milliseconds"] | result["ratios"])
    return result


def run_tools(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import tools

    result = tools.run(running, runs=options.runs)
    say_figures(result["milliseconds"] | result["ratios"])
    return result


def run_scale(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import scale

    result = scale.run(
        running, spaces=options.spaces, tables=sorted(options.tables), runs=options.runs, say=aside.print
    )
    console.print(figures_table("milliseconds, p50 (p95)", result["figures"]))
    console.print(f"growth of the p50, from the smallest tables to the largest: {result['growth of the p50']}")
    return result


def run_ingest(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import ingest

    return say_figures(ingest.run(running, rows=options.rows, runs=options.runs))


def run_sweep(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import sweep

    return say_figures(sweep.run(running, rows=options.rows, live=options.live, runs=options.runs, pause=options.pause))


def run_pages(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import pages

    result = pages.run(
        running, rows=options.rows, readable=options.readable, audit_rows=options.audit_rows, runs=options.runs,
        say=aside.print,
    )  # fmt: skip
    console.print(figures_table("milliseconds", result["pages"]))
    for name, reason in result["left out"].items():
        console.print(f"left out: {name}: {reason}")
    console.print(f"p95 above {pages.SLOW_MS:.0f} ms: {', '.join(result['slow']) or 'none'}")
    console.print(f"the first call alone: {', '.join(result['slow at first']) or 'none'}")
    return result


def run_leakage(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from apps.projects.system import find_tenant_scope
    from benchmarks import leakage

    started = datetime.now(UTC)
    report = asdict(leakage.run(options.files, find_tenant_scope(running.tenant), now=started))
    for name, rows in report.items():
        console.print(figures_table(name, rows))
    seconds = (datetime.now(UTC) - started).total_seconds()
    console.print(f"{started.date()}, {seconds:.0f} s", highlight=False)
    return report


def run_isolation(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import isolation

    with superuser() as cursor:
        result = isolation.run(
            cursor, tenants=options.tenants, texts=options.texts, hits=options.hits, pairs=3000, queries=500,
            now=datetime.now(UTC),
        )  # fmt: skip
    return say_figures(result)


def run_throughput(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import throughput

    return say_figures(throughput.run(running, rows=options.rows, callers=options.callers, seconds=options.seconds))


def run_rotation(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import rotation

    return say_figures(
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


def run_import(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import importing

    return say_figures(
        importing.run(
            running,
            records=options.records,
            kills=options.kills,
            waits_for_vectors=not options.skip_embedding,
            say=aside.print,
        )
    )


def run_outbox(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import outbox

    return say_figures(
        outbox.run(
            running, options.file, runs=options.runs, records=options.records, kills=options.kills, say=aside.print
        )
    )


def run_retype(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import retyping

    return say_figures(retyping.run(running, rows=options.rows, say=aside.print))


def run_residue(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import residue

    return say_figures(residue.run(running, people=options.people))


def run_abuse(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import abuse

    return say_figures(abuse.run(running, seconds=options.seconds, say=aside.print))


def run_listeners(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import listeners

    return say_figures(
        listeners.run(
            running,
            listeners=options.listeners,
            of_all=options.of_all,
            rate=options.rate,
            seconds=options.seconds,
            reconnects=options.reconnects,
            say=aside.print,
        )
    )


def run_extraction(options: argparse.Namespace) -> None:
    from benchmarks import extraction

    extraction.run(str(options.labels), str(options.out), by_rule=options.by_rule, rules_alone=options.rules_alone)


def run_reading(running: Instance, options: argparse.Namespace) -> dict[str, Any]:
    from benchmarks import reading

    return say_figures(
        reading.run(texts=options.texts, seed=options.seed, processes=options.processes, say=aside.print)
    )


def run_receipts(options: argparse.Namespace) -> list[dict[str, Any]]:
    from benchmarks import receipts

    result = receipts.run()
    console.print(figures_table("milliseconds to check a receipt", result))
    return result


def run_columns(options: argparse.Namespace) -> None:
    from benchmarks.columns import markdown

    print(markdown())
