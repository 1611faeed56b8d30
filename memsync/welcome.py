"""What `memsync up` says to a person when it is ready."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table


def show(said: dict[str, Any], *, home: Path) -> None:
    console = Console()
    url, keys, operator = said["url"], said["keys"], said["operator"]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("API", f"{url}  (reference: {url}/docs)")
    table.add_row("tenant", f"{said['tenant']}, project {said['project']}")
    for environment, key in keys.items():
        table.add_row(f"{environment} key", key or "[dim]shown once, when it was made[/dim]")
    table.add_row("admin", f"{url}/admin/")
    table.add_row("sign in as", f"{operator['email']}  {operator['password'] or '[dim](password shown once)[/dim]'}")
    table.add_row("data and keys", f"{home}  (back up kek.json apart from the database)")
    console.print(Panel(table, title=f"memsync is ready, in {said['started_in_s']} s", border_style="green"))
    if keys.get("development"):
        # Not through rich: a line that is to be copied must not be wrapped.
        call = f"curl -s {{}} -H 'X-API-Key: {keys['development']}' -H 'X-End-User-ID: alice'"
        call += " -H 'Content-Type: application/json' -d '{}'"
        print("\nRemember something, then ask for it:\n")
        print(call.format(f"{url}/memory/add", '{"text": "I moved to Lisbon in May and cycle to work."}'))
        print(call.format(f"{url}/memory/query", '{"query": "How do I get to the office?"}'))
    else:
        print("\nThe keys were shown when they were made; `memsync up --reissue` makes new ones.")
    print("\nCtrl-C stops everything. The data stays.", flush=True)
