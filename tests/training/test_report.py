"""The report beside the weights is theirs, and says what they are good for."""

import hashlib
import json
from pathlib import Path
from typing import Any

from apps.adapters.classifiers.encoder import FOLDER

ROOT = Path(__file__).parents[2]
REPORT: dict[str, Any] = json.loads((ROOT / "training" / "report.json").read_text())
CHOSEN = "0.1"  # GATE_KEEP_FROM


def test_it_is_of_these_weights() -> None:
    files = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.safetensors")}

    assert REPORT["weights"] == files
    assert json.loads((FOLDER / "checksums.json").read_text()) == files


def test_authors_it_has_not_learned_from_are_understood() -> None:
    kept = REPORT["keep"][CHOSEN]

    assert kept["decisions"] >= 0.92
    assert kept["lost"] <= 0.02
    assert min(kept["by_author"].values()) >= 0.82
    assert REPORT["types"]["macro_f1"] >= 0.75


def test_changes_by_authors_it_has_not_learned_from_are_noticed() -> None:
    pairs = REPORT["pairs"]

    assert pairs["relations"] >= 0.68
    assert pairs["changes"]["0.5"]["recall"] >= 0.70
    assert pairs["changes"]["0.75"]["precision"] >= 0.90
    assert pairs["words"]["precision"] >= 0.75
    assert pairs["stories"]["changes"]["0.5"]["recall"] >= 0.70
    assert pairs["stories"]["changes"]["0.5"]["precision"] >= 0.80
