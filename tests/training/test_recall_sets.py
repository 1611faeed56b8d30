"""The lives and conversations of a split, as a set for ``benchmarks recall``."""

from pathlib import Path

from benchmarks.recall import read
from training.recall_sets import haystacks, main


def test_a_set_is_read_by_the_benchmark(tmp_path: Path) -> None:
    main(["validation", "--out", str(tmp_path / "set.jsonl")])

    found = read(tmp_path / "set.jsonl")

    assert [one.name for one in found] == [one["haystack"] for one in haystacks("validation")]
    for haystack in found:
        ids = {item["id"] for item in haystack.items}
        assert haystack.questions
        assert all(question["gold"] and ids.issuperset(question["gold"]) for question in haystack.questions)


def test_questions_in_the_turns_words_are_left_out_unless_asked_for() -> None:
    fewer, more = (
        sum(len(one["questions"]) for one in haystacks("validation", worded=worded)) for worded in (False, True)
    )

    assert 0 < fewer < more
