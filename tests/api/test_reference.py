"""The OpenAPI document and the page that shows it."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.validation import validate_schema

from apps.api.reference import schema
from tests.api.conftest import Caller
from tests.api.people import OF_PEOPLE
from tests.api.test_access import TABLE

pytestmark = pytest.mark.django_db(databases="__all__")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# The document itself, its page, and what is described by its own protocol.
UNDESCRIBED = {
    ("/openapi.json", "GET"),
    ("/docs", "GET"),
    *((path, "POST") for path in ("/v1/mcp", "/v1/mcp/graph", "/v1/mcp/typed", "/mcp")),
    *((f"/.well-known/oauth-protected-resource{path}", "GET") for path in ("", "/v1/mcp", "/mcp")),
    *((f"/.well-known/{name}", "GET") for name in ("oauth-authorization-server", "openid-configuration")),
}
DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.yaml"


def test_document_in_docs_is_what_the_server_says() -> None:
    said = OpenApiYamlRenderer().render(schema(), renderer_context={}).decode()

    hint = "python manage.py spectacular --skip-checks --validate --fail-on-warn --file docs/openapi.yaml"
    assert said == DOCUMENT.read_text(), f"The API has changed: look at the change, then run {hint}"


def test_document_is_valid_and_lists_every_route() -> None:
    document = yaml.safe_load(DOCUMENT.read_text())

    validate_schema(document)
    listed = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    rows = {(re.sub(r"<\w+:(\w+)>", r"{\1}", row.route), row.method) for row in (*TABLE, *OF_PEOPLE)}
    assert listed == rows - UNDESCRIBED


def test_every_reference_of_the_document_leads_somewhere() -> None:
    text = DOCUMENT.read_text()
    components = yaml.safe_load(text)["components"]

    named = set(re.findall(r"\$ref: '#/components/(\w+)/([\w-]+)'", text))

    assert len(named) > 100
    assert [f"{kind}/{name}" for kind, name in sorted(named) if name not in components[kind]] == []


def test_document_is_served_to_anybody() -> None:
    response = Caller(None)("GET", "/openapi.json")

    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    assert response.json()["info"]["title"] == "memsync"


def test_page_runs_no_inline_script_and_loads_nothing_from_elsewhere() -> None:
    response = Caller(None)("GET", "/docs")

    page = response.content.decode()
    assert response["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert "unsafe" not in response["Content-Security-Policy"]
    assert "://" not in page
    assert "<style" not in page
    for script in page.split("<script")[1:]:
        assert 'src="/static/' in script.split(">")[0]
        assert script.split(">")[1].startswith("</script")


@pytest.mark.parametrize(
    "path", ["api/docs.js", "api/docs.css", "drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"]
)
def test_files_of_the_page_are_there(path: str) -> None:
    response = Caller(None)("GET", f"/static/{path}")
    response.close()

    assert response.status_code == 200


@pytest.mark.browser
@pytest.mark.django_db(databases="__all__", transaction=True)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
def test_page_shows_every_route_and_breaks_no_rule_of_its_policy(live_server: Any) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM) as browser:
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live_server.url}/docs")
        page.wait_for_selector(".opblock-tag")
        shown = 0
        for group in page.locator(".opblock-tag-section").all():
            group.locator(".opblock-tag").click()
            group.locator(".opblock").first.wait_for()
            shown += page.locator(".opblock").count()  # of this group alone: opening one closes the others
        page.click("#operations-tag-memory")
        page.click("#operations-memory-add .opblock-summary")
        page.wait_for_selector("#operations-memory-add .opblock-body")

    assert complaints == []
    assert shown == len(TABLE) + len(OF_PEOPLE) - len(UNDESCRIBED)
