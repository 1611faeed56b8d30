"""The report beside the weights is theirs, and says what they are good for."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from apps.adapters.embedders.minilm.low_rank import FOLDER
from apps.ingest.change_rules import Sureness
from apps.ingest.orders import STYLE_FROM
from apps.recall.default_ranking import WEIGHTS_FILE as RANKING_WEIGHTS

ROOT = Path(__file__).parents[2]
REPORT: dict[str, Any] = json.loads((ROOT / "training" / "report.json").read_text())
RANKING: dict[str, Any] = json.loads((ROOT / "training" / "ranking_report.json").read_text())
RERANKING: dict[str, Any] = json.loads((ROOT / "training" / "reranking_report.json").read_text())
RELEVANCE: dict[str, Any] = json.loads((ROOT / "training" / "relevance_report.json").read_text())
CHOSEN = "0.1"  # GATE_KEEP_FROM


def test_it_is_of_these_weights() -> None:
    files = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.safetensors")}

    assert REPORT["weights"] == {name: files[name] for name in ("turns", "style", "pairs", "endings")}
    assert RANKING["encoder"] == files["retrieval"]
    assert RERANKING["weights"] == files["rerank"]
    assert RANKING["sha256"] == hashlib.sha256(RANKING_WEIGHTS.read_bytes()).hexdigest()
    assert json.loads((FOLDER / "checksums.json").read_text()) == files


def test_authors_it_has_not_learned_from_are_understood() -> None:
    kept = REPORT["keep"][CHOSEN]

    assert kept["decisions"] >= 0.92
    assert kept["lost"] <= 0.02
    assert min(kept["by_author"].values()) >= 0.82
    assert REPORT["types"]["macro_f1"] >= 0.75


def test_short_turns_by_authors_it_has_not_learned_from_are_kept_if_they_say_what_lasts() -> None:
    kept = REPORT["short"][CHOSEN]

    assert kept["lost"] <= 0.03
    assert kept["junk_kept"] <= 0.08


def test_wishes_about_style_are_told_from_actions_and_from_everything_else() -> None:
    taken = REPORT["style"][str(STYLE_FROM)]

    assert taken["style"] >= 0.3
    assert taken["action"] <= 0.05
    assert taken["none"] <= 0.05


def test_changes_by_authors_it_has_not_learned_from_are_noticed() -> None:
    pairs = REPORT["pairs"]

    assert pairs["relations"] >= 0.68
    assert pairs["changes"]["0.5"]["recall"] >= 0.70
    assert pairs["changes"]["0.75"]["precision"] >= 0.90
    assert pairs["words"]["precision"] >= 0.75
    assert pairs["stories"]["changes"]["0.5"]["recall"] >= 0.70
    assert pairs["stories"]["changes"]["0.5"]["precision"] >= 0.80


@pytest.mark.parametrize(("texts", "precision"), [("stories", 0.75), ("conversations", 0.62)])
def test_statements_that_the_pipeline_compares_end_where_they_are_over(texts: str, precision: float) -> None:
    found = REPORT["pairs"]["endings"][texts]

    assert found["pairs"] >= 400
    assert found["over"][str(Sureness().ends)]["recall"] >= 0.7
    assert found["over"][str(Sureness().ends)]["precision"] >= precision


def test_statements_that_differ_in_their_object_alone_hold_side_by_side() -> None:
    found = REPORT["pairs"]["endings"]["parallel"]

    assert found["pairs"] >= 160
    assert found["over_wrongly"] <= 0.07
    assert found["over"][str(Sureness().ends)]["recall"] >= 0.6


@pytest.mark.parametrize("kind", ["dialogue", "notes", "chat"])
def test_questions_by_authors_it_has_not_learned_from_are_answered_better(kind: str) -> None:
    alone, unseen = RANKING["vectors alone"], RANKING["validation"][kind]

    assert alone["memsync-retrieval/2"][kind]["ndcg@10"] >= alone["all-MiniLM-L6-v2/1"][kind]["ndcg@10"] + 8
    assert unseen["learned"]["ndcg@10"] >= unseen["before"]["ndcg@10"] + 1


def test_questions_in_other_languages_are_answered_better_than_by_vectors_alone() -> None:
    alone, unseen = RANKING["vectors alone"]["memsync-retrieval/2"], RANKING["validation"]

    assert unseen["non_english"]["learned"]["ndcg@10"] >= alone["non_english"]["ndcg@10"] + 5
    assert unseen["non_english"]["learned"]["ndcg@10"] >= unseen["non_english"]["before"]["ndcg@10"] + 1


@pytest.mark.parametrize(("split", "least", "gain"), [("validation", 76.5, 2), ("test", 81.5, 0.3)])
def test_reranked_questions_are_answered_better_and_those_about_nothing_less(
    split: str, least: float, gain: float
) -> None:
    found = RERANKING[split]
    read, floors = found["read"]["all"], found["floors"]

    assert read["20"]["ndcg@10"] >= max(least, read["0"]["ndcg@10"] + gain)
    assert read["20"]["frac@1"] >= read["0"]["frac@1"]
    assert found["calibration_error"]["with"] <= 0.02
    assert floors["with"]["0.02"]["nothing"] >= floors["without"]["0.02"]["nothing"] + 5
    assert floors["with"]["0.02"]["answered"] <= 1


def test_relevance_is_calibrated_and_the_floor_loses_little() -> None:
    for split in ("validation", "test"):
        found = RELEVANCE[split]

        assert found["calibration_error"] <= 0.01
        assert found["floors"]["0.015"]["empty"]["nothing"] >= 0.5
        assert found["floors"]["0.015"]["unanswered"] <= 0.01
