"""A rotation with real workers that are killed and a database that restarts; large by ``scripts/nightly``."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e

SIZE = {
    "rows": os.environ.get("ROTATION_ROWS", "500"),
    "kills": os.environ.get("ROTATION_KILLS", "5"),
    "restarts": os.environ.get("ROTATION_RESTARTS", "1"),
}


@pytest.mark.skipif("ROTATION_ROWS" not in os.environ, reason="for scripts/nightly; ROTATION_ROWS=500 runs it")
def test_killed_workers_and_a_restart_lose_mix_and_leave_nothing() -> None:
    options = [part for name, value in SIZE.items() for part in (f"--{name}", value)]
    ours = ("MEMSYNC", "DJANGO", "DATABASE", "KEYRING", "OPERATOR", "CELERY", "CACHE", "SECRET", "EMBED", "KMS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}

    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", "rotation", *options, "--pace-rows", "0", "--questions", "50"],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip

    assert ended.stdout, ended.stderr[-3000:]
    result = json.loads(ended.stdout.splitlines()[-1])
    assert result["is_good"], result
