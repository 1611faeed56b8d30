"""The report beside the weights is theirs, and says what they are good for."""

import hashlib
import json
from pathlib import Path
from typing import Any

from apps.adapters.classifiers.encoder import FOLDER

ROOT = Path(__file__).parents[2]
REPORT: dict[str, Any] = json.loads((ROOT / "training" / "report.json").read_text())
CHOSEN = "0.2"  # GATE_KEEP_FROM


def test_it_is_of_these_weights() -> None:
    digest = hashlib.sha256((FOLDER / "turns.safetensors").read_bytes()).hexdigest()

    assert REPORT["weights"] == digest
    assert json.loads((FOLDER / "checksums.json").read_text()) == {"turns": digest}


def test_authors_it_has_not_learned_from_are_understood() -> None:
    kept = REPORT["keep"][CHOSEN]

    assert kept["decisions"] >= 0.92
    assert kept["lost"] <= 0.02
    assert min(kept["by_author"].values()) >= 0.82
    assert REPORT["types"]["macro_f1"] >= 0.75
