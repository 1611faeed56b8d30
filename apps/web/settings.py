"""Settings of the tenant: its names, the policies in force, and how owners change them."""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from apps.tenants.services import POLICIES, UnknownPolicy, set_policy
from apps.web.pages import AccessLevel, PageContext, in_tenant, show

QUESTIONS: Final[Mapping[str, str]] = {  # the policy for operators has its own page
    "key_deletes": "What API keys may delete",
    "new_spaces": "How memories of new end users are searched",
    "changes": "When a new value contradicts a stored one",
    "instructions": "When a text contains an instruction",
    "session_summaries": "When sessions are summarized",
    "ai_extract": "Whether a language model may read input",
    "ai_rerank": "Whether a cross-encoder may read results",
    "require_second_factor": "Who needs a second factor to confirm API actions",
}
# The effect of each value, shown before the change.
THEN: Final[Mapping[str, Mapping[str, str]]] = {
    "key_deletes": {
        "deny": "API keys can no longer delete memories from the next request on.",
        "retire": "A key with the scope memory:delete can then soft-delete memories without a person. They can be"
        " restored for seven days.",
    },
    "new_spaces": {
        "searchable": "Applies to new spaces. Existing spaces do not change.",
        "sealed": "Applies to new spaces: no index data is stored for them, and each search decrypts the whole space."
        " Existing spaces do not change.",
    },
    "changes": {
        "replace": "Applies to new input. Existing disputes stay open until a reviewer decides.",
        "dispute": "Applies to new input: answers contain both values, marked as disputed, until a reviewer decides.",
    },
    "instructions": {
        "style": "Applies to new input: a user's wishes about the style of answers take effect at once, and what"
        " may be such a wish is stored as a preference. All other instructions to an agent are held for review.",
        "review": "Applies to new input. Stored memories do not change.",
        "keep": "An instruction planted in a text then takes effect without review.",
    },
    "session_summaries": {
        "off": "Sessions are then summarized only when a caller asks. Existing summaries stay.",
        "on": "Stored turns are not recalled, but their summaries are: a key with memory:read can then read sentences"
        " of turns.",
    },
    "ai_extract": {
        "allow": "Input of your end users is then sent to any model the operator has configured, including third-party"
        " models.",
        "self_hosted_only": "Nothing is sent to a model that the operator does not host.",
        "deny": "Input is then processed by rules only.",
    },
    "ai_rerank": {
        "allow": "Questions and results are then sent to any model the operator has configured, including third-party"
        " models.",
        "self_hosted_only": "Nothing is sent to a model that the operator does not host.",
        "deny": "Results are then ranked without a model.",
    },
    "require_second_factor": {
        "no": "A user without a passkey or authenticator can then create keys, webhooks and exports through the API"
        " after entering their password again within ten minutes. Such a key can read memories.",
        "yes": "A password alone then no longer suffices to create keys, webhooks or exports through the API. Users"
        " without a second factor have to add one here first.",
    },
}
LOOSER: Final = {
    ("key_deletes", "retire"),
    ("instructions", "style"),
    ("instructions", "keep"),
    ("session_summaries", "on"),
    ("ai_extract", "allow"),
    ("ai_rerank", "allow"),
    ("require_second_factor", "no"),
}
LABELS: Final = {  # in place of the model's labels
    ("changes", "dispute"): "Keep both values as disputed until a reviewer decides",
    ("ai_extract", "allow"): "Any model that the operator has configured",
    ("ai_extract", "self_hosted_only"): "Only a model that the operator hosts",
    ("ai_extract", "deny"): "No model",
    ("ai_rerank", "allow"): "Any model that the operator has configured",
    ("ai_rerank", "self_hosted_only"): "Only a model that the operator hosts",
    ("ai_rerank", "deny"): "No model",
    ("require_second_factor", "no"): "Users who have one; others enter their password again",
    ("require_second_factor", "yes"): "Everyone",
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
    """GET shows the effect of the change; POST applies it."""
    said = request.POST if request.method == "POST" else request.GET
    name, value = said.get("rule", ""), said.get("value", "")
    if value not in THEN.get(name, {}):
        raise UnknownPolicy
    if request.method == "POST":
        set_policy(at.reach.tenant, actor=at.scope.principal.label, now=at.now, **{name: value})
        messages.success(request, f"Changed to: {_words(name, value)}.")
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
    return [{"value": value, "words": _words(name, value), "holds": value == holds} for value in POLICIES[name].values]


def _words(name: str, value: str) -> str:
    return LABELS.get((name, value)) or str(dict(POLICIES[name].choices)[value])
