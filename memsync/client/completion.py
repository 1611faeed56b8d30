"""`memsync completion`: a script that completes commands and options in bash, zsh or fish.

The script holds all of them, so that a key press starts no Python.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

SHELLS: Final = ("bash", "zsh", "fish")

BASH: Final = r"""# Completion of memsync for bash: source <(memsync completion bash)
_memsync() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} path="" key words="" index
    for (( index = 1; index < COMP_CWORD; index++ )); do
        key="${{path:+$path }}${{COMP_WORDS[index]}}"
        case "$key" in
            {paths}) path=$key ;;
        esac
    done
    case "$path" in
{cases}
    esac
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
complete -o default -F _memsync memsync
"""
ZSH: Final = r"""#compdef memsync
# Completion of memsync for zsh: source <(memsync completion zsh)
_memsync() {{
    local path_="" key index
    local -a words_
    for (( index = 2; index < CURRENT; index++ )); do
        key="${{path_:+$path_ }}${{words[index]}}"
        case "$key" in
            {paths}) path_=$key ;;
        esac
    done
    case "$path_" in
{cases}
    esac
    compadd -- $words_ || _files
}}
compdef _memsync memsync
"""


@dataclass(frozen=True, slots=True)
class CommandWords:
    """words: what may follow the command, as subcommands, options and choices.  help: by subcommand."""

    words: tuple[str, ...]
    help: Mapping[str, str]


def add_parsers(commands: Any) -> None:
    command = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print a script for the shell: bash and zsh `source <(memsync completion bash)`, fish `memsync "
        "completion fish | source`.",
    )
    command.add_argument("shell", choices=SHELLS)
    command.set_defaults(run=print_script)


def print_script(options: argparse.Namespace) -> int:
    tree = dict(command_tree())
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](tree), end="")
    return 0


def command_tree() -> Iterator[tuple[str, CommandWords]]:
    """Every command and subcommand, by its words, and "" for `memsync` itself."""
    parsers = _parsers()
    yield (
        "",
        CommandWords((*sorted(parsers), "--help", "--version"), {name: _line(one) for name, one in parsers.items()}),
    )
    for name, one in sorted(parsers.items()):
        yield from _below(name, one)


def _below(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, CommandWords]]:
    words: list[str] = []
    helps: dict[str, str] = {}
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps |= {one.dest: str(one.help or "") for one in action._choices_actions}
            below += [(f"{path} {name}", one) for name, one in action.choices.items()]
            words += action.choices
        elif action.help is not argparse.SUPPRESS:
            words += [option for option in action.option_strings if option.startswith("--")]
            words += [str(one) for one in action.choices or () if not action.option_strings]
    yield path, CommandWords(tuple(words), helps)
    for name, one in below:
        yield from _below(name, one)


def _parsers() -> dict[str, argparse.ArgumentParser]:
    """Of every command of memsync, also of those that Django runs."""
    from memsync import cli
    from memsync.client import commands as own
    from memsync.launcher import commands as launcher
    from memsync.mcp import commands as mcp

    found: dict[str, argparse.ArgumentParser] = {"mcp": mcp.parser()}
    for parser in (own.parser(), launcher.parser()):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= action.choices
    return found | cli.management_parsers()


def _line(parser: argparse.ArgumentParser) -> str:
    """The first sentence of what a command does."""
    return " ".join((parser.description or "").split()).partition(". ")[0].rstrip(".")


def _bash(tree: Mapping[str, CommandWords]) -> str:
    cases = "\n".join(f'        "{path}") words="{" ".join(one.words)}" ;;' for path, one in tree.items())
    return BASH.format(paths=_paths(tree), cases=cases)


def _zsh(tree: Mapping[str, CommandWords]) -> str:
    cases = "\n".join(f'        "{path}") words_=({" ".join(one.words)}) ;;' for path, one in tree.items())
    return ZSH.format(paths=_paths(tree), cases=cases)


def _fish(tree: Mapping[str, CommandWords]) -> str:
    lines = ["# Completion of memsync for fish: memsync completion fish | source"]
    for path, one in tree.items():
        names = path.split()
        below = [word for word in one.words if not word.startswith("-")]
        condition = "__fish_use_subcommand" if not names else "; and ".join(
            [f"__fish_seen_subcommand_from {name}" for name in names]
            + ([f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else [])
        )  # fmt: skip
        for word in one.words:
            option = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
            help_ = one.help.get(word, "").replace("\\", "").replace("'", "")
            lines.append(f"complete -c memsync -n '{condition}' {option}" + (f" -d '{help_}'" if help_ else ""))
    return "\n".join(lines) + "\n"


def _paths(tree: Mapping[str, CommandWords]) -> str:
    return "|".join(f'"{path}"' for path in tree if path)
