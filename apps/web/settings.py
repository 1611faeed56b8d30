"""The tenant itself: what it is called where, the rules that hold in it, and how they are changed."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse

from apps.tenants.services import POLICIES
from apps.web.pages import At, Need, in_tenant, show

QUESTIONS: Final[Mapping[str, str]] = {
    "key_deletes": "What API keys may delete",
    "new_spaces": "How the memories of a new person are searched",
    "changes": "When another value of the same thing is said",
    "instructions": "When a text holds an instruction",
    "ai_extract": "Whether a language model may read what is said",
    "ai_rerank": "Whether a cross-encoder may read what was found",
}


@in_tenant(Need.GRANTED, grant="settings:read")
def settings(request: HttpRequest, at: At) -> HttpResponse:
    tenant = at.reach.tenant
    return show(
        request,
        "settings",
        at=at,
        place="settings",
        policies=[
            {
                "name": name,
                "question": QUESTIONS[name],
                "choices": [
                    {"value": value, "words": words, "holds": value == getattr(tenant, name)}
                    for value, words in choices.choices
                ],
            }
            for name, choices in POLICIES.items()
            if name in QUESTIONS  # what operators may is for its owners to set, on a page of its own
        ],
        knows_plan="billing:read" in at.scope.permissions,
    )
