"""Multipart forms as the published client sends them."""

from typing import Any

import httpx

BOUNDARY = "memsync-test-boundary"


def form(content: bytes | None, name: str = "notes.txt", **fields: str) -> tuple[bytes, str]:
    """The body and its content type."""
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    files: Any = {} if content is None else {"file": (name, content)}
    request = httpx.Request(
        "POST", "http://testserver/", headers={"Content-Type": content_type}, data=fields, files=files or {"": b""}
    )
    return request.read(), content_type
