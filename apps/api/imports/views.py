"""/imports: a file of records, imported in the background; its progress; cancelling it."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Choice, ClampedInQuery, Label
from apps.api.form_fields import FormFile, FormFlag, FormInput
from apps.api.input_serializers import Parameters
from apps.api.multipart import FormParser, ImportFormParser
from apps.api.operations import operation
from apps.api.parsers import StrictJSONParser
from apps.api.views import ApiView
from apps.transfers.imports.services import Import, cancel_import, get_import, list_imports, start_import

STATES: Final = ("pending", "running", "completed", "failed", "cancelled")
MOST: Final = 100


class ImportInput(FormInput):
    """A file of records: one JSON object per line; or, if its name ends in .json, an array or an export."""

    file = FormFile(help_text="Each record is an item of `POST /memory/bulk-add`, or a memory of `GET /memory/export`.")
    resume = FormFlag(default=False, help_text="Every record has a `client_ref`; records stored already are counted.")
    continue_on_error = FormFlag(default=False, help_text="An invalid record is reported; the others are imported.")
    end_user_id = Label(required=False, max_length=256, help_text="For records that name none.")


class ListInput(Parameters):
    """Which imports."""

    status = Choice(choices=STATES, required=False, help_text="Only these.")
    limit = ClampedInQuery(lowest=1, highest=MOST, default=20, help_text="How many; 20 by default.")


class ImportErrorOutput(serializers.Serializer[Any]):
    line = serializers.IntegerField()
    reason = serializers.CharField()


class ImportOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=STATES)
    filename = serializers.CharField()
    format = serializers.CharField()
    resume = serializers.BooleanField()
    continue_on_error = serializers.BooleanField()
    total_records = serializers.IntegerField()
    processed_records = serializers.IntegerField()
    created = serializers.IntegerField()
    skipped = serializers.IntegerField()
    rejected = serializers.IntegerField()
    already_imported = serializers.IntegerField()
    pending_review = serializers.IntegerField(help_text="Records held for review (`/v1/candidates`).")
    progress_percentage = serializers.FloatField()
    errors = ImportErrorOutput(many=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)


class ImportsOutput(serializers.Serializer[Any]):
    jobs = ImportOutput(many=True)
    total = serializers.IntegerField()


class ImportsView(ApiView):
    permissions: ClassVar = {"GET": "imports:read", "POST": "imports:write"}
    meters: ClassVar = {"POST": "adds"}
    silent_answer = None  # a whole file is never dropped silently
    parser_classes = (ImportFormParser,)

    @operation(
        "create_import",
        request={"multipart/form-data": ImportInput},
        examples=[OpenApiExample("a file", {"file": "memories.jsonl", "resume": "true"}, request_only=True)],
        responses={202: ImportOutput},
    )
    def post(self, request: Request) -> Response:
        """Import a file of records in the background.

        Returns 202 and the job at once; GET the job for its progress.
        """
        fields, now = self.read(ImportInput), self.now()
        started = start_import(
            self.scope(writes=True),
            name=fields["file"].name,
            content=fields["file"].content,
            end_user=self.end_user_or_none(fields.get("end_user_id")),
            resume=fields["resume"],
            continue_on_error=fields["continue_on_error"],
            now=now,
        )
        return Response(import_body(started), status=202)

    @operation(
        "list_imports",
        parameters=[ListInput],
        responses=ImportsOutput,
    )
    def get(self, request: Request) -> Response:
        """List imports, newest first."""
        asked = self.read_parameters(ListInput)
        jobs, total = list_imports(self.scope(), status=asked.get("status"), limit=asked["limit"])
        return Response({"jobs": [import_body(job) for job in jobs], "total": total})


class ImportView(ApiView):
    permissions: ClassVar = {"GET": "imports:read"}

    @operation("get_import", responses=ImportOutput)
    def get(self, request: Request, job_id: str) -> Response:
        """One import: its state, counts and first hundred errors."""
        return Response(import_body(get_import(self.scope(), job_id)))


class CancelImportView(ApiView):
    permissions: ClassVar = {"POST": "imports:write"}
    parser_classes = (StrictJSONParser, FormParser)

    @operation("cancel_import", request=None, responses=ImportOutput)
    def post(self, request: Request, job_id: str) -> Response:
        """Stop an import between batches.

        Imported records stay.  An import that has ended does not change.
        """
        return Response(import_body(cancel_import(self.scope(), job_id, now=self.now())))


def import_body(found: Import) -> dict[str, Any]:
    job = found.job
    return {
        "id": job.public_id,
        "status": job.status,
        "filename": found.filename,
        "format": job.format,
        "resume": job.resume,
        "continue_on_error": job.continue_on_error,
        "total_records": job.total_records,
        "processed_records": job.processed_records,
        "created": job.created,
        "skipped": job.skipped,
        "rejected": job.rejected,
        "already_imported": job.already_imported,
        "pending_review": job.pending_review,
        "progress_percentage": found.progress,
        "errors": list(found.errors),
        "created_at": job.created_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
    }
