"""Which test notices that a filter is gone: the list, and what makes it.

python -m tests.isolation.noticed - tests/api/test_mine.py    looks among these tests for what is not listed yet
python -m tests.isolation.noticed apps/recall                 among all of them, for what is in these files
python -m tests.isolation.noticed "" tests/api                for everything, among these tests

For each filter 25 tests are run, the cheapest first of those that reach it; FILTERS_MOST_TESTS sets the number.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.isolation.filters import ROOT, all_filters

LIST: Final = Path(__file__).with_name("noticed.txt")
NEW: Final = "-"  # for what is not listed yet
# Of the apps: folders of tests that bear an app's name.
TESTS: Final = tuple(
    sorted(f"tests/{app.name}" for app in (ROOT / "apps").iterdir() if (ROOT / "tests" / app.name).is_dir())
)

# Those that nothing can notice, by name, and why: whatever the rows are, another condition of the same statement lets
# exactly the same ones through.  None so far: what would have been one was left out, or the statement rewritten.
EQUIVALENT: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Noticed:
    """By: a test.  why: the table and the column whose foreign rows it read, or "fails"."""

    by: str
    why: str


def read() -> dict[str, Noticed]:
    """By the filter's name."""
    lines = (line.split("\t") for line in LIST.read_text().splitlines())
    return {name: Noticed(by, why) for name, by, why in lines}


def write(found: Mapping[str, Noticed]) -> None:
    LIST.write_text("".join(f"{name}\t{one.by}\t{one.why}\n" for name, one in sorted(found.items())))


def remove(wanted: Mapping[str, str], tests: Sequence[str]) -> dict[str, Noticed | None]:
    """Take out each of these filters; wanted: the test that is asked first, or "".  None where no test noticed.

    In a process of its own, because row-level security is off in it; with databases of its own.
    """
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        asked = {
            "FILTERS_WANTED": json.dumps(wanted),
            "FILTERS_RESULT": str(result),
            "PYTEST_XDIST_WORKER": f"filters{os.getpid()}",
        }
        said = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-p", "tests.isolation.removing", "-p", "no:cacheprovider"),
                *("-n", "0", "-m", "not e2e and not browser", *tests),
            ],
            cwd=ROOT,
            env=os.environ | asked,
            stdout=subprocess.PIPE,
            stderr=None,
            check=False,
        )
        found = json.loads(result.read_text()) if result.exists() else {}
        if found.keys() != wanted.keys():
            raise RuntimeError(said.stdout.decode())
        return {name: one and Noticed(**one) for name, one in found.items()}


def main(where: str = NEW, *tests: str) -> None:
    listed = read()
    names = [one.name for one in all_filters() if one.name not in EQUIVALENT]
    wanted = {name: "" for name in names if (name not in listed if where == NEW else where in name)}
    found = remove(wanted, tests or TESTS) if wanted else {}
    write({name: one for name in names if (one := found.get(name) or listed.get(name))})
    for name, one in found.items():
        if one is None:
            print(f"not noticed: {name}")  # noqa: T201
    print(f"{sum(one is not None for one in found.values())} of {len(found)} noticed")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
