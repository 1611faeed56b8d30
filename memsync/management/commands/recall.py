"""`memsync recall`: traces of recalls, what was weighed in them, and whether they would be answered the same today."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError
from django.utils import timezone
from rich.table import Table

from apps.projects.scope import Scope
from apps.recall.traces import ReplayResult, StoredTrace, list_traces, replay, replay_since
from memsync.management.plain import PlainCommand, add_json, add_tenant, scope_of

ABOUT = (
    "A trace contains IDs and numbers of one recall, and no text of the question or of memories. Traces are recorded "
    "only for the share RECALL_TRACE_SHARE of recalls, and deleted after RECALL_TRACE_DAYS."
)


class Command(PlainCommand):
    help = "List recall traces, show the scores of one, and replay them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|replay")
        every = verbs.add_parser("list", help="list traces", description=ABOUT)
        every.add_argument("--since", type=_moment, metavar="TIME", help="only later ones; ISO 8601, by default UTC")
        every.add_argument("--limit", type=int, default=50, metavar="N", help="at most this many (default: 50)")
        show = verbs.add_parser("show", help="show the scores of each memory in one recall", description=ABOUT)
        show.add_argument("query_id", type=_query_id, help="as in the response and in `memsync recall list`")
        again = verbs.add_parser(
            "replay",
            help="rank the recorded candidates again and compare",
            description=f"Rank the recorded candidates with this version and compare the order of the IDs. {ABOUT}",
        )
        which = again.add_mutually_exclusive_group(required=True)
        which.add_argument("query_id", type=_query_id, nargs="?", help="one recall")
        which.add_argument("--since", type=_moment, metavar="TIME", help="all since then; ISO 8601, by default UTC")
        for verb in (every, show, again):
            add_tenant(verb)
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = scope_of(options["tenant"])
        {"list": self.list, "show": self.show, "replay": self.replay}[options["verb"]](scope, options)

    def list(self, scope: Scope, options: dict[str, Any]) -> None:
        found = list_traces(scope, since=options["since"], limit=max(1, options["limit"]))
        if options["json"]:
            self.say_json([_listed(one) for one in found])
        elif not found:
            self.say("There are no traces. RECALL_TRACE_SHARE sets the share of recalls that are traced.")
        else:
            table = Table("query", "space", "profile", "when", box=None, pad_edge=False)
            for one in found:
                table.add_row(str(one.query_id), str(one.space_id), one.profile, f"{one.created_at:%Y-%m-%d %H:%M:%S}")
            self.say(table)

    def show(self, scope: Scope, options: dict[str, Any]) -> None:
        found = replay(scope, options["query_id"], now=timezone.now())
        if options["json"]:
            self.say_json([_shown(one) for one in found])
            return
        for one in found:
            factors = {ranked.id: ranked.factors for ranked in one.trace.replay()}
            table = Table("memory", "score", "legs", "factors", "since", title=f"space {one.kept.space_id}")
            for memory_id, score in zip(one.trace.ids, one.trace.scores, strict=True):
                legs = [name for name, ranking in one.trace.rankings.items() if memory_id in dict(ranking)]
                weighed = ", ".join(
                    f"{name} {value:.3f}" for name, value in factors.get(memory_id, {}).items() if value
                )
                table.add_row(
                    str(memory_id), f"{score:.4f}", " ".join(legs), weighed, one.became.get(memory_id, "as it was")
                )
            self.say(table)

    def replay(self, scope: Scope, options: dict[str, Any]) -> None:
        now = timezone.now()
        replayed: Iterable[ReplayResult] = (
            replay(scope, options["query_id"], now=now)
            if options["since"] is None
            else replay_since(scope, options["since"], now=now)
        )
        recalls, different = 0, []
        for one in replayed:
            recalls += 1
            if not one.is_same:
                different.append(_compared(one))
        if options["json"]:
            self.say_json({"replayed": recalls, "same": recalls - len(different), "different": different})
        else:
            self.say(f"Replayed {recalls}: {recalls - len(different)} in the same order.")
            for told in different:
                self.say(f"{told['query_id']}: {told['then']} then, {told['again']} today")
        if different:
            raise CommandError(f"{len(different)} of {recalls} would have another order.")


def _listed(one: StoredTrace) -> dict[str, Any]:
    return {
        "query_id": str(one.query_id),
        "space": one.space_id,
        "profile": one.profile,
        "at": one.created_at.isoformat(),
    }


def _compared(one: ReplayResult) -> dict[str, Any]:
    return _listed(one.kept) | {"then": list(one.trace.ids), "again": list(one.again)}


def _shown(one: ReplayResult) -> dict[str, Any]:
    factors = {ranked.id: dict(ranked.factors) for ranked in one.trace.replay()}
    return _compared(one) | {
        "legs": {name: [memory_id for memory_id, _ in ranking] for name, ranking in one.trace.rankings.items()},
        "legs_cut": list(one.trace.cut),
        "scores": list(one.trace.scores),
        "factors": {str(memory_id): factors.get(memory_id, {}) for memory_id in one.trace.ids},
        "became": {str(memory_id): what for memory_id, what in one.became.items()},
    }


def _query_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise ArgumentTypeError("not the id of a query") from error


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError("not a time in ISO 8601") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
