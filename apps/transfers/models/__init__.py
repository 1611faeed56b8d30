"""Models of imports and exports: jobs, their chunks, and links."""

from apps.transfers.models.exports import ExportChunk, ExportJob, ExportLink
from apps.transfers.models.imports import ImportChunk, ImportJob

__all__ = ["ExportChunk", "ExportJob", "ExportLink", "ImportChunk", "ImportJob"]
