"""GET /openapi.json and GET /docs: the API reference, for programs and for people."""

from functools import lru_cache
from typing import Any, ClassVar

from django.http import HttpResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.permissions import OPEN
from apps.api.views import OpenView

# The page's stylesheet uses data: images for arrows; everything else comes from this server.
CSP = {"img-src": ["'self'", "data:"]}


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The OpenAPI document.  Routes do not change while a process runs, so it is generated once."""
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return document


class SchemaView(OpenView):
    permissions: ClassVar = {"GET": OPEN}

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(schema())


class DocsView(OpenView):
    permissions: ClassVar = {"GET": OPEN}

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        page = render(request._request, "api/docs.html")
        page._csp_update = CSP  # type: ignore[attr-defined]  # read by the CSP middleware
        return page
