"""`memsync people`: who signs in to the browser, for which tenant, and as what."""

from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone
from rich.table import Table

from apps.accounts import factors
from apps.accounts.services import get_person, meet_person, start_over
from apps.audit.services import record
from apps.tenants.members import give_role, list_members, take_role
from apps.tenants.models import Role, Tenant
from memsync.management.plain import PlainCommand, add_json, chosen_tenant, operator, url


class Command(PlainCommand):
    help = "Say who signs in to the browser, for which tenant, and as what."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|remove|reset")
        add = verbs.add_parser(
            "add",
            help="give somebody a role; who is new gets a password",
            description="Give somebody a role in the tenant's organization. Who is new gets a password, shown once.",
        )
        add.add_argument("email")
        add.add_argument("--role", choices=Role.values, required=True)
        add.add_argument("--full-name", default="")
        listing = verbs.add_parser("list", help="list who has a role", description="List who has a role.")
        remove = verbs.add_parser("remove", help="take somebody's role away", description="Take somebody's role away.")
        remove.add_argument("email")
        reset = verbs.add_parser(
            "reset",
            help="start somebody over who has lost password, passkeys or codes",
            description="Give somebody a new password, and take passkeys, codes and sessions away. Make sure who asks.",
        )
        reset.add_argument("email")
        for verb in (add, listing, remove, reset):
            if verb is not reset:
                verb.add_argument("--tenant", metavar="NAME", help="whose (may be left out where there is one)")
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"add": self.add, "list": self.list, "remove": self.remove, "reset": self.reset}
        verbs[options["verb"]](options)

    def add(self, options: dict[str, Any]) -> None:
        tenant: Tenant = chosen_tenant(options["tenant"])
        with transaction.atomic():
            person, password = meet_person(options["email"], full_name=options["full_name"])
            give_role(tenant, person.pk, options["role"], actor=operator().label, now=timezone.now())
        self._tell(options, person.email, password, f"is {options['role']} in {tenant.organization}")

    def list(self, options: dict[str, Any]) -> None:
        tenant = chosen_tenant(options["tenant"])
        found = [
            {
                "email": one.user.email,
                "role": one.role,
                "factors": sorted(factors.types_of(one.user_id)),
                "last_sign_in": one.user.last_login.isoformat() if one.user.last_login else None,
            }
            for one in list_members(tenant)
        ]
        if options["json"]:
            self.say_json(found)
            return
        if not found:
            self.say(f"Nobody has a role in {tenant.organization}.")
            return
        table = Table("e-mail", "role", "second factors", "signed in last", box=None, pad_edge=False)
        for one in found:
            table.add_row(
                str(one["email"]), str(one["role"]), ", ".join(one["factors"] or ["none"]),
                str(one["last_sign_in"] or "never")[:16],
            )  # fmt: skip
        self.say(table)

    def remove(self, options: dict[str, Any]) -> None:
        tenant = chosen_tenant(options["tenant"])
        person = get_person(options["email"])
        take_role(tenant, person.pk, actor=operator().label, now=timezone.now())
        self._tell(options, person.email, None, f"has no role in {tenant.organization} any more")

    def reset(self, options: dict[str, Any]) -> None:
        person = get_person(options["email"])
        with transaction.atomic():
            password = start_over(person)
            target = f"account:{person.pk}"
            record(None, actor=operator().label, action="account.reset", target=target, now=timezone.now())
        self._tell(options, person.email, password, "has no passkey, no codes and no session any more")

    def _tell(self, options: dict[str, Any], email: str, password: str | None, what: str) -> None:
        at = (url() or "").replace("127.0.0.1", "localhost")
        if options["json"]:
            self.say_json({"email": email, "password": password, "url": f"{at}/app/" if at else None})
            return
        self.say_whole(f"{email} {what}.")
        if password:
            self.say_whole(f"  sign in at {at}/app/ with {password}")
            self.say_whole("  The password is shown this once; a passkey or an authenticator is asked for at once.")
