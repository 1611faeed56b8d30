"""Every condition that says whose rows are meant is taken out in turn, and a test notices.

ISOLATION_FILTERS=all pytest tests/isolation/test_filters.py -s      every one, not a sample; prints the list
ISOLATION_FILTERS_IN=apps/recall pytest ...                          those in files whose path holds this
"""

import os
import random
from typing import Final

from tests.isolation import noticed
from tests.isolation.filters import ROOT, Filter, all_filters
from tests.isolation.noticed import EQUIVALENT

SAMPLE: Final = 8
SEED: Final = 20_261_122

HOW: Final = """Nobody would notice without:
  {}
Write a test that sends each, with rows that would be missed or met, and run
  python -m tests.isolation.noticed - THE_TEST
which adds it to noticed.txt.  More is in CONTRIBUTING.md, under "Whose rows"."""


def chosen(filters: list[Filter]) -> list[Filter]:
    if where := os.environ.get("ISOLATION_FILTERS_IN"):
        return [one for one in filters if where in one.path]
    if os.environ.get("ISOLATION_FILTERS") == "all":
        return filters
    return random.Random(SEED).sample([one for one in filters if one.name not in EQUIVALENT], SAMPLE)


def test_every_filter_has_a_test_that_notices() -> None:
    names = {one.name for one in all_filters()}
    listed = noticed.read()

    missing = sorted(names - listed.keys() - EQUIVALENT.keys())
    assert not missing, HOW.format("\n  ".join(missing))
    assert (listed.keys() | EQUIVALENT.keys()) - names == set(), "Gone: python -m tests.isolation.noticed"
    assert listed.keys() & EQUIVALENT.keys() == set()
    assert [name for name, one in listed.items() if "::" not in one.by] == [], "noticed by no test"


def test_every_module_without_a_filter_is_a_module_of_as_many_lines() -> None:
    for one in all_filters():
        compile(one.without(), one.path, "exec")
        assert one.without().count("\n") == (ROOT / one.path).read_text().count("\n"), one.name


def test_what_is_taken_out_is_noticed() -> None:
    listed = noticed.read()
    filters = chosen(all_filters())
    wanted = {one.name: listed[one.name].by if one.name in listed else "" for one in filters}

    found = noticed.remove(wanted, sorted({by for by in wanted.values() if by}))

    for one in filters:
        met = found[one.name]
        said = f"{met.why} in {met.by}" if met else EQUIVALENT.get(one.name, "not noticed")
        print(f"{one.path}:{one.line} {one.function} {one.text}: {said}")  # noqa: T201
    print(f"{sum(met is not None for met in found.values())} of {len(filters)} filters noticed")  # noqa: T201
    assert {name for name, met in found.items() if not met} == wanted.keys() & EQUIVALENT.keys()
