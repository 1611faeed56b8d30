"""/exports: files of memories, created in the background, and single-use download links."""

import base64
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, ClampedInQuery, Flag, Label, Moment, Text
from apps.api.input_serializers import Input, Parameters
from apps.api.operations import operation
from apps.api.permissions import OPEN
from apps.api.views import ApiView, OpenView
from apps.retention.subject_requests import note_taken
from apps.transfers.exports.filters import ExportFilters
from apps.transfers.exports.links import Download, LinkRefused, issue_link, use_link
from apps.transfers.exports.services import Export, cancel_export, get_export, list_exports, retry_export, start_export

FORMATS: Final = ("csv", "jsonl")
REACHES: Final = ("filtered", "all", "date_range")
STATES: Final = ("pending", "running", "completed", "failed", "cancelled", "expired")
TIERS: Final = ("hot", "warm", "cold")
MOST: Final = 100


class ExportFiltersInput(Input):
    """A memory must match all given filters."""

    q = Text(required=False, max_length=1000, help_text="Words that all occur in text, summary, tags or source.")
    user_id = Label(required=False, max_length=256, help_text="Your own ID for the end user.")
    namespace = Label(required=False, max_length=256, help_text="Of a profile, with its name as `user_id`.")
    is_summary = Flag(required=False)
    tier = Choice(choices=TIERS, required=False)
    source = Label(required=False)  # type: ignore[assignment]  # the wire's name, not DRF's
    time_range = Label(required=False, max_length=8, help_text="Period before now: 24h, 7d, 4w, 1y.")
    date_from = Moment(required=False, help_text="Stored at this time or later.")
    date_to = Moment(required=False, is_end=True, help_text="Stored at this time or before; a date: by its end.")
    include_soft_deleted = Flag(default=False, help_text="Include deleted memories that can still be restored.")


class ExportInput(Input):
    format = Choice(choices=FORMATS)
    scope = Choice(choices=REACHES, default="filtered")
    filters = ExportFiltersInput(required=False)


class ExportPage(Parameters):
    """How many."""

    limit = ClampedInQuery(lowest=1, highest=MOST, default=20, help_text="20 by default.")


class ExportJobOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    project_id = serializers.CharField(allow_null=True)
    environment = serializers.CharField()
    format = serializers.ChoiceField(choices=FORMATS)
    scope = serializers.ChoiceField(choices=REACHES)
    filters = serializers.DictField()
    status = serializers.ChoiceField(choices=STATES)
    error_message = serializers.CharField(allow_null=True)
    retry_count = serializers.IntegerField()
    total_rows = serializers.IntegerField(allow_null=True, help_text="Null until all rows were decrypted to count.")
    processed_rows = serializers.IntegerField()
    unreadable_rows = serializers.IntegerField(help_text="Rows that could not be decrypted and were left out.")
    progress_percentage = serializers.FloatField()
    file_size_bytes = serializers.IntegerField(allow_null=True)
    sha256_hash = serializers.CharField(allow_null=True)
    download_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    download_url = serializers.CharField(allow_null=True, help_text="Always null: request a single-use link.")


class StartedExportOutput(serializers.Serializer[Any]):
    job = ExportJobOutput()
    estimated_total = serializers.IntegerField(allow_null=True)


class ExportsOutput(serializers.Serializer[Any]):
    jobs = ExportJobOutput(many=True)
    total = serializers.IntegerField()


class LinkOutput(serializers.Serializer[Any]):
    download_url = serializers.CharField()
    expires_at = serializers.DateTimeField()
    file_size_bytes = serializers.IntegerField()
    filename = serializers.CharField()


class ExportsView(ApiView):
    permissions: ClassVar = {"GET": "exports:read", "POST": "exports:write"}
    reads: ClassVar = frozenset({"GET", "POST"})

    @operation(
        "create_export",
        request=ExportInput,
        examples=[OpenApiExample("a week", {"format": "jsonl", "filters": {"time_range": "7d"}}, request_only=True)],
        responses={202: StartedExportOutput},
    )
    def post(self, request: Request) -> Response:
        """Export memories of all end users to a file, in the background.

        Covers the key's environment and the request's project.  Returns 202 and the job at once; GET the job for its
        progress, and a link when it is completed.
        """
        fields = self.read(ExportInput)
        started = start_export(
            self.scope(),
            format_=fields["format"],
            reach=fields["scope"],
            filters=ExportFilters(**fields.get("filters", {})),
            now=self.now(),
        )
        return Response(_started(started), status=202)

    @operation("list_exports", parameters=[ExportPage], responses=ExportsOutput)
    def get(self, request: Request) -> Response:
        """List the exports of the environment, newest first."""
        jobs, total = list_exports(self.scope(), limit=self.read_parameters(ExportPage)["limit"])
        return Response({"jobs": [_body(job) for job in jobs], "total": total})


class ExportJobView(ApiView):
    permissions: ClassVar = {"GET": "exports:read"}

    @operation("get_export", responses=ExportJobOutput)
    def get(self, request: Request, job_id: str) -> Response:
        """One export: its state, progress and file."""
        return Response(_body(get_export(self.scope(), job_id)))


class CancelExportView(ApiView):
    permissions: ClassVar = {"POST": "exports:write"}

    @operation("cancel_export", request=None, responses=ExportJobOutput)
    def post(self, request: Request, job_id: str) -> Response:
        """Cancel an export and delete its partial file.  An export that has ended does not change."""
        return Response(_body(cancel_export(self.scope(), job_id, now=self.now())))


class RetryExportView(ApiView):
    permissions: ClassVar = {"POST": "exports:write"}

    @operation("retry_export", request=None, responses={202: StartedExportOutput})
    def post(self, request: Request, job_id: str) -> Response:
        """Retry an export that failed, was cancelled or has expired."""
        return Response(_started(retry_export(self.scope(), job_id, now=self.now())), status=202)


class DownloadUrlView(ApiView):
    permissions: ClassVar = {"GET": "exports:read"}
    fresh: ClassVar = frozenset({"GET"})  # of a user: requires a confirmation in the last ten minutes

    @operation("get_export_download_url", responses=LinkOutput)
    def get(self, request: Request, job_id: str) -> Response:
        """A single-use link to the file, valid for a few minutes.  It is itself the credential."""
        link = issue_link(self.scope(), job_id, now=self.now())
        return Response(
            {
                "download_url": request.build_absolute_uri(f"/exports/{link.public_id}/file/{link.token}"),
                "expires_at": link.expires_at,
                "file_size_bytes": link.size_bytes,
                "filename": link.filename,
            }
        )

    def head(self, request: Request, job_id: str) -> Response:
        """As asking for the export: a link that nobody reads is not made."""
        get_export(self.scope(), job_id)
        return Response()


class ExportFileView(OpenView):
    permissions: ClassVar = {"GET": OPEN}

    @operation(
        "take_export_file",
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/jsonl"): OpenApiTypes.STR},
    )
    def get(self, request: Request, job_id: str, token: str) -> HttpResponseBase:
        """The file of a link; the link becomes invalid."""
        file = use_link(job_id, token, now=self.now())
        answer = StreamingHttpResponse(_pieces(self, file), content_type=file.content_type)
        answer.headers["Content-Length"] = str(file.size_bytes)
        answer.headers["Content-Disposition"] = f'attachment; filename="{file.filename}"'
        # RFC 9530, section 3.
        answer.headers["Repr-Digest"] = f"sha-256=:{base64.b64encode(bytes.fromhex(file.sha256)).decode()}:"
        answer.headers["Referrer-Policy"] = "no-referrer"
        return answer

    def head(self, request: Request, job_id: str, token: str) -> Response:
        """Refused, and the link left as it is: programs that look at links ask so before anybody takes the file."""
        raise LinkRefused


def _pieces(view: ExportFileView, file: Download) -> Iterator[bytes]:
    """The pieces of the file; after the last one, the privacy request that the file answers is completed."""
    yield from file.pieces
    if file.privacy_request_id is not None:
        note_taken(file.scope, file.privacy_request_id, now=view.now())


def _started(export: Export) -> dict[str, Any]:
    return {"job": _body(export), "estimated_total": export.total}


def _body(export: Export) -> dict[str, Any]:
    job = export.job
    return {
        "id": job.public_id,
        "project_id": export.project,
        "environment": job.environment,
        "format": job.format,
        "scope": job.reach,
        "filters": export.filters.to_json(),
        "status": job.status,
        "error_message": export.problem,
        "retry_count": job.retries,
        "total_rows": export.total,
        "processed_rows": job.rows,
        "unreadable_rows": job.unreadable,
        "progress_percentage": export.progress,
        "file_size_bytes": export.result.size_bytes if export.result else None,
        "sha256_hash": export.result.sha256 if export.result else None,
        "download_count": job.downloads,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "expires_at": job.expires_at,
        "download_url": None,
    }
