"""`memsync people`: who signs in to the browser, for which tenant, and as what."""

from argparse import ArgumentParser
from typing import Any

from django.db import transaction
from django.utils import timezone
from rich.table import Table

from apps.accounts import enrolment, second_factors
from apps.accounts.services import Credentials, get_or_create_person, get_person, start_over
from apps.tenants.members import give_role, list_members, take_role
from apps.tenants.models import Role, Tenant
from memsync.management.plain import PlainCommand, add_json, chosen_tenant, operator, url


class Command(PlainCommand):
    help = "Manage users and their roles."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="add|list|remove|reset|code")
        add = verbs.add_parser(
            "add",
            help="give a user a role; a new user gets a password and a code",
            description="Give a user a role in the tenant's organization. A new user gets a password, and a code "
            "needed once to add the first passkey or authenticator. Both are shown once.",
        )
        add.add_argument("email")
        add.add_argument("--role", choices=Role.values, required=True)
        add.add_argument("--full-name", default="")
        listing = verbs.add_parser("list", help="list users and their roles", description="List users and their roles.")
        remove = verbs.add_parser("remove", help="remove a user's role", description="Remove a user's role.")
        remove.add_argument("email")
        reset = verbs.add_parser(
            "reset",
            help="reset a user who has lost password, passkeys or codes",
            description="Give a user a new password and code, and remove passkeys, authenticators and sessions. "
            "Verify their identity first.",
        )
        reset.add_argument("email")
        code = verbs.add_parser(
            "code",
            help="give a user another code for their first passkey or authenticator",
            description="Give a user who has no passkey and no authenticator another code, replacing the previous one. "
            "It is needed once, after the password, and valid for 30 days. Verify their identity first.",
        )
        code.add_argument("email")
        for verb in (add, listing, remove, reset, code):
            if verb not in (reset, code):
                verb.add_argument("--tenant", metavar="NAME", help="the tenant (optional if there is only one)")
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"add": self.add, "list": self.list, "remove": self.remove, "reset": self.reset, "code": self.code}
        verbs[options["verb"]](options)

    def add(self, options: dict[str, Any]) -> None:
        tenant: Tenant = chosen_tenant(options["tenant"])
        actor, now = operator().label, timezone.now()
        with transaction.atomic():
            person, made = get_or_create_person(options["email"], full_name=options["full_name"], actor=actor, now=now)
            give_role(tenant, person.pk, options["role"], actor=actor, now=now)
        self._tell(options, person.email, made, f"is {options['role']} in {tenant.organization}")
        if made is None and not options["json"]:
            self.say_whole(f"  The account exists since {person.created_at:%Y-%m-%d}: they sign in as before.")
            self.say_whole("  Its creator may know its password; `memsync people reset` resets it.")

    def list(self, options: dict[str, Any]) -> None:
        tenant = chosen_tenant(options["tenant"])
        found = [
            {
                "email": one.user.email,
                "role": one.role,
                "factors": sorted(second_factors.types_of(one.user_id)),
                "last_sign_in": one.user.last_login.isoformat() if one.user.last_login else None,
            }
            for one in list_members(tenant)
        ]
        if options["json"]:
            self.say_json(found)
            return
        if not found:
            self.say(f"No one has a role in {tenant.organization}.")
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
        made = start_over(person, actor=operator().label, now=timezone.now())
        self._tell(options, person.email, made, "has no passkey, no authenticator and no session any more")

    def code(self, options: dict[str, Any]) -> None:
        person = get_person(options["email"])
        code = enrolment.give_code(person, actor=operator().label, now=timezone.now())
        if options["json"]:
            self.say_json({"email": person.email, "enrolment_code": code, "url": _pages()})
            return
        self.say_whole(f"{person.email} signs in at {_pages()} as before, and adds a passkey or an authenticator with")
        self.say_whole(f"  {code}")
        self.say_whole("  It is shown only once, works once, and replaces the previous code.")

    def _tell(self, options: dict[str, Any], email: str, made: Credentials | None, what: str) -> None:
        if options["json"]:
            password, code = (made.password, made.enrolment_code) if made else (None, None)
            self.say_json({"email": email, "password": password, "enrolment_code": code, "url": _pages()})
            return
        self.say_whole(f"{email} {what}.")
        if made:
            self.say_whole(f"  sign in at {_pages()} with {made.password}")
            self.say_whole(f"  and add a passkey or an authenticator with the code {made.enrolment_code}")
            self.say_whole("  Both are shown only once; the code works once, within 30 days.")


def _pages() -> str | None:
    """URL of the pages for people.  Browsers allow no passkeys on IP addresses."""
    at = (url() or "").replace("127.0.0.1", "localhost")
    return f"{at}/app/" if at else None
