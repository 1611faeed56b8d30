"""The model's files, its numpy pass, its ONNX graph, and the file that keeps the graph."""

import logging
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from apps.adapters.embedders.local import LocalEmbedder
from apps.adapters.embedders.minilm import loading, onnx_graph, weights
from apps.adapters.embedders.minilm.graph_file import FILE_NAME, read_or_build
from apps.adapters.embedders.minilm.reference import NumpyRuntime
from apps.adapters.embedders.minilm.weights import Array, find_model_folder, read_vocabulary, read_weights
from apps.adapters.embedders.minilm.wordpiece import WordPiece
from apps.adapters.errors import AdapterError

TEXTS = [
    "I moved to Lisbon in March.",
    "Where does Anna live now?",
    "The deployment failed because the database was out of disk space.",
    "My sister's wedding is on the 14th of June, and we still need a photographer.",
    "Remember that I do not eat fish, eggs or anything with gluten. " * 8,
]
WORDS = ["ok", "yes", "Lisbon", "peanuts", "where?"]


@pytest.fixture(scope="module")
def reference() -> NumpyRuntime:
    folder = find_model_folder()
    return NumpyRuntime(read_weights(folder), WordPiece(read_vocabulary(folder)))


@pytest.fixture(scope="module")
def graph_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    LocalEmbedder(cache_dir=str(folder)).warm()
    return folder


@pytest.fixture
def damaged_folder(graph_folder: Path, tmp_path: Path) -> Path:
    content = bytearray((graph_folder / FILE_NAME).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / FILE_NAME).write_bytes(content)
    return tmp_path


def test_numpy_gives_the_published_models_vectors(reference: NumpyRuntime) -> None:
    # Made once by another implementation, itself within 3e-7 of sentence-transformers.
    expected = [0.116376, -0.008803, 0.075938, 0.034802, 0.016719, 0.048712, -0.079167, -0.020118]

    vector = reference.embed(["I moved to Lisbon in March."])[0]

    assert vector[:8] == pytest.approx(expected, abs=2e-6)


def test_onnx_vectors_are_close_to_numpys(reference: NumpyRuntime, graph_folder: Path) -> None:
    embedder = LocalEmbedder(cache_dir=str(graph_folder))

    sentences = np.sum(embedder.embed(TEXTS) * reference.embed(TEXTS), axis=1)
    words = np.sum(embedder.embed(WORDS) * reference.embed(WORDS), axis=1)

    assert embedder.runtime_name == "onnxruntime int8"
    assert sentences.min() >= 0.98
    # Fewer tokens average out less of the rounding.
    assert words.min() >= 0.96


def test_a_cached_graph_is_not_built_again(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_graph, "build_graph", _never)

    assert LocalEmbedder(cache_dir=str(graph_folder)).runtime_name == "onnxruntime int8"


def test_a_damaged_graph_is_built_again(damaged_folder: Path, graph_folder: Path) -> None:
    embedder = LocalEmbedder(cache_dir=str(damaged_folder))

    assert embedder.runtime_name == "onnxruntime int8"
    assert (damaged_folder / FILE_NAME).read_bytes() == (graph_folder / FILE_NAME).read_bytes()


def test_an_empty_graph_file_is_built_again(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"")

    assert read_or_build(tmp_path, lambda: b"graph") == b"graph"


def test_a_graph_that_differs_from_the_model_is_neither_used_nor_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(onnx_graph, "build_graph", _graph_with_words_shuffled(onnx_graph.build_graph))
    embedder = LocalEmbedder(cache_dir=str(tmp_path))

    assert embedder.runtime_name == "numpy"
    assert not (tmp_path / FILE_NAME).exists()
    assert "numpy will" in caplog.text


def test_a_folder_that_cannot_be_used_costs_only_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert LocalEmbedder(cache_dir=str(tmp_path / "file" / "models")).runtime_name == "onnxruntime int8"


def test_graph_is_built_once_however_many_want_it(tmp_path: Path) -> None:
    builds = []
    together = threading.Barrier(4)

    def build() -> bytes:
        builds.append(1)
        return b"graph"

    def want(_: int) -> bytes:
        together.wait()
        return read_or_build(tmp_path, build)

    with ThreadPoolExecutor(4) as pool:
        graphs = list(pool.map(want, range(4)))

    assert graphs == [b"graph"] * 4
    assert len(builds) == 1


def test_a_build_that_fails_leaves_no_graph_and_no_scraps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", full_disk)

    with pytest.raises(OSError, match="no space"):
        read_or_build(tmp_path, lambda: b"graph")

    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_threads_share_one_embedder(graph_folder: Path) -> None:
    embedder = LocalEmbedder(cache_dir=str(graph_folder))
    expected = LocalEmbedder(cache_dir=str(graph_folder)).embed(TEXTS)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: embedder.embed(TEXTS), range(8)))

    assert all(np.array_equal(result, expected) for result in results)


def test_a_forked_child_embeds_with_a_runtime_of_its_own(graph_folder: Path) -> None:
    embedder = LocalEmbedder(cache_dir=str(graph_folder))
    expected = embedder.embed(TEXTS)
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)

    # Held while forking, as if another thread were loading: the child must not wait for it.
    with embedder._runtime._lock:
        child = fork.Process(target=_embed_in_child, args=(embedder, sender))
        child.start()
    answered = receiver.poll(30)
    result = receiver.recv() if answered else None
    child.kill()
    child.join()

    assert result is not None
    was_loaded, vectors = result
    assert not was_loaded
    assert np.array_equal(vectors, expected)


def test_nothing_is_loaded_before_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "find_model_folder", _never)

    assert LocalEmbedder().embed([]).shape == (0, 384)


def test_a_missing_model_is_an_adapter_error_worth_trying_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")

    with pytest.raises(AdapterError, match="not installed") as raised:
        LocalEmbedder().embed(["secret"])

    assert not raised.value.permanent
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("read", [read_weights, read_vocabulary])
def test_files_that_are_not_the_published_ones_are_refused(tmp_path: Path, read: Callable[[Path], object]) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"forged")
    (tmp_path / "vocab.txt").write_text("forged")

    with pytest.raises(AdapterError, match="not the published file"):
        read(tmp_path)


def test_logs_hold_no_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    LocalEmbedder().embed(["zygomorphic canary"])

    assert caplog.records
    assert not any("zygomorphic" in str(vars(record)) for record in caplog.records)


def _never(*_: object) -> object:
    raise AssertionError("this must not be called")


def _graph_with_words_shuffled(
    build: Callable[[weights.ModelWeights], bytes],
) -> Callable[[weights.ModelWeights], bytes]:
    def build_wrongly(good: weights.ModelWeights) -> bytes:
        return build(weights.ModelWeights(good.words[::-1], good.positions, good.norm, good.layers))

    return build_wrongly


def _embed_in_child(embedder: LocalEmbedder, sender: multiprocessing.connection.Connection) -> None:
    was_loaded = bool(embedder._runtime._loaded)
    vectors: Array = embedder.embed(TEXTS)
    sender.send((was_loaded, vectors))
