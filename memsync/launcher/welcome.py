"""What `memsync up` prints for a person once it is ready."""

import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text


def show(said: dict[str, Any], *, home: Path) -> None:
    """Print without boxes and wrapping, so that keys and commands can be copied."""
    console = Console(soft_wrap=True, highlight=False)
    url, keys = said["url"], said["keys"]
    # Repeat how it was started: outside uv's environment there is no command of this name.
    memsync = "uv run memsync" if os.environ.get("UV") else "memsync"
    people = url.replace("127.0.0.1", "localhost")  # browsers allow no passkeys on IP addresses

    def line(label: str, value: str | None, note: str = "") -> None:
        shown = Text(value, style="bold") if value else Text("shown once, when it was made", style="dim")
        whole = Text(f"  {label:<16}", style="dim") + shown
        console.print(whole + Text(f"  {note}", style="dim") if note else whole)  # a copied line ends with its secret

    console.print()
    console.print(f"[bold green]memsync is ready[/], in {said['started_in_s']} s")
    console.print()
    line("API", url, f"reference: {url}/docs")
    line("tenant", said["tenant"], f"project {said['project']}")
    for environment, key in keys.items():
        line(f"{environment} key", key)
    for label, path, note, who in (
        ("memories", "app", "console: browse, delete, restore", said["owner"]),
        ("admin", "admin", "admin: operators cannot read memories", said["operator"]),
    ):
        line(label, f"{people}/{path}/", note)
        line("sign in as", who["email"])
        line("with password", who["password"])
        if who["enrolment_code"]:
            line("and once, code", who["enrolment_code"])
    line("data and keys", str(home), "back up kek.json separately from the database")
    console.print()
    console.print(f"{said['retention']} An owner changes that under Retention.\n")
    if keys.get("development"):
        call = f"curl -s {{}} -H 'X-API-Key: {keys['development']}' -H 'X-End-User-ID: alice'"
        call += " -H 'Content-Type: application/json' -d '{}'"
        console.print("Keys, passwords and codes are shown only once; the keys are valid for 90 days.")
        console.print(f"`{memsync} key issue` makes another, `{memsync} up --reissue` all of them, the passwords")
        console.print("and the codes. A code is asked for once: the first user to sign in adds a passkey or an")
        console.print("authenticator with it.\n")
        console.print("Store a memory, then recall it:\n")
        print(call.format(f"{url}/memory/add", '{"text": "I moved to Lisbon in May and cycle to work."}'))
        print(call.format(f"{url}/memory/query", '{"query": "How do I get to the office?"}'))
    else:
        console.print(f"`{memsync} up --reissue` makes new keys, passwords and codes.")
    console.print("\nCtrl-C stops everything. The data stays.")
    console.file.flush()
