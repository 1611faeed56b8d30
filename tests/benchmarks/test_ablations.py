"""The ways of asking that a benchmark compares."""

from django.test import override_settings


def test_each_usual_leg_is_left_out_and_each_other_one_added() -> None:
    from benchmarks.recall import ablations

    with override_settings(RECALL_LEGS=["dense", "lexical", "graph"]):
        ways = {way.name: way.legs for way in ablations(without=["graph"], factors=False)}
        factors = [way for way in ablations(without=[], factors=True) if way.weights]

    assert ways["as usual"] == ["dense", "lexical"]
    assert ways["without dense"] == ["lexical"]
    assert ways["with entity"] == ["dense", "lexical", "entity"]
    assert "with graph" not in ways
    assert {name for way in factors for name in way.weights or ()} >= {"semantic", "lexical", "session", "date"}
