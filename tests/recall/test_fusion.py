"""Reciprocal rank fusion, with the seed systems' own numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.recall.fusion import reciprocal_rank, union

RANKINGS = st.lists(st.lists(st.integers(1, 30), unique=True, max_size=12), max_size=4)


def test_first_in_three_legs_of_which_two_agree() -> None:
    fused = dict(reciprocal_rank([[7, 8], [7, 9], [7, 8]]))

    assert fused[7] == pytest.approx(3 / 61)
    assert round(fused[7], 5) == 0.04918  # 2/61 + 1/61
    assert fused[8] == pytest.approx(2 / 62)


def test_a_leg_given_twice_counts_twice() -> None:
    topic, keyword = [5, 6], [6, 5]

    fused = dict(reciprocal_rank([topic, topic, keyword]))

    assert round(fused[5], 5) == 0.04892  # 2/61 + 1/62: topic 1, keyword 2
    assert fused[5] > fused[6]


def test_ties_go_to_the_newer_id() -> None:
    assert [memory_id for memory_id, _ in reciprocal_rank([[1, 2], [2, 1], [9], [4]])] == [2, 1, 9, 4]


def test_another_k_flattens_or_sharpens() -> None:
    assert reciprocal_rank([[3]], k=1) == [(3, 0.5)]


def test_nothing_fused_is_nothing() -> None:
    assert reciprocal_rank([]) == []
    assert reciprocal_rank([[], []]) == []


@given(rankings=RANKINGS)
def test_every_id_is_there_once_best_first(rankings: list[list[int]]) -> None:
    fused = reciprocal_rank(rankings)

    assert sorted(memory_id for memory_id, _ in fused) == sorted({each for ranking in rankings for each in ranking})
    assert fused == sorted(fused, key=lambda item: (-item[1], -item[0]))


@given(rankings=RANKINGS, limit=st.integers(0, 12))
def test_a_union_keeps_the_first_of_each_once(rankings: list[list[int]], limit: int) -> None:
    joined = union(rankings, limit=limit)

    assert len(joined) == len(set(joined))
    assert set(joined) == {each for ranking in rankings for each in ranking[:limit]}
