"""`memsync completion`: what the shells that are installed here complete."""

import shutil
import subprocess
import sys

import pytest

from memsync import cli
from memsync.client import commands
from memsync.client.completion import command_tree

COMPLETE = """
source {script}
COMP_WORDS=({words}) COMP_CWORD={place}
_memsync
echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("completion") / "memsync.bash"
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m memsync.cli completion bash > {file}"], check=False)
    assert done.returncode == 0
    return str(file)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("memsync imp", {"import"}),
        ("memsync ", {*cli.OURS, *cli.OWN, *cli.CLIENT, "mcp", "migrate", "check", "--help", "--version"}),
        ("memsync import --dry", {"--dry-run"}),
        ("memsync ask where --ans", {"--answer"}),
        ("memsync mcp install --c", {"--claude-code", "--cursor", "--codex"}),
        ("memsync key is", {"issue"}),
        ("memsync key issue --name x --sc", {"--scopes"}),
        ("memsync completion ", {"bash", "zsh", "fish", "--help"}),
    ],
)
def test_bash_completes_commands_and_their_options(script: str, typed: str, expected: set[str]) -> None:
    words = typed.split(" ")
    program = COMPLETE.format(script=script, words=" ".join(f'"{word}"' for word in words), place=len(words) - 1)

    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_the_shell_is_valid(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["completion", shell]) == 0
    program = capsys.readouterr().out
    assert "claude-code" in program
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed here")

    done = subprocess.run([shell, "-n"], input=program, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_of_the_help_is_completed() -> None:
    named = {line.split()[1] for line in cli.HELP.splitlines() if line.startswith("  memsync ")}

    assert named <= set(dict(command_tree()))
