"""Latency of every page for people, and of the operators' admin, over HTTP in a tenant with many memories.

Routes come from the URL configuration: one that is not requested is listed with the reason.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from django.contrib import admin
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.web import urls
from benchmarks.browser import Browser, asks_for_step_up
from benchmarks.full_tenant import Filled, fill_tenant
from benchmarks.instance import Instance

SLOW_MS: Final = 200.0
HERE: Final = "environment=development"

# Query strings to request in addition to the bare URL.
QUERIES: Final[Mapping[str, Sequence[str]]] = {
    "web_tenant": (HERE,),
    "web_spaces": (HERE, f"{HERE}&before=400"),
    "web_review": (HERE, f"{HERE}&state=rejected"),
    "web_memories": ("", "status=replaced", "type=event", "source=nothing-has-this", "as_of=2026-06-01"),
    "web_memory": ("", "as_of=2026-06-01"),
    "web_graph": ("", "of=memories"),
    "web_delete_many": ("source=chat",),
    "web_requests": ("", "state=all"),
    "web_audit": ("", "action=memory.", "action=nothing.", "actor=account:1", "before=500"),
    "web_retention": ("", "space={space_id}"),
    "web_change_retention": ("level=tenant&active_days=60",),
    "web_preview_retention": (f"{HERE}&days=7", f"{HERE}&days=90"),
    "web_webhooks": (HERE,),
    "web_webhook": (HERE, f"{HERE}&state=dead_letter"),
    "web_new_webhook": (HERE,),
    "web_exports": (HERE,),
    "web_new_export": (HERE,),
    "web_export": (HERE,),
}
# Forms whose response page reads much data.
POSTS: Final[Mapping[str, Mapping[str, str]]] = {
    "web_search": {"q": "Who repaired the station clock before the harvest?"},
    "web_check_audit": {"again": "yes"},
}
OF_NOBODY: Final = frozenset({"account_login"})
OF_OPERATORS: Final = frozenset({"web_break_glass", "web_break_glass_ask", "web_break_glass_approve"})
REASONS: Final[Mapping[str, str]] = {
    "mfa_authenticate": "stands between the password and the code, once in each signing in",
    "mfa_login_webauthn": "answers a script, with a challenge for a passkey",
    "mfa_remove_webauthn": "needs a passkey, which needs a browser",
    "mfa_activate_totp": "leads to the account where there is an authenticator",
    "account_inactive": "says 403, to a user whose account is disabled",
    "mfa_view_recovery_codes": "shows codes once, when they were made",
}
ADMIN_LOOKS_FOR: Final = ("", "q=17")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page to request.  whose: key of the browser to use.  data: of a form."""

    name: str
    address: str
    whose: str = "owner"
    data: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Milliseconds over HTTP. first: the first call, which p50 and p95 exclude.

    statements: SQL statements, including those that begin and end transactions and set the tenant.
    """

    page: str
    status: int
    first: float
    p50: float
    p95: float
    statements: int
    kilobytes: float


def run(
    running: Instance, *, rows: int, readable: int, audit_rows: int, runs: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Figures of each page, slowest first; pages slower than SLOW_MS; routes not requested, with the reason."""
    filled = fill_tenant(running, rows=rows, readable=readable, audit_rows=audit_rows, say=say)
    began = time.perf_counter()
    left_out: dict[str, str] = {}
    figures: list[Figure] = []
    with ExitStack() as stack:
        browsers = _browsers(running, filled, stack)
        for page in [*_console(filled, left_out), *_admin(filled)]:
            measured = _measure(browsers[page.whose], page, runs)
            if isinstance(measured, str):
                left_out[page.name] = measured
            else:
                figures.append(measured)
    figures.sort(key=lambda one: -one.p95)
    measured_names = {one.page.split()[0] for one in figures}
    return {
        "rows": rows,
        "readable": readable,
        "audit rows": audit_rows,
        "runs": runs,
        "seconds": filled.seconds | {"measuring": round(time.perf_counter() - began, 1)},
        "pages": [asdict(one) for one in figures],
        "slow": [one.page for one in figures if one.p95 > SLOW_MS],
        "slow at first": [one.page for one in figures if one.first > SLOW_MS >= one.p95],
        "left out": {name: why for name, why in left_out.items() if name not in measured_names},
    }


def _browsers(running: Instance, filled: Filled, stack: ExitStack) -> dict[str, Browser]:
    owner = stack.enter_context(Browser(running.url, seed=filled.owner.seed))
    owner.sign_in(filled.owner.user.email, filled.owner.password)
    owner.step_up()
    operator = stack.enter_context(Browser(running.url, seed=filled.operator.seed))
    operator.sign_in(filled.operator.user.email, filled.operator.password)
    operator.step_up()
    return {"owner": owner, "operator": operator, "nobody": stack.enter_context(Browser(running.url))}


def _console(filled: Filled, left_out: dict[str, str]) -> Iterator[Page]:
    """Pages of every route of the console; routes that cannot be requested go into left_out."""
    seen: dict[str, str] = {}
    for pattern in urls.urlpatterns:
        name = str(pattern.name)
        if name in REASONS:
            left_out[name] = REASONS[name]
            continue
        ids = filled.ids | ({"grant_id": filled.waiting_grant} if name.endswith(("_approve", "_allow")) else {})
        missing = set(pattern.pattern.converters) - set(ids)
        if missing:
            left_out[name] = f"nothing was made for {', '.join(sorted(missing))}"
            continue
        address = reverse(name, kwargs={part: ids[part] for part in pattern.pattern.converters})
        if seen.setdefault(address, name) != name:
            left_out[name] = f"is the page of {seen[address]}"
            continue
        whose = "operator" if name in OF_OPERATORS else "nobody" if name in OF_NOBODY else "owner"
        for query in QUERIES.get(name, ("",)):
            said = query.format(**ids)
            yield Page(name=name, address=f"{address}?{said}" if said else address, whose=whose)
        if name in POSTS:
            yield Page(name=name, address=address, data=POSTS[name])


def _admin(filled: Filled) -> Iterator[Page]:
    """The index, every list, a search in each, and the pages of a tenant, a space and a memory."""
    yield Page(name="admin:index", address=reverse("admin:index"), whose="operator")
    for model, page in sorted(admin.site._registry.items(), key=lambda one: one[0]._meta.label):
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        for query in ADMIN_LOOKS_FOR[: 2 if page.search_fields else 1]:
            address = reverse(name)
            yield Page(name=name, address=f"{address}?{query}" if query else address, whose="operator")
    for name, part in (
        ("tenants_tenant", "tenant_id"),
        ("projects_space", "space_id"),
        ("memories_memory", "memory_id"),
    ):
        address = reverse(f"admin:{name}_change", args=[filled.ids[part]])
        yield Page(name=f"admin:{name}_change", address=address, whose="operator")


def _measure(browser: Browser, page: Page, runs: int) -> Figure | str:
    """The figures of a page, or the reason why there are none."""
    first = browser.get(page.address) if page.data is None else _ask(browser, page)
    if page.data is None and first.status_code == 405:
        return "takes forms alone"
    if first.is_redirect:
        return f"leads to {urlsplit(first.headers['Location']).path}"
    if first.status_code != 200:
        return f"answered {first.status_code}: there is nothing to see there, or it is a fault"
    times: list[float] = []
    while len(times) < runs:
        began = time.perf_counter()
        answer = _ask(browser, page)
        took = (time.perf_counter() - began) * 1000
        if asks_for_step_up(answer):  # the last step-up was five minutes ago
            browser.step_up()
        elif answer.status_code != 200:
            return f"answered {answer.status_code} after {len(times)} times"
        else:
            times.append(took)
    return Figure(
        page=" ".join(filter(None, [page.name, urlsplit(page.address).query, "(a form)" if page.data else ""])),
        status=first.status_code,
        first=round(first.elapsed.total_seconds() * 1000, 1),
        p50=round(statistics.median(times), 1),
        p95=round(statistics.quantiles(times, n=20)[-1], 1) if runs > 1 else round(times[0], 1),
        statements=_statements(browser, page),
        kilobytes=round(len(first.content) / 1000, 1),
    )


def _ask(browser: Browser, page: Page) -> Any:
    return browser.http.get(page.address) if page.data is None else browser.post(page.address, dict(page.data))


def _statements(browser: Browser, page: Page) -> int:
    """SQL statements of a page in a process that has served it before, counted as in tests."""
    client = Client(SERVER_NAME=browser.http.base_url.host)
    for name, value in browser.http.cookies.items():
        client.cookies[name] = value
    there = client.get if page.data is None else client.post
    there(page.address, page.data or {})
    with ExitStack() as stack:
        captured = [stack.enter_context(CaptureQueriesContext(one)) for one in connections.all()]
        there(page.address, page.data or {})
    return sum(map(len, captured))
