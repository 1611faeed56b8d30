"""The reranker of this machine keeps the promises of ``apps.adapters.rerankers.base``, with and without onnxruntime."""

import json
from pathlib import Path

import pytest

from apps.adapters.classifiers import encoder
from apps.adapters.embedders.minilm import low_rank
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.rerankers.base import Reranker, RerankFailed
from apps.adapters.rerankers.local import LocalReranker
from apps.adapters.rerankers.pair import QUESTION_ROOM, TEXT_ROOM, question_and_text, tokens_of
from apps.recall.relevance import RERANKER
from tests.contracts.runtimes import without_onnxruntime

SECONDS = 60.0
QUERY = "What does my sister do for a living?"
TEXTS = [
    "My brother lives in Lyon.",
    "Zoë, my sister, repairs church organs.",
    "I paint a little on Sundays.",
    "What does your sister do?",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=["onnxruntime", "numpy"])
def reranker(request: pytest.FixtureRequest, folder: Path) -> LocalReranker:
    if request.param == "onnxruntime":
        return LocalReranker(cache_dir=str(folder))
    with without_onnxruntime(encoder):
        made = LocalReranker()
        made.score("warm", ["cold"], seconds=SECONDS)
    return made


def test_it_is_a_reranker_that_no_text_leaves(reranker: LocalReranker) -> None:
    assert isinstance(reranker, Reranker)
    assert reranker.is_local
    assert reranker.id == RERANKER
    assert reranker.is_self_hosted


def test_the_text_that_answers_is_the_best_in_any_order(reranker: LocalReranker) -> None:
    scores = reranker.score(QUERY, TEXTS, seconds=SECONDS)
    turned = reranker.score(QUERY, TEXTS[::-1], seconds=SECONDS)

    assert max(scores) == scores[1]
    assert all(0 <= one <= 1 for one in scores)
    assert turned[::-1] == scores


def test_a_text_that_answers_is_likelier_than_nothing_and_one_beside_the_point_is_not(reranker: LocalReranker) -> None:
    right, wrong = reranker.score(QUERY, [TEXTS[1], TEXTS[2]], seconds=SECONDS)

    assert wrong < 0.5 < right


def test_both_runtimes_say_nearly_the_same(folder: Path, reranker: LocalReranker) -> None:
    other = LocalReranker(cache_dir=str(folder))

    assert reranker.score(QUERY, TEXTS, seconds=SECONDS) == pytest.approx(
        other.score(QUERY, TEXTS, seconds=SECONDS), abs=0.1
    )


def test_of_no_texts_nothing_is_read(reranker: LocalReranker) -> None:
    assert reranker.score(QUERY, [], seconds=0) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "naïve café",
        "日本語のテキスト",
        "\x00\x07\u200b",
        "👨‍👩‍👧 family",
        "lone \ud800",
        "[SEP]",
        "x " * 9_000,
    ],
)
def test_any_text_can_be_read(text: str, reranker: LocalReranker) -> None:
    assert len(reranker.score(text, [text, "other"], seconds=SECONDS)) == 2


def test_out_of_time_it_says_so_without_a_word_of_it(reranker: LocalReranker) -> None:
    with pytest.raises(RerankFailed) as failed:
        reranker.score(QUERY, TEXTS, seconds=-1.0)

    assert failed.value.cause == "timeout"
    assert "organs" not in repr(failed.getrepr(showlocals=False))
    assert failed.value.__cause__ is failed.value.__context__ is None


def test_weights_that_are_not_ours_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rerank.safetensors").write_bytes((low_rank.FOLDER / "rerank.safetensors").read_bytes()[:-2] + b"\0\1")
    (tmp_path / "checksums.json").write_text(json.dumps(json.loads((low_rank.FOLDER / "checksums.json").read_bytes())))
    monkeypatch.setattr(low_rank.read_tuned, "__defaults__", (tmp_path,))

    with pytest.raises(RerankFailed) as failed:
        LocalReranker().score(QUERY, TEXTS, seconds=SECONDS)

    assert failed.value.cause == "unavailable"
    assert failed.value.__cause__ is failed.value.__context__ is None


def test_both_texts_keep_their_room() -> None:
    tokenizer = WordPiece(read_vocabulary(find_model_folder()))
    question = tokens_of("why " * 900, tokenizer, room=QUESTION_ROOM)
    one = question_and_text(question, tokens_of("because " * 900, tokenizer, room=TEXT_ROOM))

    assert one.question == (1, 1 + QUESTION_ROOM)
    assert one.text == (QUESTION_ROOM + 2, QUESTION_ROOM + 2 + TEXT_ROOM)
    assert len(one.ids) == QUESTION_ROOM + TEXT_ROOM + 3
    assert tokens_of("", tokenizer, room=TEXT_ROOM)
