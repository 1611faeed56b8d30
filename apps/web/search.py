"""Search a space as the API does, with an explanation of each result's rank."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from apps.console.charts import bars
from apps.console.memory_list import hide, labels_of
from apps.console.space_list import owner_of
from apps.core.plaintext import Plaintext
from apps.projects.scope import Scope
from apps.recall.profiles import PROFILES
from apps.recall.results import Filters, Hit
from apps.recall.retrieval import RETRIEVERS
from apps.recall.services import recall
from apps.web.memories import find, revealed
from apps.web.memory_filters import day_of, end_of
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

HITS: Final = 10
LONGEST_QUESTION: Final = 2_000
LONGEST_ADDRESS: Final = 3_500  # characters; a request line has at most 4,094 bytes
FIELDS: Final = ("q", "type", "as_of", "profile")
DEPTH: Final = 2
# Names of the score's parts, as in docs/recall.
LEG_NAMES: Final = {"dense": "meaning", "lexical": "keywords", "slot": "expected answer", "temporal": "time",
                    "entity": "entities", "graph": "relations", "rerank": "reranker"}  # fmt: skip


@in_tenant(AccessLevel.READER, methods="GET POST")
def search(request: HttpRequest, at: PageContext, space_id: int) -> HttpResponse:
    """GET shows the search form or searches; POST redirects to a GET with an encrypted query, because it must not be
    readable in a URL.  A query too long for a URL is answered at once."""
    scope = find(at, space_id)
    if request.method == "POST":
        query = {name: request.POST.get(name, "").strip()[:LONGEST_QUESTION] for name in FIELDS}
        day_of(query["as_of"])
        address = f"{reverse('web_search', args=[at.tenant, space_id])}?{urlencode({'with': hide(scope, query)})}"
        if query["q"] and len(address) <= LONGEST_ADDRESS:
            return HttpResponseRedirect(address)
    else:
        query = revealed(scope, request.GET.get("with", ""))
    asked, type_, profile = (query.get(name, "") for name in ("q", "type", "profile"))
    day = day_of(query.get("as_of"))
    types, _ = labels_of(scope)
    said: dict[str, Any] = {"asked": asked, "day": day, "type": type_, "profile": profile}
    if asked:
        said |= _found(
            scope, at, asked, Filters(types=[type_] if type_ else (), as_of=end_of(day) if day else None), profile
        )
    return show(
        request,
        "search",
        at=at,
        place="spaces",
        part="search",
        environment=scope.environment,
        owner=owner_of(scope),
        space=scope.space,
        types=sorted({*types, type_} - {""}),
        profiles=PROFILES,
        today=at.now.date(),
        **said,
    )


def _found(scope: Scope, at: PageContext, asked: str, filters: Filters, profile: str) -> dict[str, Any]:
    answer = recall(
        scope,
        Plaintext(asked),
        filters=filters,
        limit=HITS,
        depth=DEPTH,
        profile=profile if profile in PROFILES else None,
        now=at.now,
    )
    ran = set(answer.legs)
    return {
        "answer": answer,
        "hits": [_explained(place, hit) for place, hit in enumerate(answer.hits, start=1)],
        "legs": [
            {"name": LEG_NAMES.get(name, name), "ran": name in ran, "cut": name in answer.legs_cut}
            for name in (*(one.name for one in RETRIEVERS), *(one for one in ("graph", "rerank") if one in ran))
        ],
    }


def _explained(place: int, hit: Hit) -> dict[str, Any]:
    """factors: the non-zero ones, largest first; they sum to the score."""
    factors = sorted(hit.explanation.factors.items(), key=lambda one: (-abs(one[1]), one[0]))
    return {
        "place": place,
        "hit": hit,
        "bars": bars({name: amount for name, amount in factors if abs(amount) >= 0.00005}),
        "total": sum(hit.explanation.factors.values()),
        "legs": [
            {"name": LEG_NAMES.get(name, name), "rank": found["rank"], "score": found["score"]}
            for name, found in hit.explanation.legs.items()
        ],
    }
