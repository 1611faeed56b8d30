"""The server does what its OpenAPI document says: some requests for each operation (20,000: scripts/nightly)."""

from pathlib import Path

import pytest

from tests.fuzzing.__main__ import fuzz


@pytest.mark.e2e
def test_server_does_what_its_schema_says(tmp_path: Path, prepared_home: Path) -> None:
    found = fuzz(tmp_path / "home", 100, seed=20261121, systematic=False, prepared=prepared_home)

    assert found.is_clean, f"{found}\n" + "\n".join(found.told)
    assert found.cases >= 100
