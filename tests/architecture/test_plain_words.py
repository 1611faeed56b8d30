"""Texts that people read use plain words, none of an old dialect that an engineer would have to learn first."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.architecture.tracked import ROOT, tracked

FOLDERS = ("adapters", "apps", "memsync", "text", "benchmarks", "templates", "docs")
PATTERNS = [
    *(f":(glob){folder}/**/*.{ending}" for folder in FOLDERS for ending in ("py", "md", "html")),
    ":(glob)training/*.py",
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    ":(exclude,glob)**/migrations/**",
]
WORDS = (
    *("anew", "who(?:m)?ever", "somebody", "nobody['’]s", "of nobody", "deeds?", "unheard", "(?:door)?bells?"),
    *("what became of", "(?:let|lets|letting) go of", "(?:hear|hears|heard) of", "is told by", "told to the audit"),
    "no longer than a click can do",
)
FOUND = re.compile(rf"\b(?:{'|'.join(WORDS)})\b".replace(" ", r"[\s\"'#]+"), re.IGNORECASE)
# Words that a file may hold: as data, or in a model's field, where another text would take a migration.
KEPT: Final[Mapping[str, Collection[str]]] = {
    "apps/tenants/models.py": {"somebody"},
    "text/extraction/entities/tables.py": {"somebody"},
    "text/extraction/subjects.py": {"somebody"},
}


def dialect(root: Path, paths: list[str]) -> Iterator[tuple[str, int, str]]:
    """Path, line and word of each occurrence; one may stretch over the end of a line."""
    for path in paths:
        text = (root / path).read_text()
        for found in FOUND.finditer(text):
            yield path, text.count("\n", 0, found.start()) + 1, " ".join(found[0].lower().split())


def texts() -> list[str]:
    return tracked(*PATTERNS)


def test_texts_use_plain_words() -> None:
    assert len(texts()) > 700
    found = [f"{path}:{line}: {word}" for path, line, word in dialect(ROOT, texts()) if word not in KEPT.get(path, ())]
    assert found == []


def test_words_that_a_file_may_hold_are_still_there() -> None:
    assert {(path, word) for path, _, word in dialect(ROOT, list(KEPT))} == {
        (path, word) for path, words in KEPT.items() for word in words
    }


def test_the_guard_finds_a_word_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text(
        "Keys are wrapped anew.\n\nWhat became\nof it, whoever asks: Somebody else's deed.\n"
    )
    (tmp_path / "new.md").write_text("Keys are rewrapped; the bellows, an indeed plain word, and someone's action.\n")

    assert list(dialect(tmp_path, ["old.md", "new.md"])) == [
        ("old.md", 1, "anew"),
        ("old.md", 3, "what became of"),
        ("old.md", 4, "whoever"),
        ("old.md", 4, "somebody"),
        ("old.md", 4, "deed"),
    ]
