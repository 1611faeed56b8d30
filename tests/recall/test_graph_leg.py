"""Following relations, and what that does to a ranking."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.edges.opened import Neighbour
from apps.recall.ranking import SHORT, Features, Ranked, lift, lower, may_fall
from apps.recall.retrievers.graph import DECAY, Steps, follow
from tests.makers import NOW

Link = tuple[int, int, str, float]


def steps(*links: Link) -> Steps:
    def taken(node_ids: Sequence[int]) -> list[Neighbour]:
        return [
            Neighbour(node_id=near, memory_id=far, edge_id=at, type=type_, confidence=sure, is_forward=forward)
            for at, (one, other, type_, sure) in enumerate(links)
            for near, far, forward in ((one, other, True), (other, one, False))
            if near in node_ids
        ]

    return taken


def test_score_is_the_seeds_times_confidence_type_and_decay_of_each_step() -> None:
    reached = follow(steps((1, 2, "supports", 0.8), (2, 3, "similar", 0.9)), {1: 0.5}, hops=2)

    assert reached[2].score == pytest.approx(0.5 * 0.8 * 1.0 * 0.6)
    assert reached[3].score == pytest.approx(0.5 * 0.8 * 1.0 * 0.6 * 0.9 * 0.6 * 0.6)
    assert [(step.node_id, step.memory_id) for step in reached[3].path] == [(1, 2), (2, 3)]


@pytest.mark.parametrize(("hops", "expected"), [(0, set()), (1, {2}), (2, {2, 3}), (3, {2, 3, 4})])
def test_it_goes_no_further_than_asked(hops: int, expected: set[int]) -> None:
    chain = steps(*((one, one + 1, "supports", 1.0) for one in range(1, 9)))

    assert follow(chain, {1: 1.0}, hops=hops).keys() == expected


def test_type_of_ones_own_carries_as_a_reference_does() -> None:
    reached = follow(steps((1, 2, "treats", 1.0), (1, 3, "references", 1.0)), {1: 1.0}, hops=1)

    assert reached[2].score == reached[3].score == pytest.approx(0.7 * DECAY)


def test_best_path_counts() -> None:
    links = steps((1, 3, "similar", 0.5), (1, 2, "supports", 1.0), (2, 3, "supports", 1.0))

    reached = follow(links, {1: 1.0}, hops=2)

    assert len(reached[3].path) == 2
    assert reached[3].score == pytest.approx(0.36)


nodes = st.integers(1, 6)
links = st.lists(
    st.tuples(nodes, nodes, st.sampled_from(("supports", "similar", "continuation", "contradiction")), st.floats(0, 1)),
    max_size=20,
).map(lambda found: [link for link in found if link[0] != link[1]])


@given(links=links, seeds=st.dictionaries(nodes, st.floats(0.01, 1), min_size=1), hops=st.integers(0, 3))
def test_it_ends_on_any_graph_and_nothing_is_worth_more_than_its_seed(
    links: list[Link], seeds: dict[int, float], hops: int
) -> None:
    for memory_id, one in follow(steps(*links), seeds, hops=hops).items():
        ends = [(step.node_id, step.memory_id) for step in one.path]
        assert 1 <= len(ends) <= hops
        assert ends[0][0] in seeds
        assert ends[-1][1] == memory_id
        assert all(before[1] == after[0] for before, after in pairwise(ends))
        assert one.score <= seeds[ends[0][0]] * DECAY ** len(ends) + 1e-12
        assert not any(step.type == "contradiction" for step in one.path)


def ranking(**scores: float) -> list[Ranked]:
    return [Ranked(id=int(name[1:]), score=score, factors={"semantic": score}) for name, score in scores.items()]


def test_without_relations_the_ranking_is_the_very_same() -> None:
    ranked = ranking(m1=0.5, m2=0.4)

    assert lift(ranked, {}) is ranked
    assert lift(ranked, {2: 0.4}) is ranked
    assert lower(ranked, {}) is ranked


def test_memory_is_lifted_to_what_a_path_carries_and_none_falls() -> None:
    lifted = lift(ranking(m1=0.5, m2=0.3, m3=0.1), {3: 0.4, 2: 0.2, 4: 0.05})

    assert [(one.id, pytest.approx(one.score)) for one in lifted] == [(1, 0.5), (3, 0.4), (2, 0.3), (4, 0.05)]
    assert lifted[1].factors == {"semantic": 0.1, "graph": pytest.approx(0.3)}
    assert all(sum(one.factors.values()) == pytest.approx(one.score) for one in lifted)


def test_contradicted_memory_comes_just_behind_the_one_against_it_if_that_answers_nearly_as_well() -> None:
    lowered = lower(ranking(m1=0.5, m2=0.45, m3=0.42, m4=0.3), {1: [3], 2: [4], 4: [9]})

    assert [one.id for one in lowered] == [2, 3, 1, 4]
    assert [one.score for one in lowered] == pytest.approx([0.45, 0.42, 0.42, 0.3], abs=1e-5)
    assert all(sum(one.factors.values()) == pytest.approx(one.score) for one in lowered)


def test_of_three_that_contradict_each_other_in_turn_the_last_leads() -> None:
    lowered = lower(ranking(m1=0.5, m2=0.45, m3=0.41), {1: [2], 2: [3]})

    assert [one.id for one in lowered] == [3, 2, 1]


def test_short_memories_may_fall_unless_the_question_is_about_the_past() -> None:
    short, long = (Features(id=n, created_at=NOW, length=length) for n, length in ((1, SHORT), (2, SHORT + 1)))

    assert may_fall([short, long]) == {1}
    assert may_fall([replace(short, asks_past=True)]) == set()


def test_contradicted_memory_comes_behind_the_best_of_those_against_it() -> None:
    lowered = lower(ranking(m1=0.5, m2=0.45, m3=0.42), {1: [2, 3]})

    assert [one.id for one in lowered] == [2, 1, 3]
