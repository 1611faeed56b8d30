"""`memsync oauth`: clients that people may connect."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError
from django.db import transaction
from django.utils import timezone
from rich.table import Table

from apps.apikeys.oauth import end_client
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.web.oauth import clients
from memsync.management.plain import PlainCommand, add_json, operator


class Command(PlainCommand):
    help = "Manage the clients that people may connect through OAuth."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|remove")
        add = verbs.add_parser("add", help="add a client", description="Add a client. A secret is shown once.")
        add.add_argument("name")
        add.add_argument(
            "--redirect-uri",
            action="append",
            required=True,
            metavar="URI",
            help="an address of the client that answers may be sent to; repeat it for more",
        )
        add.add_argument("--secret", action="store_true", help="for a client that keeps one, such as a web service")
        listing = verbs.add_parser("list", help="list all clients", description="List all clients.")
        remove = verbs.add_parser(
            "remove",
            help="remove a client and end its access",
            description="Remove a client. All access that people gave it ends.",
        )
        remove.add_argument("client_id")
        for verb in (add, listing, remove):
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        {"add": self.add, "list": self.list, "remove": self.remove}[options["verb"]](options)

    def add(self, options: dict[str, Any]) -> None:
        try:
            with transaction.atomic():
                client, secret = clients.create(
                    options["name"], options["redirect_uri"], is_public=not options["secret"], now=timezone.now()
                )
                _note(AuditAction.OAUTH_CLIENT_ADD, client.pk)
        except clients.ClientRefused as refused:
            raise CommandError(str(refused)) from None
        if options["json"]:
            self.say_json({"client_id": client.pk, "client_secret": secret, "redirect_uris": options["redirect_uri"]})
            return
        self.say_whole(f"{client.name} is a client. Enter in it:")
        self.say_whole(f"  client id      {client.pk}")
        if secret:
            self.say_whole(f"  client secret  {secret}  (shown once)")

    def list(self, options: dict[str, Any]) -> None:
        found = [
            {
                "client_id": one.pk,
                "name": one.name,
                "origin": _origin(one.data or {}),
                "redirect_uris": one.get_redirect_uris(),
                "created_at": one.created_at.isoformat(),
            }
            for one in clients.list_all()
        ]
        if options["json"]:
            self.say_json(found)
            return
        if not found:
            self.say("There are no clients.")
            return
        table = Table("client id", "name", "from", "redirect addresses", box=None, pad_edge=False)
        for one in found:
            table.add_row(one["client_id"], one["name"], one["origin"], " ".join(one["redirect_uris"]))
        self.say(table)

    def remove(self, options: dict[str, Any]) -> None:
        ended = end_client(options["client_id"], now=timezone.now())
        with transaction.atomic():
            if not clients.remove(options["client_id"]):
                raise CommandError("There is no such client; `memsync oauth list` shows all.")
            _note(AuditAction.OAUTH_CLIENT_REMOVE, options["client_id"])
        if options["json"]:
            self.say_json({"client_id": options["client_id"], "ended": ended})
            return
        self.say_whole(f"Removed; {ended} people's access ended.")


def _note(action: AuditAction, client_id: str) -> None:
    record(None, actor=operator().label, action=action, target=f"oauth_client:{client_id}", now=timezone.now())


def _origin(data: dict[str, Any]) -> str:
    if data.get("document"):
        return "its document"
    return "itself" if data.get("registered") else "an operator"
