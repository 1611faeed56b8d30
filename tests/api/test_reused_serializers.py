"""A thread's serializers are reused: nothing of one request is left in them for the next."""

from typing import Any

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from apps.api import input_serializers
from apps.api.input_serializers import Input


class Inner(Input):
    number = serializers.IntegerField()


class Outer(Input):
    name = serializers.CharField()
    inner = serializers.ListField(child=Inner(), required=False)

    def to_internal_value(self, data: Any) -> Any:
        fields = super().to_internal_value(data)
        if fields["name"] == "nested":
            fields["other"] = Outer.check({"name": "other"})
        return fields


def test_data_and_errors_of_one_request_are_gone_in_the_next() -> None:
    assert Outer.check({"name": "a", "inner": [{"number": 1}]}) == {"name": "a", "inner": [{"number": 1}]}
    with pytest.raises(ValidationError) as refused:
        Outer.check({"name": "secret", "inner": [{"number": "x"}, {"nmber": 2}]})
    assert {*refused.value.get_codes()} == {"inner"}

    kept = input_serializers._kept.serializers[Outer]

    assert "secret" not in repr(vars(kept))
    assert Outer.check({"name": "b"}) == {"name": "b"}
    assert input_serializers._kept.serializers[Outer] is kept


def test_checking_may_come_to_the_same_class_again() -> None:
    assert Outer.check({"name": "nested"}) == {"name": "nested", "other": {"name": "other"}}
    assert Outer.check({"name": "c"}) == {"name": "c"}
