"""The examples of docs/frameworks.md, run as they stand: a section's blocks in order, for end users of its own."""

import re
from typing import Any, Final
from uuid import uuid4

import pytest

from tests.frameworks.conftest import MakeClient
from tests.frameworks.judges import installed
from tests.memsync.test_examples import DOCS, blocks

installed("agent_framework", "agents", "anthropic", "langgraph.graph", "pydantic_ai_harness", "strands")

import memsync_adapters  # noqa: E402

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.filterwarnings("ignore"),  # of the frameworks, about each other's versions
]

PAGE: Final = DOCS / "frameworks.md"


def sections() -> dict[str, list[str]]:
    """The code of each section, by its heading."""
    lines = PAGE.read_text().splitlines()
    headings = {number: line[3:] for number, line in enumerate(lines, 1) if line.startswith("## ")}
    found: dict[str, list[str]] = {}
    for block in blocks(PAGE):
        heading = headings[max(number for number in headings if number < block.line)]
        found.setdefault(heading, []).append("\n" * (block.line - 1) + block.code)
    return found


def test_every_section_has_an_example() -> None:
    assert len(sections()) == len(re.findall(r"^## Memory in five minutes for", PAGE.read_text(), re.MULTILINE)) >= 7


@pytest.mark.parametrize("section", sections())
def test_examples_of_the_page_work(section: str, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = uuid4().hex  # a namespace of its own

    def client(user_id: str, **options: Any) -> memsync_adapters.Client:
        return make_client(user_id, tenant_id=tenant, **options)

    monkeypatch.setattr(memsync_adapters, "Client", client)

    codes = sections()[section]
    assert all("assert" in code for code in codes)
    for code in codes:
        exec(compile(code, str(PAGE), "exec"), {"__name__": "example"})  # noqa: S102  (ours)
