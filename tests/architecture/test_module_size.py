"""No module of the product is longer than 400 lines: one that is says two things, and a reader looks for either."""

from pathlib import Path

from tests.architecture.tracked import ROOT, tracked

PRODUCT = ("apps", "memsync", "text", "adapters", "training", "benchmarks", "scripts")
MOST_LINES = 400


def too_long(root: Path, paths: list[str]) -> list[str]:
    lengths = ((path, len((root / path).read_text().splitlines())) for path in paths)
    return [f"{path}: {lines} lines" for path, lines in lengths if lines > MOST_LINES]


def modules() -> list[str]:
    return tracked(*(f"{one}/**.py" for one in PRODUCT))


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    assert len(modules()) > 500
    assert too_long(ROOT, modules()) == []


def test_the_guard_sees_a_module_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("pass\n" * 401)
    (tmp_path / "fits.py").write_text("pass\n" * 400)

    assert too_long(tmp_path, ["long.py", "fits.py"]) == ["long.py: 401 lines"]
