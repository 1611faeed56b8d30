"""The tenant itself: what it is called where, the rules that hold in it, and how its owners change them."""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.tenants.services import POLICIES, UnknownPolicy, set_policy
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

QUESTIONS: Final[Mapping[str, str]] = {  # what operators may is a page of its own
    "key_deletes": "What API keys may delete",
    "new_spaces": "How the memories of a new person are searched",
    "changes": "When another value of the same thing is said",
    "instructions": "When a text holds an instruction",
    "ai_extract": "Whether a language model may read what is said",
    "ai_rerank": "Whether a cross-encoder may read what was found",
    "require_second_factor": "Whose passkey or authenticator is asked for through the API",
}
# What changes with it, for the user who is about to.
THEN: Final[Mapping[str, Mapping[str, str]]] = {
    "key_deletes": {
        "deny": "Keys that hide memories today are refused from the next request on.",
        "retire": "A key with the scope memory:delete may then hide memories by itself. They can be brought back for"
        " seven days.",
    },
    "new_spaces": {
        "searchable": "It is for spaces that are made from now on. Those that are there stay as they are.",
        "sealed": "It is for spaces that are made from now on: nothing searchable is kept of them, and each search"
        " opens them whole. Those that are there stay as they are.",
    },
    "changes": {
        "replace": "It holds from the next thing that is said. What is disputed stays so until somebody decides.",
        "dispute": "It holds from the next thing that is said: both values are answered, disputed, until somebody"
        " decides.",
    },
    "instructions": {
        "style": "It holds from the next text: how a user wants to be answered takes effect when they say it. Whatever"
        " else tells an agent what to do waits for review.",
        "review": "It holds from the next text. What was remembered already stays.",
        "keep": "An instruction that somebody planted in a text is then obeyed without anybody having looked at it.",
    },
    "ai_extract": {
        "allow": "What your people say then leaves for whatever model the operator has named, other companies'"
        " included.",
        "self_hosted_only": "Nothing leaves for a model that the operator does not run themselves.",
        "deny": "What is said is then read by rules alone.",
    },
    "ai_rerank": {
        "allow": "Questions and what was found then leave for whatever model the operator has named, other companies'"
        " included.",
        "self_hosted_only": "Nothing leaves for a model that the operator does not run themselves.",
        "deny": "What is found is then ordered without a model.",
    },
    "require_second_factor": {
        "no": "Somebody without a passkey and without an authenticator then makes keys, webhooks and exports through"
        " the API with a password, shown again within ten minutes; with such a key one reads memories.",
        "yes": "Through the API nobody then makes keys, webhooks or exports with a password alone. People without a"
        " second factor add one here first.",
    },
}
LOOSER: Final = {
    ("key_deletes", "retire"),
    ("instructions", "style"),
    ("instructions", "keep"),
    ("ai_extract", "allow"),
    ("ai_rerank", "allow"),
    ("require_second_factor", "no"),
}


@in_tenant(AccessLevel.GRANTED, grant="settings:read")
def settings(request: HttpRequest, at: PageContext) -> HttpResponse:
    return show(
        request,
        "settings",
        at=at,
        place="settings",
        policies=[{"name": name, "question": QUESTIONS[name], "choices": _choices(at, name)} for name in QUESTIONS],
        may_change=at.reach.is_owner,
        knows_plan="billing:read" in at.scope.permissions,
    )


@in_tenant(AccessLevel.OWNER, methods="GET POST")
def change_rule(request: HttpRequest, at: PageContext) -> HttpResponse:
    """GET says what would change; POST changes it."""
    said = request.POST if request.method == "POST" else request.GET
    name, value = said.get("rule", ""), said.get("value", "")
    if value not in THEN.get(name, {}):
        raise UnknownPolicy
    if request.method == "POST":
        set_policy(at.reach.tenant, actor=at.scope.principal.label, now=at.now, **{name: value})
        messages.success(request, f"Set: {_words(name, value)}.")
        return HttpResponseRedirect(reverse("web_settings", args=[at.tenant]))
    return show(
        request,
        "change_rule",
        at=at,
        place="settings",
        name=name,
        value=value,
        question=QUESTIONS[name],
        before=_words(name, getattr(at.reach.tenant, name)),
        after=_words(name, value),
        then=THEN[name][value],
        is_looser=(name, value) in LOOSER,
    )


def _choices(at: PageContext, name: str) -> list[dict[str, Any]]:
    holds = getattr(at.reach.tenant, name)
    return [{"value": value, "words": words, "holds": value == holds} for value, words in POLICIES[name].choices]


def _words(name: str, value: str) -> str:
    return str(dict(POLICIES[name].choices)[value])
