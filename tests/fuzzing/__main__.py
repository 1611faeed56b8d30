"""Ask the API what its own schema promises: schemathesis, every phase and every check, against a throw-away instance.

    scripts/fuzz [--cases N] [--seed S]

The first round goes through the examples and the edges of every parameter; rounds of random requests, and of walks
along the links, follow until there were so many cases.  Exit code 1 when anything was found.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.running import Up

HERE = Path(__file__).parent
SYSTEMATIC, RANDOM = "examples,coverage", "fuzzing,stateful"
EXAMPLES = 40  # of each operation in a round
CASES_OF_AN_EXAMPLE = 80  # more or less: every operation has one, and every walk
# The model is not what is asked here, and most of the time would be its.
FAKE = {"EMBEDDER_BACKEND": "apps.adapters.embedders.fake.FakeEmbedder", "EMBEDDER_OPTIONS": "{}"}


@dataclass
class Findings:
    """What came of it.  told: what schemathesis says of each round in which it found something."""

    cases: int = 0
    server_errors: int = 0
    violations: int = 0
    unanswered: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.server_errors or self.violations or self.unanswered)

    def __str__(self) -> str:
        return (
            f"{self.cases:,} cases: {self.server_errors} server errors, {self.violations} violations, "
            f"{self.unanswered} without an answer"
        )


def fuzz(home: Path, count: int, *, seed: int, systematic: bool = True, prepared: Path | None = None) -> Findings:
    """At least ``count`` cases against a fresh instance in ``home``.

    systematic: begin with the edges of every parameter, some thousands of cases.  prepared: as of ``Up``.
    """
    found = Findings()
    up = Up(home, prepared=prepared, **FAKE)
    try:
        key = _key_for_everything(up)
        phases = SYSTEMATIC if systematic else RANDOM
        while found.cases < count:
            examples = min(EXAMPLES, max(1, (count - found.cases) // CASES_OF_AN_EXAMPLE))
            _round(up.ready["url"], key, found, "--phases", phases, "--seed", str(seed), "-n", str(examples))
            phases, seed = RANDOM, seed + 1
            print(found, file=sys.stderr, flush=True)  # noqa: T201
    finally:
        up.stop()
    return found


def _key_for_everything(up: Up) -> str:
    """A key with every permission there is, of a tenant that lets keys retire memories."""
    tenant = up.ready["tenant"]
    _done(up, "tenant", "policy", tenant, "key_deletes=retire")
    issued = _done(up, "key", "issue", "--name", "fuzz", "--environment", "development", "--tenant", tenant,
                   "--scopes", "*", "memory:delete", "retention:write", "privacy:request", "--json")  # fmt: skip
    return str(json.loads(issued)["key"])


def _done(up: Up, *arguments: str) -> str:
    ran = up.run(*arguments)
    ran.check_returncode()
    return ran.stdout


def _round(url: str, key: str, found: Findings, *options: str) -> None:
    with tempfile.TemporaryDirectory(prefix="memsync-fuzz-") as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "--no-color",
                   "run", f"{url}/openapi.json", *options, "--generation-database", "none", "--warnings", "off",
                   "--report", "json", "--report-json-path", report]  # fmt: skip
        environment = os.environ | {"FUZZ_KEY": key, "SCHEMATHESIS_HOOKS": "tests.fuzzing.hooks"}
        environment["PYTHONPATH"] = str(HERE.parents[1])
        ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=folder)
        if not report.exists():
            raise RuntimeError(f"schemathesis did not run:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        _count(json.loads(report.read_text()), found)
        if ran.returncode != 0:
            found.told.append(ran.stdout)


def _count(report: dict[str, Any], found: Findings) -> None:
    found.cases += report["test_cases"]["generated"]
    found.unanswered += report["test_cases"]["errored"]
    for failure in report["failures"]:
        if failure["type"] == "ServerError":
            found.server_errors += failure["count"]
        else:
            found.violations += failure["count"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memsync-fuzz-") as folder:
        found = fuzz(Path(folder) / "home", options.cases, seed=options.seed)
    said = f"{found}; seed {options.seed}, {time.monotonic() - started:,.0f} s"
    print(*found.told, said, sep="\n")  # noqa: T201
    return 0 if found.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
