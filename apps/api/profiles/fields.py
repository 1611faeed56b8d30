"""Fields of typed memories: JSON content and vectors."""

from typing import Any, Final

import numpy as np
from drf_spectacular.utils import extend_schema_field
from numpy.typing import NDArray
from rest_framework import serializers

from apps.api.fields import MESSAGES
from apps.memories.typed import canonical_json

MAX_CONTENT: Final = 65_536  # bytes of canonical JSON
MAX_DIMENSIONS: Final = 4_096
_SAYS: Final = {
    "content": "must have at most {most} bytes of JSON",
    "vector": "must be a list of 1 to {most} numbers, not all of them 0",
}


@extend_schema_field({"description": "Any JSON but null."})
class Content(serializers.Field[str, Any, Any, Any]):
    """Any JSON value, as canonical JSON."""

    default_error_messages = MESSAGES | {"large": _SAYS["content"]}

    def to_internal_value(self, data: Any) -> str:
        content = canonical_json(data)
        if len(content.encode()) > MAX_CONTENT:
            self.fail("large", most=MAX_CONTENT)
        return content


@extend_schema_field({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": MAX_DIMENSIONS})
class Vector(serializers.Field[NDArray[np.float32], Any, Any, Any]):
    """A vector, scaled to unit length."""

    default_error_messages = MESSAGES | {"vector": _SAYS["vector"]}

    def to_internal_value(self, data: Any) -> NDArray[np.float32]:
        if not isinstance(data, list) or not 0 < len(data) <= MAX_DIMENSIONS or not {*map(type, data)} <= {int, float}:
            self.fail("vector", most=MAX_DIMENSIONS)
        vector = np.asarray(data, dtype=np.float64)
        with np.errstate(over="ignore"):
            length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0:
            self.fail("vector", most=MAX_DIMENSIONS)
        return (vector / length).astype(np.float32)
