"""Every classifier keeps the same promises: those of ``apps.adapters.classifiers.base``."""

import json
import threading
from pathlib import Path

import pytest

from apps.adapters.classifiers import encoder
from apps.adapters.classifiers.base import RELATIONS, TYPES, Classifier
from apps.adapters.classifiers.local import LocalClassifier
from apps.adapters.classifiers.pairs import EARLIER_ROOM, LATER_ROOM, pair
from apps.adapters.classifiers.tokens import ROOM, tokenize
from apps.adapters.embedders.minilm import low_rank
from apps.adapters.embedders.minilm.weights import find_model_folder, read_vocabulary
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.errors import AdapterError
from tests.classifiers import FakeClassifier
from tests.contracts.runtimes import without_onnxruntime
from text.sentences import fold, sentences

ODD_TEXTS = [
    "?!",
    "naïve café, Ångström",
    "日本語のテキスト",
    "👨‍👩‍👧 family",
    "\ufffd\u200b",
    "lone \ud800 surrogate",
    "[SEP]",
]
TURNS = [
    "I live in York with my wife Anna. She teaches at the grammar school.",
    "thanks, that helps a lot!",
    "Our dog Biscuit is allergic to chicken, so no treats with poultry please.",
    "the alarm by the back door is four seven one nine, cleaner needs it on Tuesdays",
]


def _without_onnxruntime() -> LocalClassifier:
    with without_onnxruntime(encoder):
        classifier = LocalClassifier()
        classifier.warm()
    return classifier


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=["fake", "local", "local without onnxruntime"])
def classifier(request: pytest.FixtureRequest, folder: Path) -> Classifier:
    if request.param == "fake":
        return FakeClassifier()
    return LocalClassifier(cache_dir=str(folder)) if request.param == "local" else _without_onnxruntime()


def spans(text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end in sentences(fold(text))]


def test_a_classifier_has_the_shape_of_its_protocol(classifier: Classifier) -> None:
    assert isinstance(classifier, Classifier)
    assert classifier.id


@pytest.mark.parametrize("text", [*TURNS, *ODD_TEXTS], ids=ascii)
def test_each_sentence_and_part_has_its_scores(classifier: Classifier, text: str) -> None:
    every = spans(text)

    scores = classifier.read(text, every, every[:1])

    assert len(scores.sentences) == len(every)
    assert len(scores.parts) == len(every[:1])
    for one in scores.sentences:
        assert one.keep + one.low_signal + one.transient == pytest.approx(1, abs=1e-4)
        assert 0 <= one.forbidden <= 1
        assert 0 <= one.style <= 1
        assert set(one.types) == set(TYPES)
        assert all(0 <= chance <= 1 for chance in one.types.values())
    assert 0 <= scores.forbidden <= 1


@pytest.mark.parametrize("earlier", [*TURNS, *ODD_TEXTS], ids=ascii)
@pytest.mark.parametrize("later", ["We moved to Hull.", "", "?!", "word " * 400], ids=["said", "empty", "odd", "long"])
def test_each_of_what_was_said_before_has_its_scores(classifier: Classifier, later: str, earlier: str) -> None:
    one, other = classifier.compare(later, [earlier, "Our dog is called Biscuit."])

    for scores, text in ((one, earlier), (other, "Our dog is called Biscuit.")):
        assert set(scores.relations) == set(RELATIONS)
        assert sum(scores.relations.values()) == pytest.approx(1, abs=1e-4)
        assert all(0 <= chance <= 1 for chance in scores.relations.values())
        assert 0 <= scores.over <= 1
        assert 0 <= scores.repeated <= 1
        assert all(0 <= word.over <= 1 and text[word.start : word.end].strip() for word in scores.words)
        assert [word.start for word in scores.words] == sorted(word.start for word in scores.words)


def test_nothing_said_before_has_no_scores(classifier: Classifier) -> None:
    assert list(classifier.compare("We moved to Hull.", [])) == []


def test_nothing_to_read_has_no_scores(classifier: Classifier) -> None:
    scores = classifier.read("", [])

    assert (scores.sentences, scores.parts) == ([], [])


def test_a_long_turn_is_read_to_its_end(classifier: Classifier) -> None:
    text = "We sold the boat to my cousin in Hull last spring. " * 80

    scores = classifier.read(text, spans(text))

    assert len(scores.sentences) == 80


def test_it_may_be_shared_between_threads(classifier: Classifier) -> None:
    alone = [classifier.read(text, spans(text)) for text in TURNS]
    found: dict[int, object] = {}

    def read(number: int) -> None:
        found[number] = classifier.read(TURNS[number % 4], spans(TURNS[number % 4]))

    threads = [threading.Thread(target=read, args=[number]) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [found[number] for number in range(16)] == [alone[number % 4] for number in range(16)]


def test_eight_bits_say_nearly_what_numpy_says(folder: Path) -> None:
    fast, exact = LocalClassifier(cache_dir=str(folder)), _without_onnxruntime()

    for text in TURNS:
        pairs = zip(fast.read(text, spans(text)).sentences, exact.read(text, spans(text)).sentences, strict=True)
        for one, other in pairs:
            assert one.keep == pytest.approx(other.keep, abs=0.15)
            assert one.types == pytest.approx(other.types, abs=0.1)


def test_it_tells_what_people_say_from_what_says_nothing(folder: Path) -> None:
    classifier = LocalClassifier(cache_dir=str(folder))
    lives, thanks, dog, alarm = (classifier.read(text, spans(text)).sentences[0] for text in TURNS)

    assert min(lives.keep, dog.keep) > 0.8
    assert thanks.keep < 0.2
    assert alarm.forbidden > 0.7
    assert max(lives.forbidden, thanks.forbidden, dog.forbidden) < 0.5


def test_it_tells_a_change_from_what_only_looks_like_one(folder: Path) -> None:
    classifier = LocalClassifier(cache_dir=str(folder))
    lives = "I live in York with my wife Anna and our twins."

    moved, sister, again = (
        classifier.compare(later, [lives])[0]
        for later in ("We've moved to Hull now.", "My sister moved to Hull.", "York is where the four of us live.")
    )

    assert moved.relations["replaces"] + moved.relations["ends"] > 0.75
    over = {lives[word.start : word.end].strip(".,") for word in moved.words if word.over >= 0.5}
    assert "York" in over
    assert not over & {"wife", "Anna", "twins"}
    assert max(sister.over, again.over) < 0.2 < 0.6 < moved.over
    assert max(sister.repeated, moved.repeated) < 0.05 < 0.1 < again.repeated
    for scores in (sister, again):
        assert scores.relations["replaces"] + scores.relations["ends"] < 0.5


def test_a_pair_is_cut_to_its_room_and_keeps_its_words_whole() -> None:
    tokenizer = WordPiece(read_vocabulary(find_model_folder()))
    earlier = "We sold the boat to my cousin in Hull last spring. " * 40

    one = pair("word " * 400, earlier, tokenizer)

    assert len(one.ids) <= LATER_ROOM + EARLIER_ROOM + 3
    assert one.later[1] - one.later[0] == LATER_ROOM
    assert [earlier[start:end] for start, end in one.spans] == earlier.split()[: len(one.spans)]
    assert one.words[-1][1] == one.earlier[1]


def test_a_changed_file_of_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checksums.json").write_text(json.dumps({"turns": "0" * 64}))
    (tmp_path / "turns.safetensors").write_bytes((low_rank.FOLDER / "turns.safetensors").read_bytes())

    with pytest.raises(AdapterError, match="not the one that was trained"):
        low_rank.read_tuned("turns", tmp_path)
    with pytest.raises(AdapterError, match="cannot be read"):
        low_rank.read_tuned("turns", tmp_path / "nowhere")


def test_all_weights_together_are_small() -> None:
    assert sum(path.stat().st_size for path in low_rank.FOLDER.iterdir()) <= 12_000_000


def test_windows_end_at_sentences_and_lose_no_token() -> None:
    tokenizer = WordPiece(read_vocabulary(find_model_folder()))
    text = "We sold the boat to my cousin in Hull last spring. " * 40 + "word " * 700

    tokens = tokenize(text, spans(text), tokenizer)

    windows = list(tokens.windows())
    assert [number for ids in windows for number in ids[1:-1]] == tokens.ids
    assert max(len(ids) for ids in windows) <= ROOM + 2
    for start, end in spans(text)[:40]:
        reached = tokens.range_of((start, end))
        assert reached is not None
        assert not any(reached[0] < cut < reached[1] for cut in tokens.starts)
