"""The checklist of ASVS has every requirement, counts as it says and shows evidence."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATUSES = ("met", "partly", "planned", "n/a")
ROW = re.compile(r"^\| (\d+)\.\d+\.\d+ \| ([12]) \| .+ \| (met|partly|planned|n/a) \| (.*) \|$", re.MULTILINE)


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
