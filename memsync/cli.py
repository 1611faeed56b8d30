"""The `memsync` command.  Those of OWN, CLIENT and `mcp` start fast, without Django; the others are its commands."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

from memsync import instance
from memsync.hardening import keep_out_of_dumps
from memsync.loading import without_collection

OWN = ("up", "down", "status")
CLIENT = ("add", "ask", "import", "export", "open", "logs", "completion")  # these use a server as any program does
OURS = (
    "audit",
    "backup",
    "demo",
    "doctor",
    "key",
    "keys",
    "oauth",
    "people",
    "prepare",
    "privacy",
    "recall",
    "receipt",
    "reembed",
    "restore",
    "retention",
    "shred",
    "space",
    "tenant",
    "types",
)  # our own management commands
NEEDED = ("SECRET_KEY", "DATABASE_URL", "KEYRING_URL")
ALONE = ("backup", "restore")  # these also work on embedded databases while the service is stopped
AS_OWNER = ("migrate", "prepare", "makemigrations", *ALONE)  # the only commands that may change the schema
HELP = """memsync: encrypted memory for AI agents

  memsync up            start all services here and keep them running (--help for more)
  memsync down          stop it
  memsync status        show what runs
  memsync open          open the console in a browser
  memsync logs          show the logs
  memsync doctor        check every part and report problems

  memsync add           store a text about an end user
  memsync ask           recall what answers a question
  memsync import        move in from mem0, Zep, supermemory, Letta, ChatGPT or Claude, or from an export
  memsync export        write all memories of an end user to a file
  memsync mcp           serve a memory to an MCP client on stdin and stdout; `install` configures one
  memsync demo          replay a conversation: what is stored, rejected and recalled

  memsync tenant ...    create and list tenants; set their policies and quotas
  memsync people ...    manage users and their roles
  memsync key ...       issue, list, rotate and revoke API keys
  memsync oauth ...     add, list and remove clients that people may connect through OAuth
  memsync keys ...      rotate, watch, rewrap and destroy the keys that memories are encrypted under
  memsync space ...     list spaces; seal sensitive ones, so that no index data is stored for them
  memsync types ...     add, split and retire memory types, and migrate memories
  memsync reembed       embed memories again after the embedder changed
  memsync recall ...    list, show and replay recall traces
  memsync retention ... show and set retention rules, preview removals; legal holds
  memsync audit ...     verify, list and export the audit trail
  memsync shred ...     erase memories, people, projects or tenants permanently
  memsync privacy ...   list and carry out privacy requests
  memsync receipt ...   list, download and verify erasure receipts
  memsync backup        back up the data and, separately, the keyring
  memsync restore       restore backups, without data erased since
  memsync prepare       migrate and grant; on an empty database create the first tenant
  memsync migrate       migrate one database
  memsync check         check the settings
  memsync completion    complete commands in bash, zsh or fish

and every other command of Django: `memsync help` lists them.  MEMSYNC_HOME says where the embedded instance lives
(default: ./.memsync); with DATABASE_URL set nothing is embedded."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code."""
    keep_out_of_dumps()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(HELP)
        return
    if given[0] == "--version":
        print(version("memsync"))
        return
    if given[0] == "mcp":
        from memsync.mcp.commands import main as speak

        sys.exit(speak(given[1:]))
    if given[0] in OWN:
        from memsync.launcher import commands

        sys.exit(commands.main(given))
    if given[0] in CLIENT:
        from memsync.client import commands as client

        sys.exit(client.main(given))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")
    if given[0] in AS_OWNER:
        os.environ["MEMSYNC_AS_OWNER"] = "1"
    if given[0] == "help" or "-h" in given or "--help" in given or _reads_only_a_file(given):
        _configure_for_nothing()
    elif given[0] in ALONE:
        sys.exit(_run_alone(given))
    _run(given)


def _run_alone(given: Sequence[str]) -> int:
    """Run the command on the embedded databases, unless DATABASE_URL is set.  A restore needs the service stopped."""
    from memsync.launcher.embedded.errors import EmbeddedError
    from memsync.ops import offline

    if instance.given("DATABASE_URL") or (given[0] == "backup" and not offline.is_needed()):
        _run(given)
        return 0
    try:
        if given[0] == "restore":
            offline.settle_for(given)
        with offline.databases():
            _run(given)
    except EmbeddedError as error:
        print(f"memsync: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _run(given: Sequence[str]) -> None:
    with without_collection():
        import django
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line, get_commands

        with suppress(ImproperlyConfigured):  # some of Django's commands need no settings; the others say what is wrong
            django.setup()

    try:
        execute_from_command_line(["memsync", *given])
    except ImproperlyConfigured as error:
        if given[0] not in (*OURS, *get_commands()):
            sys.exit(f"memsync: there is no command {given[0]!r}; `memsync --help` lists them.")
        if "DATABASE_URL" not in os.environ and "DATABASE_URL_FILE" not in os.environ:
            sys.exit("memsync: nothing runs here. Start it with `memsync up`, or set DATABASE_URL and its like.")
        sys.exit(f"memsync: {error}")


def management_parsers() -> dict[str, argparse.ArgumentParser]:
    """Of our management commands and `migrate`, for completion: loads Django, and needs no databases."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsync.settings")
    _configure_for_nothing()
    import django
    from django.core.management import get_commands, load_command_class

    django.setup()
    known = get_commands()
    loaded = {name: load_command_class(known[name], name) for name in (*OURS, "migrate", "check")}
    return {name: command.create_parser("memsync", name) for name, command in loaded.items()}


def _reads_only_a_file(given: Sequence[str]) -> bool:
    """Whether the command verifies an exported audit trail or a receipt, which needs no running instance."""
    if list(given[:2]) == ["receipt", "verify"]:
        return True
    return list(given[:2]) == ["audit", "verify"] and any(one.split("=")[0] == "--file" for one in given)


def _configure_for_nothing() -> None:
    """Set placeholder settings for help and for commands that only read a file: they open no database."""
    for name in NEEDED:
        if not instance.given(name):
            os.environ[name] = "postgres://nobody@127.0.0.1:1/nothing"


if __name__ == "__main__":
    main()
