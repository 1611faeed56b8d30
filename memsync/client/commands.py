"""The commands `add`, `ask`, `import`, `export`, `open`, `logs` and `completion`: their arguments and exit codes."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from memsync.client import completion, exporting, importing, local, memories
from memsync.client.output import note
from memsync.client.server import CommandFailed

EPILOG: Final = (
    "Instead of options: MEMSYNC_URL, MEMSYNC_API_KEY and MEMSYNC_END_USER. Exit codes: 0 done, 1 refused, 2 invalid "
    "arguments, 3 the server cannot be reached."
)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except CommandFailed as failure:
        note(str(failure))
        return failure.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(prog="memsync")
    commands = whole.add_subparsers(dest="command", required=True)
    for module in (memories, importing, exporting, local, completion):
        module.add_parsers(commands)
    for command in commands.choices.values():
        command.epilog = "\n\n".join(part for part in (command.epilog, EPILOG) if part)
    return whole
