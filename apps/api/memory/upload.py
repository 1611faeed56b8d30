"""POST /memory/upload: store the content of a file as memories."""

from typing import ClassVar

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.fields import Label
from apps.api.form_fields import FormFile, FormFlag, FormInput, FormMetadata
from apps.api.input_serializers import OWNERS
from apps.api.memory.memory_output import SkipOutput, StoredOutput, decisions_body, memory_body, skip_body
from apps.api.multipart import FormParser
from apps.api.operations import operation
from apps.api.views import ApiView
from apps.ingest.documents import remember_document
from apps.ingest.services import first_stored


class UploadInput(FormInput):
    """A file to store."""

    passed_over = OWNERS

    file = FormFile(help_text="PDF, DOCX, PPTX, XLSX, CSV, HTML, Markdown, text or source code.")
    source = Label(  # type: ignore[assignment]  # the wire's name, not DRF's
        required=False, help_text="Source label, stored unencrypted."
    )
    metadata = FormMetadata(required=False, help_text="Applies to every memory made from the file.")
    deduplicate = FormFlag(default=True, help_text="Skip passages that are stored already.")
    end_user_id = Label(required=False, max_length=256, help_text="Overrides the X-End-User-ID header.")


class UploadView(ApiView):
    permissions: ClassVar = {"POST": "memory:add"}
    meters: ClassVar = {"POST": "adds"}
    parser_classes = (FormParser,)

    @operation(
        "upload",
        request={"multipart/form-data": UploadInput},
        examples=[OpenApiExample("a file", {"file": "report.pdf", "source": "files"}, request_only=True)],
        responses={201: OpenApiResponse(StoredOutput, "Stored."), 200: OpenApiResponse(SkipOutput, "Not stored.")},
    )
    def post(self, request: Request) -> Response:
        """Store the content of a file.

        Its passages become memories.  Returns 201 and the first one, with the IDs of all in `memory_ids`; or 200 and
        the reason why nothing was stored.
        """
        fields, now = self.read(UploadInput), self.now()
        scope, end_user = self.scope(writes=True), self.end_user(fields.get("end_user_id"))
        scope, outcome = remember_document(
            scope,
            end_user,
            name=fields["file"].name,
            content=fields["file"].content,
            source=fields.get("source", ""),
            metadata=fields.get("metadata", {}),
            deduplicate=fields["deduplicate"],
            now=now,
        )
        if not outcome.is_stored:
            no_text = {} if outcome.decisions else {"reason": "no_extractable_text"}
            return Response(skip_body(outcome) | no_text)
        stored = memory_body(first_stored(scope, outcome, now=now))
        also = {"memory_ids": outcome.memory_ids, "decisions": decisions_body(outcome.decisions)}
        return Response(stored | also, status=201)
