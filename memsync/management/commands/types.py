"""`memsync types`: add, split and give up types of a tenant's own, and take their memories along."""

import json
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError
from django.utils import timezone
from rich.box import SIMPLE_HEAD
from rich.table import Table

from apps.core.broker import notify
from apps.core.slices import SliceOutcome
from apps.memories.phrase_rules import PhraseRule
from apps.memories.tenant_types import Registry, read_registry
from apps.memories.type_fields import TypeField
from apps.memories.types import TYPES
from apps.memory_types import change_worker, type_changes
from apps.memory_types.models import AT_WORK, ChangeState, TypeChange
from apps.memory_types.tasks import tend_types
from apps.memory_types.type_changes import Definition, Planned
from apps.projects.scope import Scope
from memsync.management.plain import PlainCommand, add_json, add_tenant, duration, scope_of

TURN_SECONDS: Final = 1.0  # seconds between updates of the progress bar
PAUSE_SECONDS: Final = 0.3  # seconds between updates while a worker does the work
MOST_SAMPLES: Final = 100
TELLING: Final = (
    "Memories are identified by phrases (--words, whole words in any case, `*` for any ending, `#` for a number), by "
    "the prefix of their key (--key-prefix), or by a file of rules, each with a name, words, unless and key_prefix."
)


class Command(PlainCommand):
    help = "Add, split and retire a tenant's custom memory types, and migrate their memories."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|add|split|sunset|status|resume|undo")
        show = verbs.add_parser(
            "list",
            help="list all types with their definitions and counts",
            description="List all types with their definitions and counts.",
        )
        add = verbs.add_parser(
            "add",
            help="add a type and move matching memories to it",
            description=f"Add a type and move matching memories to it. {TELLING}",
        )
        split = verbs.add_parser(
            "split",
            help="move a part of other types' memories to a type",
            description=f"Move a part of other types' memories to a type, which may be built-in or new. {TELLING}",
        )
        end = verbs.add_parser(
            "sunset",
            help="retire a type: its memories and new ones get another type",
            description="Retire a custom type: its memories and new ones get another type.",
        )
        status = verbs.add_parser("status", help="show changes and their progress",
                                  description="Show changes of types and their progress.")  # fmt: skip
        resume = verbs.add_parser(
            "resume",
            help="work on a running change until it is done",
            description="Work on a running change until it is done. Workers continue by themselves.",
        )
        undo = verbs.add_parser(
            "undo",
            help="undo a change: memories not changed since are reverted",
            description="Undo a change: memories not changed since are reverted.",
        )
        for verb in (add, split):
            verb.add_argument("name", help="lower-case letters, digits and underscores")
            _add_definition(verb)
            _add_telling(verb)
        add.add_argument(
            "--from", dest="sources", type=_names, default=(), metavar="TYPES",
            help="source types (default: all except summary and reference)",
        )  # fmt: skip
        split.add_argument("--from", dest="sources", type=_names, required=True, metavar="TYPES", help="source types")
        end.add_argument("name", help="the type to retire")
        end.add_argument("--into", required=True, metavar="TYPE", help="the new type of its memories")
        for verb in (add, split, end):
            verb.add_argument("--dry-run", action="store_true", help="only show the effect, with a sample")
            verb.add_argument(
                "--sample", type=int, default=10, metavar="N", help="sample size; shows IDs and types only"
            )
        resume.add_argument("change", type=int, nargs="?", help="its number (default: the newest)")
        undo.add_argument("change", type=int, help="its number, as `memsync types status` shows it")
        undo.add_argument("--dry-run", action="store_true", help="only count the memories")
        for verb in (add, split, end, undo):
            verb.add_argument("--wait", action="store_true", help="work in this process too and return when done")
        for verb in (show, add, split, end, status, resume, undo):
            add_tenant(verb)
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = scope_of(options["tenant"])
        verbs = {
            "list": self.list, "add": self.add, "split": self.split, "sunset": self.sunset, "status": self.status,
            "resume": self.resume, "undo": self.undo,
        }  # fmt: skip
        verbs[options["verb"]](scope, options)

    # -- lists --------------------------------------------------------------------------------------------------------

    def list(self, scope: Scope, options: dict[str, Any]) -> None:
        registry, counts = read_registry(scope), type_changes.count_by_type(scope)
        found = [_type_told(registry, name, counts.get(name, 0)) for name in (*TYPES, *registry.own)]
        if options["json"]:
            self.say_json(found)
            return
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in ("type", "whose", "slot", "half-life", "prior", "kept for", "memories"):
            table.add_column(
                column,
                justify="right" if column in ("half-life", "prior", "memories") else "left",
                no_wrap=column in ("type", "whose"),
            )
        for one in found:
            whose = (
                "built in" if one["built_in"] else f"sunset into {one['replaced_by']}" if one["replaced_by"] else "own"
            )
            table.add_row(
                one["name"], whose, one["slot"] or "none", f"{one['half_life_days']:g} d", f"{one['prior']:.2f}",
                f"{one['ttl_seconds']:,} s" if one["ttl_seconds"] else "", f"{one['memories']:,}",
            )  # fmt: skip
        self.say(table)

    def status(self, scope: Scope, options: dict[str, Any]) -> None:
        changes = type_changes.list_changes(scope)
        if options["json"]:
            self.say_json([_told(scope, change) for change in changes])
            return
        if not changes:
            self.say(f"The types of [bold]{scope.tenant.name}[/bold] were never changed.")
            return
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in ("change", "what", "state", "looked at", "changed", "taken", "broken", "restored", "kept"):
            table.add_column(
                column, justify="left" if column in ("what", "state") else "right", no_wrap=column == "what"
            )
        for one in changes:
            table.add_row(
                str(one.pk), f"{one.kind} {_what(one)}", one.state, f"{one.rows_seen:,} of {one.rows_total:,}",
                *(f"{count:,}" for count in (one.rows_changed, one.rows_taken, one.rows_broken, one.rows_restored,
                                             one.rows_kept)),
            )  # fmt: skip
        self.say(table)

    # -- changes -------------------------------------------------------------------------------------------------------

    def add(self, scope: Scope, options: dict[str, Any]) -> None:
        definition, wordings = _definition(options), _wordings(options)
        planned = type_changes.plan_addition(scope, options["name"], definition, wordings, sources=options["sources"])
        self._carry_out(scope, planned, options)

    def split(self, scope: Scope, options: dict[str, Any]) -> None:
        definition, wordings = _definition(options), _wordings(options)
        planned = type_changes.plan_split(scope, options["name"], definition, wordings, sources=options["sources"])
        self._carry_out(scope, planned, options)

    def sunset(self, scope: Scope, options: dict[str, Any]) -> None:
        self._carry_out(scope, type_changes.plan_sunset(scope, options["name"], options["into"]), options)

    def _carry_out(self, scope: Scope, planned: Planned, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            self._preview(scope, planned, options)
            return
        self._see_through(scope, type_changes.commit(scope, planned, now=timezone.now()), options)

    def _preview(self, scope: Scope, planned: Planned, options: dict[str, Any]) -> None:
        with self.bar(options) as bar:
            total = type_changes.count_eligible(scope, planned.sources, planned.kind)
            line = bar.add_task(scope.tenant.name, total=max(1, total))
            found = change_worker.preview(
                scope, planned, most=max(0, min(MOST_SAMPLES, options["sample"])),
                progress=lambda seen: bar.update(line, completed=seen), now=timezone.now(),
            )  # fmt: skip
        if options["json"]:
            self.say_json({"tenant": scope.tenant.name} | found.describe())
            return
        self.say(
            f"Of {found.seen:,} memories {found.changed:,} would become [bold]{planned.type.name}[/bold]; of "
            f"{found.taken:,} more another memory has the place; {found.broken:,} do not open."
        )
        if found.fields:
            filled = ", ".join(f"{name} {count:,}" for name, count in found.fields.items())
            self.say(f"Values found in their texts: {filled}.")
        if not found.sample:
            return
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in ("memory", "space", "is", "becomes", "by rule", "has a key"):
            table.add_column(column, justify="right" if column in ("memory", "space") else "left")
        for one in found.sample:
            table.add_row(
                str(one.memory_id), str(one.space_id), one.was, one.becomes, one.wording, "yes" if one.has_key else ""
            )
        self.say(table)

    def resume(self, scope: Scope, options: dict[str, Any]) -> None:
        change = type_changes.get_change(scope, options["change"])
        self._see_through(scope, change, options | {"wait": True})

    def undo(self, scope: Scope, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            count = type_changes.count_to_undo(scope, type_changes.get_change(scope, options["change"]))
            if options["json"]:
                self.say_json({"tenant": scope.tenant.name, "change": options["change"], "rows": count})
            else:
                self.say(f"{count:,} memories would be as before, except those changed since.")
            return
        self._see_through(scope, type_changes.ask_to_undo(scope, options["change"], now=timezone.now()), options)

    def _see_through(self, scope: Scope, change: TypeChange, options: dict[str, Any]) -> None:
        if change.state in AT_WORK and options["wait"]:
            self._work(scope, change, options)
        elif change.state in AT_WORK:
            notify(tend_types)
        if options["json"]:
            self.say_json(_told(scope, change))
        else:
            self.say(_sentence(scope, change))

    def _work(self, scope: Scope, change: TypeChange, options: dict[str, Any]) -> None:
        """Work on the change until it is finished, beside or instead of a worker."""
        with self.bar(options) as bar:
            total = (
                type_changes.count_to_undo(scope, change) if change.state == ChangeState.UNDOING else change.rows_total
            )
            line = bar.add_task(scope.tenant.name, total=max(1, total))
            while change.state in AT_WORK:
                outcome = change_worker.work(change.pk, seconds=TURN_SECONDS, clock=timezone.now)
                change.refresh_from_db()
                is_undone = change.state in (ChangeState.UNDOING, ChangeState.UNDONE)
                bar.update(line, completed=change.rows_restored + change.rows_kept if is_undone else change.rows_seen)
                if outcome == SliceOutcome.BUSY:
                    time.sleep(PAUSE_SECONDS)


def _add_definition(verb: ArgumentParser) -> None:
    verb.add_argument("--like", default="", metavar="TYPE", help="default values from this type")
    verb.add_argument(
        "--slot", choices=type_changes.SLOTS, default="inherit",
        help="share the slots of --like, have slots of its own, or accumulate (default: inherit)",
    )  # fmt: skip
    verb.add_argument("--half-life", type=float, metavar="DAYS", help="of its freshness")
    verb.add_argument("--prior", type=float, metavar="T", help="0 to 0.2: what the type adds to confidence")
    verb.add_argument("--ttl", type=duration, metavar="TIME", help="lifetime of new memories: 90d, 12h")
    verb.add_argument(
        "--field", dest="fields", type=_field, action="append", default=[], metavar="NAME:KIND[:required]",
        help="a field of its memories: text, number, boolean or date; may be repeated",
    )  # fmt: skip
    verb.add_argument("--fields", dest="fields_file", type=Path, metavar="FILE", help="a JSON list of fields")


def _add_telling(verb: ArgumentParser) -> None:
    verb.add_argument("--words", type=_names, default=(), metavar="PHRASES", help="separated by commas")
    verb.add_argument("--unless", type=_names, default=(), metavar="PHRASES", help="phrases that exclude a memory")
    verb.add_argument("--key-prefix", default="", metavar="KEY", help="as user.medication.")
    verb.add_argument("--rules", type=Path, metavar="FILE", help="a JSON list of rules, tried in order")


def _names(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _definition(options: dict[str, Any]) -> Definition:
    return Definition(
        parent=options["like"], slot=options["slot"], prior=options["prior"], half_life_days=options["half_life"],
        ttl=options["ttl"], fields=[*options["fields"], *_fields_in(options["fields_file"])],
    )  # fmt: skip


def _wordings(options: dict[str, Any]) -> Sequence[PhraseRule]:
    given = _from_file(options["rules"]) if options["rules"] else []
    if options["words"] or options["key_prefix"]:
        given.append(_wording("words", options["words"], options["unless"], options["key_prefix"]))
    return given


def _field(text: str) -> TypeField:
    name, _, rest = text.partition(":")
    kind, _, required = rest.partition(":")
    if required not in ("", "required"):
        raise ArgumentTypeError("write NAME:KIND or NAME:KIND:required")
    return TypeField(name=name, kind=kind, required=bool(required))


def _fields_in(path: Path | None) -> list[TypeField]:
    if path is None:
        return []
    try:
        return [TypeField.read(one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise CommandError(f"{path}: is no list of fields ({type(error).__name__}).", returncode=2) from None


def _from_file(path: Path) -> list[PhraseRule]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return [
            _wording(
                str(one.get("name", f"rule {number}"))[:32], one.get("words", ()), one.get("unless", ()),
                str(one.get("key_prefix", "")),
            )
            for number, one in enumerate(found, start=1)
        ]  # fmt: skip
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise CommandError(f"{path}: is no list of rules ({type(error).__name__}).", returncode=2) from None


def _wording(name: str, words: Sequence[str], unless: Sequence[str], key_prefix: str) -> PhraseRule:
    return PhraseRule(
        name=name, type="", sources=(), words=tuple(map(str, words)), unless=tuple(map(str, unless)),
        key_prefix=key_prefix,
    )  # fmt: skip


def _type_told(registry: Registry, name: str, memories: int) -> dict[str, Any]:
    return registry.describe(name) | {"memories": memories}


def _told(scope: Scope, one: TypeChange) -> dict[str, Any]:
    return {"tenant": scope.tenant.name, "change": one.pk} | type_changes.describe(one)


def _what(one: TypeChange) -> str:
    return f"{', '.join(one.sources)} into {one.type}" if one.kind == "sunset" else one.type


def _sentence(scope: Scope, one: TypeChange) -> str:
    name = f"[bold]{scope.tenant.name}[/bold]"
    if one.state == ChangeState.UNDONE:
        return f"{name}: {one.rows_restored:,} memories are as before; {one.rows_kept:,} were changed since."
    if one.state == ChangeState.DONE:
        taken = f" {one.rows_taken:,} stay what they are: another memory has their place." if one.rows_taken else ""
        broken = f" [red]{one.rows_broken:,} do not open.[/red]" if one.rows_broken else ""
        return f"{name}: {one.rows_changed:,} of {one.rows_seen:,} memories are {one.type} now.{taken}{broken}"
    return (
        f"{name}: change {one.pk} holds for what is written from now on; {one.rows_total:,} memories are looked at in "
        "the background. `memsync types status` shows how far it is."
    )
