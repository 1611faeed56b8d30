"""What authentication shows of a key's row is hidden again when it is done."""

from datetime import datetime

import pytest
from django.db import connection

from apps.apikeys.selectors import authenticate
from tests.makers import make_api_key, make_tenant

pytestmark = pytest.mark.django_db(databases="__all__", transaction=True)


def test_the_kid_that_authentication_sets_is_gone_after_it(now: datetime) -> None:
    """Outside of a transaction, as a request authenticates."""
    issued = make_api_key(make_tenant("acme").scope, now=now)

    authenticate(issued.text, now=now)

    with connection.cursor() as cursor:
        cursor.execute("select coalesce(current_setting('app.api_key_kid', true), ''), count(*) from apikeys_apikey")
        assert cursor.fetchone() == ("", 0)
