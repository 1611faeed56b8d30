"""Every condition that says whose rows are meant is taken out in turn, and a test notices.

ISOLATION_FILTERS=all pytest tests/isolation/test_filters.py -s      every one, not a sample; prints the list
ISOLATION_FILTERS_IN=apps/recall pytest ...                          those in files whose path holds this
"""

import os
import random
from collections.abc import Container, Mapping
from typing import Final

from tests.isolation import noticed
from tests.isolation.filters import ROOT, Filter, all_filters

SAMPLE: Final = 8
SEED: Final = 20_261_122

# Those that nothing can notice, and why: another condition of the same statement lets exactly the same rows through,
# whatever the rows are.
EQUIVALENT: Final[Mapping[str, str]] = {}


def chosen(filters: list[Filter], unseen: Container[str]) -> list[Filter]:
    if where := os.environ.get("ISOLATION_FILTERS_IN"):
        return [one for one in filters if where in one.path]
    if os.environ.get("ISOLATION_FILTERS") == "all":
        return filters
    return random.Random(SEED).sample([one for one in filters if one.name not in unseen], SAMPLE)


def test_every_filter_has_a_test_that_notices() -> None:
    names = {one.name for one in all_filters()}
    listed = noticed.read().keys() | EQUIVALENT.keys()

    assert names - listed == set(), "Without a test: write one that sends it, then python -m tests.isolation.noticed"
    assert listed - names == set(), "Gone: python -m tests.isolation.noticed, and see EQUIVALENT"
    assert noticed.read().keys() & EQUIVALENT.keys() == set()


def test_every_module_without_a_filter_is_a_module_of_as_many_lines() -> None:
    for one in all_filters():
        compile(one.without(), one.path, "exec")
        assert one.without().count("\n") == (ROOT / one.path).read_text().count("\n"), one.name


def test_what_is_taken_out_is_noticed() -> None:
    listed = noticed.read()
    unseen = {name for name, one in listed.items() if one.by == noticed.NOBODY} | EQUIVALENT.keys()
    filters = chosen(all_filters(), unseen)
    wanted = {one.name: "" if one.name in unseen else listed[one.name].by for one in filters}

    found = noticed.remove(wanted, sorted({by for by in wanted.values() if by}))

    for one in filters:
        met = found[one.name]
        print(f"{one.path}:{one.line} {one.function} {one.text}: {f'{met.why} in {met.by}' if met else 'not noticed'}")  # noqa: T201
    print(f"{sum(met is not None for met in found.values())} of {len(filters)} filters noticed")  # noqa: T201
    assert {name for name, met in found.items() if not met} == {name for name in wanted if name in unseen}
