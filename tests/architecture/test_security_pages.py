"""What the security pages point at is there, and the checklist counts as it says."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/security.md", "docs/asvs.md", "SECURITY.md")
STATUSES = ("met", "partly", "planned", "n/a")
ROW = re.compile(r"^\| (\d+)\.\d+\.\d+ \| ([12]) \| .+ \| (met|partly|planned|n/a) \| (.*) \|$", re.MULTILINE)


def missing(page: Path, text: str) -> list[str]:
    """Links of the text to files that are not there."""
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    return [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    page = ROOT / name

    assert missing(page, page.read_text()) == []


@pytest.mark.parametrize("name", PAGES)
def test_every_heading_that_is_linked_is_there(name: str) -> None:
    text = (ROOT / name).read_text()
    headings = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in
                re.findall(r"^#+ (.+)$", text, re.MULTILINE)}  # fmt: skip

    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_a_link_to_nowhere_is_found() -> None:
    text = "[a](../README.md) [b](nowhere.md) [c](https://example.org) [d](#here)"

    assert missing(ROOT / "docs/x.md", text) == ["nowhere.md"]


def test_checklist_has_every_requirement_of_both_levels() -> None:
    rows = ROW.findall((ROOT / "docs/asvs.md").read_text())

    assert Counter(level for _, level, _, _ in rows) == {"1": 70, "2": 183}
    assert sorted({int(chapter) for chapter, *_ in rows}) == list(range(1, 18))


def test_checklist_counts_as_it_says() -> None:
    text = (ROOT / "docs/asvs.md").read_text()
    rows = ROW.findall(text)

    def line(name: str, statuses: list[str]) -> str:
        counts = Counter(statuses)
        return f"| {name} | {len(statuses)} | " + " | ".join(str(counts[one]) for one in STATUSES) + " |"

    assert line("**Levels 1 and 2**", [status for *_, status, _ in rows]) in text
    for level in "12":
        assert line(f"Level {level}", [status for _, one, status, _ in rows if one == level]) in text
    for chapter, name in re.findall(r"^## V(\d+) (.+)$", text, re.MULTILINE):
        assert line(f"V{chapter} {name}", [status for one, _, status, _ in rows if one == chapter]) in text


def test_what_is_met_or_partly_met_shows_evidence() -> None:
    rows = ROW.findall((ROOT / "docs/asvs.md").read_text())

    assert [said for *_, status, said in rows if status in ("met", "partly") and "](" not in said] == []
