"""The docs site shows every page once, and every link of the docs leads to what there is.  Needs no site tool."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = ROOT / "zensical.toml"
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
]
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")


def entries(nav: Any) -> Iterator[str]:
    """Paths of the pages in a nav, in order."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for part in nav.values():
            yield from entries(part)
    else:
        for part in nav:
            yield from entries(part)


def anchors(text: str) -> set[str]:
    """Of the headings, as code hosts and the site make them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    shown = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in shown}


def broken(page: Path, text: str) -> list[str]:
    """Links of the page to a file or a heading that is not there."""
    return [link for link in LINK.findall(CODE.sub("", text)) if not _leads_somewhere(page, text, link)]


def _leads_somewhere(page: Path, text: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    if not path:
        return anchor in anchors(text)
    target = page.parent / path
    return target.exists() and (not anchor or anchor in anchors(target.read_text()))


def test_every_page_is_in_the_nav_once() -> None:
    nav = tomllib.loads(SITE.read_text())["project"]["nav"]

    assert sorted(entries(nav)) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text()) == []


def test_links_out_of_the_docs_are_text_in_the_site() -> None:
    """Else they would lead to pages that the site does not have."""
    pattern = re.search(r'OUTSIDE = re\.compile\(\s*r"(.*)"\s*\)', (ROOT / "scripts" / "site_links.py").read_text())
    assert pattern is not None
    links = [(page, link) for page in DOCS.rglob("*.md") for link in LINK.findall(CODE.sub("", page.read_text()))]

    outside = {link for page, link in links if not (page.parent / link).resolve().is_relative_to(DOCS)}
    inside = {link for _, link in links} - outside

    assert [link for link in sorted(outside) if not re.match(pattern[1], link)] == []
    assert [link for link in sorted(inside) if re.match(pattern[1], link)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](../README.md) [b](https://example.org)", []),
        ("[a](nowhere.md)", ["nowhere.md"]),
        ("[`a`](nowhere.md)", ["nowhere.md"]),
        ("## Here: `it` is\n[a](#here-it-is) [b](#there)", ["#there"]),
        ("[a](concepts.md#recall) [b](concepts.md#nothing)", ["concepts.md#nothing"]),
        ("`[a](nowhere.md)`\n```\n# Here\n[a](nowhere.md)\n```\n[b](#here)", ["#here"]),
    ],
)  # fmt: skip
def test_a_link_to_nowhere_is_found(text: str, expected: list[str]) -> None:
    assert broken(DOCS / "x.md", text) == expected


def test_every_test_that_the_compatibility_page_names_exists() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (DOCS / "compatibility.md").read_text(encoding="utf-8"))

    assert len(named) > 40
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_promise_that_is_kept_names_a_test() -> None:
    rows = [line.split("|")[1:-1] for line in (DOCS / "compatibility.md").read_text(encoding="utf-8").splitlines()
            if re.match(r"\| .+ \| (?:present|partly|refused|absent) \|", line)]  # fmt: skip

    assert len(rows) > 50
    assert [row[0] for row in rows if bool(row[3].strip()) == (row[1].strip() == "absent")] == []
