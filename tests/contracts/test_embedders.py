"""Every embedder keeps the same promises: those of ``apps.adapters.embedders.base``."""

from pathlib import Path

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from apps.adapters.embedders.base import Embedder
from apps.adapters.embedders.fake import FailingEmbedder, FakeEmbedder
from apps.adapters.embedders.local import FineTunedEmbedder, LocalEmbedder
from apps.adapters.embedders.minilm import loading
from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_embedder
from tests.contracts.runtimes import without_onnxruntime

ODD_TEXTS = [
    "",
    " ",
    "?!",
    "naïve café, Ångström",
    "日本語のテキスト",
    "मनीष ने कहा",
    "👨‍👩‍👧 family",
    "\x00\x07\ufffd\u200b",
    "lone \ud800 surrogate",
    "[SEP] [CLS] [PAD]",
]


def _local(kind: type[LocalEmbedder], folder: Path) -> LocalEmbedder:
    embedder = kind(cache_dir=str(folder))
    assert embedder.runtime_name == "onnxruntime int8"
    return embedder


def _local_without_onnxruntime(kind: type[LocalEmbedder]) -> LocalEmbedder:
    with without_onnxruntime(loading):
        embedder = kind()
        assert embedder.runtime_name == "numpy"
    return embedder


@pytest.fixture(
    scope="module",
    params=["fake", "local", "local without onnxruntime", "fine-tuned", "fine-tuned without onnxruntime"],
)
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    if request.param == "fake":
        return FakeEmbedder()
    kind = FineTunedEmbedder if request.param.startswith("fine-tuned") else LocalEmbedder
    if request.param.endswith("without onnxruntime"):
        return _local_without_onnxruntime(kind)
    return _local(kind, tmp_path_factory.mktemp("models"))


def test_an_embedder_has_the_shape_of_its_protocol(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.id
    assert embedder.dimensions == 384


def test_vectors_are_float32_one_row_per_text_and_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(["I live in Lisbon.", "I moved to Porto.", "The build failed."])

    assert vectors.dtype == np.float32
    assert vectors.shape == (3, embedder.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    vectors = embedder.embed([])

    assert vectors.dtype == np.float32
    assert vectors.shape == (0, embedder.dimensions)


def test_the_same_text_gives_the_same_vector(embedder: Embedder) -> None:
    first = embedder.embed(["I live in Lisbon."])
    second = embedder.embed(["I live in Lisbon."])

    assert np.array_equal(first, second)


def test_a_vector_depends_neither_on_the_texts_beside_it_nor_on_their_order(embedder: Embedder) -> None:
    texts = ["short", "a somewhat longer text about bread", "bread " * 200, "I live in Lisbon.", ""]

    together = embedder.embed(texts)
    reversed_ = embedder.embed(texts[::-1])
    alone = np.concatenate([embedder.embed([text]) for text in texts])

    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(together - reversed_[::-1]).max() < 1e-5


@pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
def test_any_text_has_a_finite_unit_vector(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text])

    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


def test_a_very_long_text_has_a_vector(embedder: Embedder) -> None:
    vectors = embedder.embed(["All work and no play. " * 5_000, "x" * 100_000])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "close", "far"),
    [
        ("Where does Anna live?", "Anna lives in Lisbon.", "The build failed on Tuesday."),
        ("She is allergic to peanuts.", "Her peanut allergy is severe.", "They painted the kitchen green."),
        ("the deployment failed", "a failed deployment", "my favourite colour is green"),
    ],
)
def test_texts_about_the_same_thing_are_closer_than_texts_that_are_not(
    embedder: Embedder, text: str, close: str, far: str
) -> None:
    vectors = embedder.embed([text, close, far])

    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


@pytest.mark.parametrize("permanent", [True, False])
def test_an_embedder_that_is_down_says_whether_to_try_again(permanent: bool) -> None:
    embedder = FailingEmbedder(permanent=permanent)

    with pytest.raises(AdapterError) as raised:
        embedder.embed(["anything"])

    assert raised.value.permanent is permanent
    assert "anything" not in str(raised.value)


def test_the_configured_embedder_is_made_once_and_follows_the_settings() -> None:
    with override_settings(EMBEDDER=_config("FakeEmbedder", dimensions=8)):
        first, second = get_embedder(), get_embedder()
    with override_settings(EMBEDDER=_config("FailingEmbedder")):
        failing = get_embedder()

    assert first is second
    assert first.dimensions == 8
    assert isinstance(failing, FailingEmbedder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "EMBEDDER must be"),
        ({}, "EMBEDDER must be"),
        ({"BACKEND": "apps.adapters.embedders.fake.Missing"}, "EMBEDDER_BACKEND names no class"),
        ({"BACKEND": "no"}, "EMBEDDER_BACKEND names no class"),
    ],
)
def test_an_embedder_that_cannot_be_found_is_a_configuration_error(config: object, message: str) -> None:
    with override_settings(EMBEDDER=config), pytest.raises(ImproperlyConfigured, match=message):
        get_embedder()


def _config(name: str, **options: object) -> dict[str, object]:
    return {"BACKEND": f"apps.adapters.embedders.fake.{name}", "OPTIONS": options}
