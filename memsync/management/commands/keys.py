"""`memsync keys`: rotate, watch, rewrap and destroy the keys that memories are encrypted under."""

import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.box import SIMPLE_HEAD
from rich.table import Table

from apps.core.broker import notify
from apps.core.slices import SliceOutcome
from apps.crypto import lifecycle
from apps.crypto.models import KeyKind
from apps.key_management import binding, keys, rotation, scheduler
from apps.key_management.models import OPEN, KeyRotation, RotationState
from apps.key_management.tasks import tend
from apps.projects.scope import Scope
from apps.projects.selectors import scope_in
from apps.tenants.selectors import list_tenants
from memsync.management.plain import PlainCommand, add_json, add_tenant, operator, scope_of

TURN_SECONDS = 1.0  # seconds between updates of the progress bar
MOST_SHOWN = 100
PAUSE_SECONDS = 0.3  # seconds between updates while workers do the work
COLOURS = {"active": "green", "pending": "cyan", "read_only": "yellow", "retired": "dim", "destroyed": "dim red"}


class Command(PlainCommand):
    help = "Rotate, watch, rewrap and destroy the keys that memories are encrypted under."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="rotate|status|rewrap|destroy|bind")
        turn = verbs.add_parser(
            "rotate",
            help="encrypt under a new key, and re-encrypt existing rows in the background",
            description="Encrypt new data under a new key, and re-encrypt existing rows in the background. The service "
            "keeps running; the old key stays readable for 30 days.",
        )
        whose = turn.add_mutually_exclusive_group()
        whose.add_argument("--tenant", metavar="NAME", help="the tenant (optional if there is only one tenant)")
        whose.add_argument("--all", action="store_true", help="the keys of all open tenants, one after the other")
        turn.add_argument("--reason", default="asked for", help="for the audit trail; at most 64 characters")
        turn.add_argument(
            "--compromised",
            action="store_true",
            help="the key may be compromised: replace the identity key too, and retire the old ones once no row uses "
            "them. Tokens and vectors in existing copies of the database stay readable with the old key.",
        )
        turn.add_argument("--wait", action="store_true", help="work in this process too and return when done")
        turn.add_argument("--dry-run", action="store_true", help="only count the rows")
        show = verbs.add_parser("status", help="show key versions, rows under each, and running rotations",
                                description="Show key versions, rows under each, and running rotations.")  # fmt: skip
        show.add_argument("--tenant", metavar="NAME", help="only this tenant's")
        wrap = verbs.add_parser(
            "rewrap",
            help="rewrap every key under the key provider's current version; memories do not change",
            description="Rewrap every key of every tenant and of the deployment under the key provider's current "
            "version. Memories do not change. An interrupted run continues when started again.",
        )
        wrap.add_argument("--dry-run", action="store_true", help="only count the keys")
        end = verbs.add_parser(
            "destroy",
            help="destroy a retired key: data under it in any backup can never be decrypted again",
            description="Destroy a retired key. Data encrypted under it, in any backup, can never be decrypted again.",
        )
        end.add_argument("version", type=int, help="as `memsync keys status` shows it")
        add_tenant(end)
        end.add_argument("--identity", action="store_true", help="a version of the identity key, not of the data key")
        end.add_argument(
            "--despite-rows",
            action="store_true",
            help="the owner of the data consents to losing the rows under it; then a compromised key need not be "
            "retired first",
        )
        end.add_argument("--yes", action="store_true", help="do not ask")
        bind = verbs.add_parser(
            "bind",
            help="accept rows that fail their hash: restored keys, roles, tenants and users",
            description="API keys, roles, tenants and users whose rows the service did not write are refused. This "
            "lists and accepts them, after a restore or an interrupted upgrade. "
            "Inspect each; someone with access to the database wrote it.",
        )
        bind.add_argument("rows", nargs="*", metavar="KIND:ID", help="only these, such as api_key:12")
        bind.add_argument("--dry-run", action="store_true", help="only list them")
        bind.add_argument("--yes", action="store_true", help="do not ask")
        for verb in (turn, show, wrap, end, bind):
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {
            "rotate": self.rotate,
            "status": self.status,
            "rewrap": self.rewrap,
            "destroy": self.destroy,
            "bind": self.bind,
        }
        verbs[options["verb"]](options)

    # -- rotate --------------------------------------------------------------------------------------------------------

    def rotate(self, options: dict[str, Any]) -> None:
        if len(options["reason"]) > 64:
            raise CommandError("--reason takes at most 64 characters.", returncode=2)
        scopes = _open_scopes() if options["all"] else [scope_of(options["tenant"])]
        if options["dry_run"]:
            self._say_what_it_would_take(scopes, options)
            return
        answers = []
        for scope in scopes:
            one = rotation.rotate(
                scope, reason=options["reason"], is_compromise=options["compromised"], now=timezone.now()
            )
            if options["wait"]:
                self._see_it_through(scope, one, options)
            else:
                notify(tend)
            one.refresh_from_db()
            answers.append(_told(scope, one))
            if not options["json"]:
                self.say(_sentence(scope, one))
        if options["json"]:
            self.say_json(answers if options["all"] else answers[0])

    def _say_what_it_would_take(self, scopes: list[Scope], options: dict[str, Any]) -> None:
        found = {scope.tenant.name: sum(keys.status(scope, now=timezone.now()).rows.values()) for scope in scopes}
        if options["json"]:
            self.say_json({"rows": found})
        for name, rows in found.items() if not options["json"] else ():
            self.say(f"[bold]{name}[/bold]: {rows:,} rows would be re-encrypted.")

    def _see_it_through(self, scope: Scope, one: KeyRotation, options: dict[str, Any]) -> None:
        """Work on the rotation until it is finished, beside any running workers."""
        with self.bar(options) as bar:
            line = bar.add_task(scope.tenant.name, total=max(1, one.rows_total))
            while True:
                workers = scheduler.workers_for(one, now=timezone.now())
                outcome = rotation.work(one.pk, seconds=TURN_SECONDS, workers=workers, clock=timezone.now)
                one.refresh_from_db()
                bar.update(line, completed=one.rows_done + one.rows_quarantined, total=max(1, one.rows_total))
                if outcome == SliceOutcome.OVER:
                    bar.update(line, completed=max(1, one.rows_total))
                    return
                if outcome == SliceOutcome.BUSY:
                    time.sleep(PAUSE_SECONDS)

    # -- status --------------------------------------------------------------------------------------------------------

    def status(self, options: dict[str, Any]) -> None:
        now = timezone.now()
        scopes = [scope_of(options["tenant"])] if options["tenant"] else _open_scopes()
        found = [(scope, keys.status(scope, now=now)) for scope in scopes]
        if options["json"]:
            self.say_json([_described(scope, status) for scope, status in found])
            return
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for column in ("tenant", "key", "version", "state", "age", "rows", "sealed about", "wrapped by"):
            table.add_column(
                column, justify="right" if column in ("version", "rows", "age", "sealed about") else "left"
            )
        for scope, status in found:
            for number, key in enumerate(status.keys):
                is_root = key.kind == KeyKind.ROOT
                table.add_row(
                    scope.tenant.name if number == 0 else "",
                    "data" if is_root else "identity",
                    str(key.version),
                    f"[{COLOURS[key.state]}]{key.state}[/{COLOURS[key.state]}]{_until(key)}",
                    _age(key.activated_at or key.created_at, now=now),
                    f"{status.rows.get(key.version, 0):,}" if is_root else "",
                    f"{key.seals:,}" if is_root else "",
                    key.kek_version,
                )
        self.say(table)
        for scope, status in found:
            for line in _remarks(scope, status):
                self.say(line)

    # -- rewrap and destroy --------------------------------------------------------------------------------------------

    def rewrap(self, options: dict[str, Any]) -> None:
        total = lifecycle.rewrap(dry_run=True).done
        version = lifecycle.kek_version()
        if options["dry_run"]:
            if options["json"]:
                self.say_json({"to": version, "behind": total})
            else:
                self.say(f"{total:,} keys would be rewrapped under version {version}.")
            return
        with self.bar(options) as bar:
            line = bar.add_task("keys", total=max(1, total))
            rewrapped = keys.rewrap(
                operator(), progress=lambda done: bar.update(line, completed=done), now=timezone.now()
            )
        if options["json"]:
            self.say_json({"to": version, "done": rewrapped.done, "failed": rewrapped.failed})
        else:
            self.say(f"{rewrapped.done:,} keys are wrapped under version {version} of the provider's key.")
        if rewrapped.failed:
            raise CommandError(
                f"{rewrapped.failed:,} keys cannot be unwrapped and were not changed; the log names them."
            )

    def destroy(self, options: dict[str, Any]) -> None:
        scope, version = scope_of(options["tenant"]), options["version"]
        kind = KeyKind.IDENTITY if options["identity"] else KeyKind.ROOT
        if not options["yes"] and not self._is_sure(scope, version, kind):
            raise CommandError("Nothing was destroyed.")
        keys.destroy(scope, version, kind=kind, despite_rows=options["despite_rows"], now=timezone.now())
        if options["json"]:
            self.say_json({"tenant": scope.tenant.name, "kind": kind.value, "version": version, "state": "destroyed"})
        else:
            self.say(f"Version {version} of [bold]{scope.tenant.name}[/bold] is destroyed.")

    # -- bind ----------------------------------------------------------------------------------------------------------

    def bind(self, options: dict[str, Any]) -> None:
        found = {one.name: one for one in binding.list_unbound()}
        names = options["rows"] or list(found)
        if not options["json"]:
            self._show_unbound([found[name] for name in names if name in found])
        if options["dry_run"] or not names:
            bound = 0
        elif not options["yes"] and not self._is_meant(len(names)):
            raise CommandError("Nothing was bound.")
        else:
            bound = binding.bind_again(operator(), names, now=timezone.now())
        if options["json"]:
            rows = [{"row": name, "is_new": found[name].is_new, "says": found[name].says} for name in found]
            self.say_json({"failing": rows, "bound": bound})
        elif not options["dry_run"]:
            self.say(f"{bound:,} rows were accepted." if names else "All rows are valid.")

    def _show_unbound(self, rows: list[binding.Unbound]) -> None:
        for one in rows[:MOST_SHOWN]:
            says = " ".join(f"{name}={value}" for name, value in one.says.items())
            self.say(f"[bold]{one.name}[/bold] {'without a hash' if one.is_new else '[red]changed[/red]'}: {says}")
        if len(rows) > MOST_SHOWN:
            self.say(f"… and {len(rows) - MOST_SHOWN:,} more; --json lists all.")

    def _is_meant(self, count: int) -> bool:
        self.stderr.write(f"{count:,} rows will be accepted. Type bind to continue: ")
        try:
            return input().strip() == "bind"
        except EOFError:
            return False

    def _is_sure(self, scope: Scope, version: int, kind: KeyKind) -> bool:
        rows = keys.count_under(scope, version, kind=kind)
        what = "spaces" if kind == KeyKind.IDENTITY else "rows"
        self.stderr.write(
            f"Version {version} of {scope.tenant.name} will never open anything again. {rows:,} {what} are under it "
            "here, and whatever older backups hold. Type the tenant's name to go on:"
        )
        try:
            return input().strip() == scope.tenant.name
        except EOFError:
            return False


def _open_scopes() -> list[Scope]:
    return [scope_in(tenant, principal=operator()) for tenant in list_tenants() if not tenant.closed_at]


def _told(scope: Scope, one: KeyRotation) -> dict[str, Any]:
    return {
        "tenant": scope.tenant.name,
        "rotation": one.pk,
        "state": one.state,
        "from": one.from_version,
        "to": one.to_version,
        "identity_to": one.identity_to,
        "rows_total": one.rows_total,
        "rows_done": one.rows_done,
        "rows_quarantined": one.rows_quarantined,
    }


def _described(scope: Scope, status: keys.KeyStatus) -> dict[str, Any]:
    progress = status.progress
    return {
        "tenant": scope.tenant.name,
        "active": status.active_version,
        "live": list(status.live_versions),
        "compromised": status.is_compromised,
        "rows": {str(version): rows for version, rows in status.rows.items()},
        "quarantined": status.quarantined,
        "keys": [
            {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(key).items()}
            for key in status.keys
        ],
        "rotation": _told(scope, progress.rotation) | {"left": progress.left, "seconds_left": progress.seconds_left}
        if progress
        else None,
    }


def _sentence(scope: Scope, one: KeyRotation) -> str:
    if one.state == RotationState.DONE:
        return f"[bold]{scope.tenant.name}[/bold]: {one.rows_done:,} rows are under version {one.to_version}." + (
            f" [red]{one.rows_quarantined:,} rows could not be decrypted and are in quarantine.[/red]"
            if one.rows_quarantined
            else ""
        )
    return (
        f"[bold]{scope.tenant.name}[/bold] seals under version {one.to_version} from now on; {one.rows_total:,} rows "
        "follow in the background. `memsync keys status` shows how far they are."
    )


def _remarks(scope: Scope, status: keys.KeyStatus) -> Iterator[str]:
    name, progress = scope.tenant.name, status.progress
    if progress and progress.rotation.state in OPEN:
        ends = f", about {_duration(progress.seconds_left)} to go" if progress.seconds_left is not None else ""
        one = progress.rotation
        yield f"{name}: {one.rows_done:,} of {one.rows_total:,} rows are under version {one.to_version}{ends}."
    if status.is_compromised:
        yield f"[red]{name}: an earlier key is compromised and not yet retired.[/red]"
    if status.quarantined:
        yield f"[red]{name}: {status.quarantined:,} rows cannot be decrypted and are in quarantine.[/red]"


def _until(key: lifecycle.KeyFacts) -> str:
    at = key.read_only_until if key.state == "read_only" else None
    return f" until {at:%Y-%m-%d}" if at else ""


def _age(since: datetime, *, now: datetime) -> str:
    days = (now - since).days
    return f"{days} d" if days else "today"


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes else f"{int(seconds) + 1} s"
