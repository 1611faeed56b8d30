"""`memsync retention`: what is kept for how long, what goes next and why, and what a legal hold keeps."""

from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from apps.erasure.legal_holds import hold, lift, list_holds
from apps.erasure.models import Hold
from apps.memories.spaces import list_spaces
from apps.policies.retention import (
    BOUNDS,
    MEANINGS,
    RULES,
    InForce,
    Level,
    in_force,
    in_words,
    set_policy,
    value_of,
    wanted,
    word_of,
)
from apps.projects.scope import Scope
from apps.projects.selectors import SpaceNotFound, get_project
from apps.retention.previewing import Leaving, PolicyChange, preview, preview_change
from apps.retention.retention_sweep import Swept, sweep
from memsync.management.plain import PlainCommand, add_json, add_tenant, duration, scope_of


class Command(PlainCommand):
    help = "Show and set retention rules, preview removals, and manage legal holds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="show|set|preview|run|holds|hold|lift")
        show = verbs.add_parser(
            "show", help="show the rules in force", description="Show each rule in force and its level."
        )
        change = verbs.add_parser(
            "set",
            help="set rules of the tenant, of a project or of a space",
            description="Set rules of the tenant, or of one project or space of it. The strictest rule wins.",
        )
        look = verbs.add_parser(
            "preview", help="show upcoming removals and their reasons", description="Changes nothing."
        )
        run = verbs.add_parser(
            "run",
            help="archive and delete now what is due",
            description="Archive and delete now what is due, and wait for it.",
        )
        held = verbs.add_parser("holds", help="list legal holds", description="List legal holds.")
        begin = verbs.add_parser(
            "hold",
            help="protect a tenant, project, space or memory from deletion",
            description="Protect the tenant, or a project, space or memory of it, from every deletion.",
        )
        end = verbs.add_parser("lift", help="end a legal hold", description="End a legal hold.")
        for name, meaning in MEANINGS.items():
            change.add_argument(
                f"--{name.replace('_', '-')}", metavar="N" if name in BOUNDS else "WORD",
                help=f"{meaning} ({wanted(name)})",
            )  # fmt: skip
        change.add_argument("--loosen", action="store_true", help="also if this keeps more than before")
        change.add_argument("--dry-run", action="store_true", help="show the resulting policy and removals")
        for verb in (show, change, begin):
            which = verb.add_mutually_exclusive_group()
            which.add_argument("--project", metavar="ID", help="of this project (`proj_…`)")
            which.add_argument("--space", type=int, metavar="ID", help="of this space (`memsync space list`)")
            if verb is begin:
                which.add_argument("--memory", type=int, metavar="ID", help="of this memory")
        begin.add_argument("--case", required=True, help="reference of the case; no names")
        look.add_argument(
            "--within", type=duration, default=timedelta(days=30), help="how far ahead to look (default: 30d)"
        )
        held.add_argument("--all", action="store_true", help="include lifted holds")
        end.add_argument("hold", type=int, help="its number, as `memsync retention holds` shows it")
        for verb in (show, change, look, run, held, begin, end):
            add_tenant(verb)
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = scope_of(options["tenant"])
        verbs = {
            "show": self.show, "set": self.set, "preview": self.preview, "run": self.run_now, "holds": self.holds,
            "hold": self.hold, "lift": self.lift,
        }  # fmt: skip
        verbs[options["verb"]](scope, options)

    def show(self, scope: Scope, options: dict[str, Any]) -> None:
        level, target_id = _target(scope, options)
        rules = in_force(
            scope,
            project_id=target_id if level == Level.PROJECT else None,
            space_ids=[target_id] if level == Level.SPACE else [],
        )
        if options["json"]:
            self.say_json([_told_rule(one) for one in rules.values()])
            return
        self.say(in_words(rules))
        table = _table("rule", "value", "set by", "what it limits")
        for one in rules.values():
            table.add_row(one.rule, _value(one), _whose(one.level, one.target_id), MEANINGS[one.rule])
        self.say(table)

    def set(self, scope: Scope, options: dict[str, Any]) -> None:
        level, target_id = _target(scope, options)
        rules = {name: value_of(name, options[name]) for name in RULES if options[name] is not None}
        if options["dry_run"]:
            change = preview_change(scope, level, target_id, rules, loosens=options["loosen"], now=timezone.now())
            self._show_change(change, rules, as_json=options["json"])
            return
        policy = set_policy(scope, level, target_id, rules, loosens=options["loosen"], now=timezone.now())
        if options["json"]:
            said = {name: word_of(name, value) for name, value in policy.rules.items()}
            names = ("level", "target_id", "revision")
            self.say_json({name: getattr(policy, name) for name in names} | {"rules": said})
        else:
            self.say(f"The policy of {_whose(level, target_id)} is at revision {policy.revision}.")

    def _show_change(self, change: PolicyChange, rules: Iterable[str], *, as_json: bool) -> None:
        if as_json:
            after = [_told_rule(one) for one in change.after.values()]
            self.say_json({"rules": after, "going": [asdict(one) for one in change.going]})
            return
        table = _table("rule", "holds now", "would hold")
        for name in rules:
            table.add_row(name, _value(change.before[name]), _value(change.after[name]))
        self.say(table)
        table = _table("when", "step", "memories now", "memories then")
        for one in change.going:
            for step, count in one.before.items():
                when = f"within {one.days} days" if one.days else "with the next run"
                table.add_row(when, step, f"{count:,}", f"{one.after[step]:,}")
        self.say(table)

    def preview(self, scope: Scope, options: dict[str, Any]) -> None:
        now = timezone.now()
        found = preview(scope, until=now + options["within"], now=now)
        if options["json"]:
            self.say_json([asdict(one) | {"day": one.day.isoformat()} for one in found])
            return
        if not found:
            self.say(f"Nothing of {scope.tenant.name} goes until then.")
            return
        table = _table("day (UTC)", "memories", "next step", "rule", "set by")
        for one in found:
            table.add_row(
                one.day.isoformat(), f"{one.count:,}", _step(one), _rule(one), _whose(one.level, one.target_id)
            )
        self.say(table)

    def run_now(self, scope: Scope, options: dict[str, Any]) -> None:
        console = Console(stderr=True)
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), console=console, disable=options["json"], transient=True
        ) as bar:
            at = bar.add_task("looking for what is due")
            done = sweep(scope, now=timezone.now(), told=lambda swept: bar.update(at, description=_counts(swept)))
        if options["json"]:
            self.say_json(asdict(done))
        else:
            self.say(f"{_counts(done)}.")

    def holds(self, scope: Scope, options: dict[str, Any]) -> None:
        found = list_holds(scope, lifted=options["all"])
        if options["json"]:
            self.say_json([_told(one) for one in found])
            return
        if not found:
            self.say(f"Nothing of {scope.tenant.name} is held.")
            return
        table = _table("hold", "what", "case", "since", "set by", "lifted")
        for one in found:
            told = _told(one)
            table.add_row(
                str(one.pk), _whose(one.level, told["target_id"]), one.case, f"{one.created_at:%Y-%m-%d %H:%M} UTC",
                one.set_by, f"{one.lifted_at:%Y-%m-%d %H:%M} UTC" if one.lifted_at else "",
            )  # fmt: skip
        self.say(table)

    def hold(self, scope: Scope, options: dict[str, Any]) -> None:
        level, target_id = _target(scope, options)
        row = hold(scope, level, target_id, case=options["case"], now=timezone.now())
        if options["json"]:
            self.say_json(_told(row))
        else:
            self.say(f"Hold {row.pk} keeps {_whose(level, target_id)} from being deleted until it is lifted.")

    def lift(self, scope: Scope, options: dict[str, Any]) -> None:
        count = lift(scope, options["hold"], now=timezone.now())
        if options["json"]:
            self.say_json({"hold": options["hold"], "memories": count})
        else:
            self.say(f"Hold {options['hold']} is lifted; nothing holds {count:,} memories any more.")


def _target(scope: Scope, options: dict[str, Any]) -> tuple[Level, int]:
    if options["project"]:
        return Level.PROJECT, get_project(scope, options["project"]).pk
    if options["space"] is not None:
        if options["space"] not in {space.pk for space in list_spaces(scope)}:
            raise SpaceNotFound
        return Level.SPACE, options["space"]
    if options.get("memory") is not None:
        return Level.MEMORY, options["memory"]
    return Level.TENANT, 0


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False)


def _whose(level: str, target_id: int | None) -> str:
    return f"{level} {target_id}" if target_id else f"the {level}" if level == Level.TENANT else level


def _value(one: InForce) -> str:
    return "no limit" if one.value is None else f"{one.word:,}" if isinstance(one.word, int) else str(one.word)


def _told_rule(one: InForce) -> dict[str, Any]:
    return asdict(one) | {"value": one.limit, "said": one.word}


def _step(one: Leaving) -> str:
    return f"held by a legal hold; else {one.step}" if one.is_held else one.step


def _rule(one: Leaving) -> str:
    return one.rule if one.value is None else f"{one.rule} = {one.value:,}"


def _counts(done: Swept) -> str:
    return f"{done.archived:,} archived, {done.deleted:,} deleted, {done.purged:,} permanently deleted"


def _told(row: Hold) -> dict[str, Any]:
    return {
        "id": row.pk,
        "level": row.level,
        "target_id": row.project_id or row.space_id or row.memory_id,
        "case": row.case,
        "set_at": row.created_at.isoformat(),
        "set_by": row.set_by,
        "lifted_at": row.lifted_at.isoformat() if row.lifted_at else None,
        "lifted_by": row.lifted_by or None,
    }
