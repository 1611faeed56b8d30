"""The review queue: pending candidates, and the decisions on them."""

from collections.abc import Mapping
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from apps.console.space_list import owners_of
from apps.core.errors import DomainError
from apps.core.plaintext import Plaintext
from apps.ingest.review import (
    STATES,
    NotUndoable,
    ReviewFilter,
    ReviewPage,
    ReviewVerdict,
    decide_all,
    list_candidates,
    list_undoable,
    undo,
)
from apps.projects.scope import Environment
from apps.web.environments import FIRST, environment_of, inside
from apps.web.memories import following
from apps.web.memory_filters import FilterRefused, id_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

PAGE: Final = 20
PENDING: Final = ReviewFilter.of(status=STATES[0], reason=None)
LONGEST_TEXT: Final = 8_000
WHY: Final = {
    "low_confidence": "the extraction is uncertain",
    "instruction": "it looks like an instruction to the assistant",
    "less_trusted": "it would replace a memory from a more trusted source",
    "policy": "a rule of this tenant requires review",
}


@in_tenant(AccessLevel.READER)
def review(request: HttpRequest, at: PageContext) -> HttpResponse:
    return _show(request, at, state=_state(request.GET.get("state")), before=id_of(request.GET.get("before")))


@in_tenant(AccessLevel.DECIDER, methods="POST")
def decide_candidates(request: HttpRequest, at: PageContext) -> HttpResponse:
    """Decide candidates.

    accept, refuse: the id of one candidate.  word: the id of one candidate, accepted with the text of its field.  all:
    ``accept`` or ``refuse``, for all selected candidates.  What was edited and not accepted is shown again.
    """
    environment = environment_of(request, at)
    scope, before = inside(at, environment), id_of(request.POST.get("before"))
    ids, verdict = _verdict(request)
    edits = _edits(request, list_candidates(scope, PENDING, before=before, limit=PAGE, now=at.now))
    unclear = [one for one in ids if one in edits] if verdict.accept and "word" not in request.POST else []
    if unclear or ("word" in request.POST and verdict.text is None):
        for one in unclear:
            messages.error(request, f"Candidate {one}: its text was edited. Accept the edited text, or restore it.")
        if not unclear:
            messages.error(request, f"Candidate {ids[0]}: the text is empty. Write one, or reject the candidate.")
        return _show(request, at, before=before, edits=edits, status=422)
    if not ids:
        messages.warning(request, "Nothing is selected.")
    refusals: dict[str, list[int]] = {}
    for one, found in decide_all(scope, ids, verdict, now=at.now):
        if isinstance(found, DomainError):
            refusals.setdefault(found.message, []).append(one)
        else:
            edits.pop(one, None)
    refused = [one for some in refusals.values() for one in some]
    if len(ids) > len(refused):
        word = "accepted and stored" if verdict.accept else "rejected"
        messages.success(request, f"{len(ids) - len(refused)} {word}. You can undo this for ten minutes.")
    for message, some in refusals.items():
        messages.error(request, f"Candidate {', '.join(map(str, some))} was not decided: {message}")
    if edits:
        return _show(request, at, before=before, edits=edits, status=422 if refused else 200)
    return _back(at, environment)


@in_tenant(AccessLevel.DECIDER, methods="POST")
def undo_candidate(request: HttpRequest, at: PageContext, candidate_id: int) -> HttpResponse:
    environment = environment_of(request, at)
    try:
        undo(inside(at, environment), candidate_id, now=at.now)
    except NotUndoable as error:
        messages.error(request, f"Candidate {candidate_id}: {error.message}")
    else:
        messages.success(request, "Undone: the candidate is pending again.")
    return _back(at, environment)


def _show(
    request: HttpRequest,
    at: PageContext,
    *,
    state: str = STATES[0],
    before: int | None,
    edits: Mapping[int, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of candidates.  edits: texts that were typed for candidates and not accepted, by id."""
    environment = environment_of(request, at)
    scope = inside(at, environment)
    found = list_candidates(scope, ReviewFilter.of(status=state, reason=None), before=before, limit=PAGE, now=at.now)
    undoable = list_undoable(scope, now=at.now) if at.reach.may_delete else []
    owners = owners_of(scope, [one.space for one in (*found.candidates, *undoable)])
    query = urlencode({"environment": environment.value, "state": state})
    return show(
        request,
        "review",
        status=status,
        at=at,
        place="review",
        environment=environment,
        environments=FIRST,
        state=state,
        states=STATES,
        found=[
            {
                "one": one,
                "owner": owners[one.space.id],
                "why": WHY.get(one.reason, one.reason),
                "edit": (edits or {}).get(one.id),
            }
            for one in found.candidates
        ],
        undoable=[{"one": one, "owner": owners[one.space.id]} for one in undoable],
        before=before,
        next_query=following(query, found.next_before),
    )


def _edits(request: HttpRequest, shown: ReviewPage) -> dict[int, str]:
    """The texts of the form that differ from those of their candidates, by id."""
    edits = {}
    for one in shown.candidates:
        text = request.POST.get(f"text-{one.id}")
        if text is not None and one.text is not None and text.split() != one.text.reveal().split():
            edits[one.id] = text
    return edits


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
