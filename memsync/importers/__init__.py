"""Exports of other products, read into records of an import (docs/api/imports.md).  Pure: no Django, no requests."""
