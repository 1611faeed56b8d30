"""Connectors are not there, and every path of theirs says so."""

import re

import pytest

from apps.api.connectors import READ, WRITE
from apps.apikeys.onboarding import OpenedTenant
from tests.api.conftest import Caller
from tests.api.test_access import STUBS, Row
from tests.makers import make_api_key

pytestmark = pytest.mark.django_db(databases="__all__")


def path(row: Row) -> str:
    return re.sub(r"<\w+:\w+>", "1", row.route)


def test_every_path_says_what_is_not_there(alice: Caller) -> None:
    for row in STUBS:
        response = alice(row.method, path(row))
        assert response.status_code == row.status, str(row)
        if row.status != 200:
            code = "CONNECTION_NOT_FOUND" if row.status == 404 else "NOT_IMPLEMENTED"
            assert response.json()["error"]["code"] == code, str(row)
            assert response.json()["request_id"] == response["X-Request-ID"]


def test_nobody_is_answered_without_a_key_or_the_permission(acme: OpenedTenant) -> None:
    other = {READ: WRITE, WRITE: READ}
    lacking = {name: Caller(make_api_key(acme.scope, scopes=[scope]).text) for name, scope in other.items()}
    for row in STUBS:
        assert Caller(None)(row.method, path(row)).status_code == 401, str(row)
        assert lacking[row.permission](row.method, path(row)).status_code == 403, str(row)


def test_other_methods_are_refused(alice: Caller) -> None:
    for route in {row.route for row in STUBS}:
        listed = {row.method for row in STUBS if row.route == route}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - listed:
            response = alice(method, re.sub(r"<\w+:\w+>", "1", route))
            assert (response.status_code, set(response["Allow"].split(", "))) == (405, listed), f"{method} {route}"
