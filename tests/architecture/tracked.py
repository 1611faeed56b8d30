"""The files of the repository, for guards that read them: those that git tracks or would, as they are in the tree."""

import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[str]:
    """Paths from the root; patterns: of ``git ls-files``."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    paths = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in paths if (ROOT / path).exists()]
