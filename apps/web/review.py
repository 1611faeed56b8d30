"""The review queue: pending candidates, and the decisions on them."""

from collections import Counter
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from apps.console.space_list import owners_of
from apps.core.errors import DomainError
from apps.core.plaintext import Plaintext
from apps.ingest.review import STATES, ReviewFilter, ReviewVerdict, decide_all, list_candidates, list_undoable, undo
from apps.projects.scope import Environment
from apps.web.environments import FIRST, environment_of, inside
from apps.web.memories import following
from apps.web.memory_filters import FilterRefused, id_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

PAGE: Final = 20
LONGEST_TEXT: Final = 8_000
WHY: Final = {
    "low_confidence": "the extraction is uncertain",
    "instruction": "it looks like an instruction to the assistant",
    "less_trusted": "it would replace a memory from a more trusted source",
    "policy": "a rule of this tenant requires review",
}


@in_tenant(AccessLevel.READER)
def review(request: HttpRequest, at: PageContext) -> HttpResponse:
    environment = environment_of(request, at)
    scope = inside(at, environment)
    state = _state(request.GET.get("state"))
    before = id_of(request.GET.get("before"))
    found = list_candidates(scope, ReviewFilter.of(status=state, reason=None), before=before, limit=PAGE, now=at.now)
    undoable = list_undoable(scope, now=at.now) if at.reach.may_delete else []
    owners = owners_of(scope, [one.space for one in (*found.candidates, *undoable)])
    query = urlencode({"environment": environment.value, "state": state})
    return show(
        request,
        "review",
        at=at,
        place="review",
        environment=environment,
        environments=FIRST,
        state=state,
        states=STATES,
        found=[
            {"one": one, "owner": owners[one.space.id], "why": WHY.get(one.reason, one.reason)}
            for one in found.candidates
        ],
        undoable=[{"one": one, "owner": owners[one.space.id]} for one in undoable],
        before=before,
        next_query=following(query, found.next_before),
    )


@in_tenant(AccessLevel.DECIDER, methods="POST")
def decide_candidates(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Decide candidates.

    accept, refuse: the id of one candidate.  word: the id of one candidate, accepted with the text of its field.  all:
    ``accept`` or ``refuse``, for all selected candidates.
    """
    environment = environment_of(request, at)
    ids, verdict = _verdict(request)
    if not ids:
        messages.warning(request, "Nothing is selected.")
    results = decide_all(inside(at, environment), ids, verdict, now=at.now)
    refusals = Counter(found.message for _, found in results if isinstance(found, DomainError))
    done = len(results) - refusals.total()
    if done:
        word = "accepted and stored" if verdict.accept else "rejected"
        messages.success(request, f"{done} {word}. You can undo this for ten minutes.")
    for message, count in refusals.items():
        messages.error(request, f"{count} not decided: {message}")
    return _back(at, environment)


@in_tenant(AccessLevel.DECIDER, methods="POST")
def undo_candidate(request: HttpRequest, at: PageContext, candidate_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    undo(inside(at, environment), candidate_id, now=at.now)
    messages.success(request, "Undone: the candidate is pending again.")
    return _back(at, environment)


def _verdict(request: HttpRequest) -> tuple[list[int], ReviewVerdict]:
    """Raises FilterRefused."""
    said = request.POST
    for name in ("accept", "refuse", "word"):
        if name in said:
            candidate_id = id_of(said[name]) or 0
            text = said.get(f"text-{candidate_id}", "").strip()[:LONGEST_TEXT] if name == "word" else ""
            worded = Plaintext(text) if text else None
            return [candidate_id], ReviewVerdict(accept=name != "refuse", text=worded, can_be_undone=True)
    if said.get("all") not in ("accept", "refuse"):
        raise FilterRefused
    ids = [id_of(one) or 0 for one in said.getlist("id")[:PAGE]]
    return ids, ReviewVerdict(accept=said["all"] == "accept", can_be_undone=True)


def _state(said: str | None) -> str:
    return said if said in STATES else STATES[0]


def _back(at: PageContext, environment: Environment) -> HttpResponse:
    query = urlencode({"environment": environment.value})
    return HttpResponseRedirect(f"{reverse('web_review', args=[at.tenant])}?{query}")
