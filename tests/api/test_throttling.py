"""Rate limits: exact under concurrency, forgiving to those who wait, absent by default."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.apikeys import rate_limits
from apps.apikeys.onboarding import OpenedTenant
from apps.apikeys.rate_limits import TIERS, RateCeiling, take
from apps.projects.scope import Environment
from tests.api.conftest import Caller

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.mark.django_db(databases="__all__")
class TestWindows:
    def test_ceiling_is_reached_and_not_passed(self) -> None:
        verdicts = [take("ann", [RateCeiling(60, 3)], now=START) for _ in range(5)]

        assert [verdict.is_allowed for verdict in verdicts] == [True, True, True, False, False]
        assert [verdict.remaining for verdict in verdicts] == [2, 1, 0, 0, 0]
        assert verdicts[3].limit == 3

    def test_callers_do_not_share_a_window(self) -> None:
        take("ann", [RateCeiling(60, 1)], now=START)

        assert take("bob", [RateCeiling(60, 1)], now=START).is_allowed

    @pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
    def test_who_waits_as_long_as_told_passes_and_who_comes_earlier_does_not(self, spread: float) -> None:
        windows = [RateCeiling(60, 5)]
        at = 37.0
        for _ in range(5):
            assert take("ann", windows, now=after(at)).is_allowed
            at += spread
        refused = take("ann", windows, now=after(at))

        assert not refused.is_allowed
        assert not take("ann", windows, now=after(at + refused.retry_after_seconds - 0.1)).is_allowed
        assert take("ann", windows, now=after(at + refused.retry_after_seconds + 0.001)).is_allowed

    def test_any_minute_is_limited_wherever_it_begins(self) -> None:
        windows = [RateCeiling(60, 10)]
        passed = [at for at in range(300) if take("ann", windows, now=after(at)).is_allowed]

        # Against a stream of one a second, the approximation lets no more through than the limit and one.
        assert all(sum(begin <= at < begin + 60 for at in passed) <= 11 for begin in range(240))
        assert len(passed) >= 45

    def test_all_windows_must_have_room(self) -> None:
        windows = [RateCeiling(1, 2), RateCeiling(60, 3)]
        passed = [take("ann", windows, now=after(second)).is_allowed for second in (0, 0, 0, 2, 4)]

        assert passed == [True, True, False, True, False]

    def test_refused_requests_cost_nothing(self) -> None:
        windows = [RateCeiling(1, 1), RateCeiling(60, 3)]
        for _ in range(20):
            take("ann", windows, now=START)

        assert take("ann", windows, now=after(2)).is_allowed
        assert take("ann", windows, now=after(4)).is_allowed

    def test_old_windows_are_forgotten(self) -> None:
        for second in range(0, 100, 2):
            take("ann", [RateCeiling(1, 2), RateCeiling(60, 1000)], now=after(second))

        with connection.cursor() as cursor:
            cursor.execute("select count(*) from apikeys_ratewindow where caller = 'ann'")
            assert cursor.fetchone()[0] <= 4

    def test_windows_of_those_who_stay_away_are_swept_and_none_that_counts(self) -> None:
        windows = [RateCeiling(1, 5), RateCeiling(60, 5)]
        take("ann", windows, now=START)
        take("bob", windows, now=START)

        assert rate_limits.forget(now=after(119)) == 2  # the seconds; the minute before still counts

        assert take("ann", windows, now=after(119)).remaining == 3
        assert rate_limits.forget(now=after(240)) == 4

    def test_one_statement_while_there_is_room(self) -> None:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            take("ann", TIERS["free"], now=START)

        assert len(queries) == 1


@pytest.mark.django_db(databases="__all__", transaction=True)
def test_ceiling_holds_when_all_come_at_once(django_db_blocker: Any) -> None:
    def ask(_: int) -> int:
        with django_db_blocker.unblock():
            try:
                return sum(take("crowd", [RateCeiling(60, 100)], now=START).is_allowed for _ in range(40))
            finally:
                connection.close()

    with ThreadPoolExecutor(8) as pool:
        passed = list(pool.map(ask, range(8)))

    assert sum(passed) == 100


@pytest.mark.django_db(databases="__all__")
class TestApi:
    @pytest.fixture
    def free(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two a minute with a key and five without, so that a slow machine reaches the limit as well."""
        settings.RATE_LIMIT_TIER = "free"
        monkeypatch.setitem(rate_limits.TIERS, "free", (RateCeiling(60, 2),))  # type: ignore[arg-type]  # a dict in fact
        monkeypatch.setattr(rate_limits, "WITHOUT_KEY", (RateCeiling(60, 5),))

    def test_default_has_no_limit_and_does_no_work(self, alice: Caller) -> None:
        with CaptureQueriesContext(connection) as queries:
            responses = [alice("GET", "/memory/1") for _ in range(5)]

        assert {response.status_code for response in responses} == {404}
        assert not any("ratewindow" in query["sql"] for query in queries)
        assert "X-RateLimit-Limit" not in responses[0]

    @pytest.mark.usefixtures("free")
    def test_limit_answers_429_with_the_wait_in_body_and_headers(self, alice: Caller) -> None:
        responses = [alice("GET", "/memory/1") for _ in range(4)]

        limited = responses[-1]
        assert limited.status_code == 429
        body = limited.json()
        assert body["error"]["code"] == "RATE_LIMIT_EXCEEDED"
        assert body["retry_after"] == body["error"]["retry_after"] == int(limited["Retry-After"]) >= 1
        assert limited["X-RateLimit-Remaining"] == "0"
        assert int(limited["X-RateLimit-Reset"]) >= 1
        assert responses[0]["X-RateLimit-Limit"] == "2"

    @pytest.mark.usefixtures("free")
    def test_each_key_has_its_own_windows(self, acme: OpenedTenant, alice: Caller) -> None:
        for _ in range(4):
            alice("GET", "/memory/1")

        assert Caller(acme.keys[Environment.STAGING])("GET", "/memory/1").status_code == 404

    @pytest.mark.usefixtures("free")
    def test_routes_without_a_key_are_limited_by_address(self) -> None:
        statuses = [Caller(None)("GET", "/health").status_code for _ in range(8)]

        assert statuses[:5] == [200] * 5
        assert 429 in statuses
