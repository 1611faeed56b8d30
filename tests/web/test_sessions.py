"""Sessions of browsers: what the database keeps of one is worth nothing, and people see and end their own."""

import pytest
from django.conf import settings
from django.contrib.sessions.backends.base import UpdateError
from django.db import connection
from django.test import Client

from apps.accounts.models import BrowserSession
from apps.accounts.session_store import SessionStore
from apps.apikeys.onboarding import OpenedTenant
from tests.web.people import Person, make_person, text, to_page

pytestmark = pytest.mark.django_db(databases="__all__")

HERE = "/app/sign-in"


def test_what_the_database_keeps_of_a_session_opens_none(owner: Person, acme: OpenedTenant) -> None:
    """An attacker who reads every table has no cookie that works."""
    client = owner.show_factor(ago=1)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    with connection.cursor() as cursor:
        cursor.execute("select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace")
        held = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'select t::text from "{table}" t')  # noqa: S608  (a table of ours)
            held += [f"{table} {row}" for (row,) in cursor.fetchall()]
    (row,) = BrowserSession.objects.filter(user=owner.user)

    assert not [one.partition(" ")[0] for one in held if cookie in one]
    for stolen in (bytes(row.digest).hex(), bytes(row.digest).decode("latin-1"), str(row.pk), row.data[:32]):
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = stolen
        assert to_page(thief.get("/app/t/acme")) == HERE
    assert client.get("/app/t/acme").status_code == 200


def test_session_that_was_ended_is_not_written_again_by_a_request_under_way(owner: Person) -> None:
    client = owner.show_factor()
    under_way = SessionStore(client.session.session_key)
    under_way["seen_at"] = 1.0
    client.post("/app/sign-out")

    with pytest.raises(UpdateError):
        under_way.save()

    assert not BrowserSession.objects.filter(user=owner.user).exists()


def test_sessions_of_others_and_of_an_older_password_are_not_listed(owner: Person, globex: OpenedTenant) -> None:
    make_person(globex.tenant).show_factor()
    elsewhere = Person(owner.user, owner.password, Client(), owner.seed)
    elsewhere.show_factor()
    owner.user.set_password("another password altogether")
    owner.user.save()
    client = owner.show_factor()

    assert text(client.get("/app/account/sessions")).count("since ") == 1
    client.post("/app/account/sessions")

    assert BrowserSession.objects.filter(user=owner.user).count() == 1
    assert BrowserSession.objects.count() == 2
