"""Who and what a kept statement is about, and how they stand to each other: tables, and a few ways to read them."""

from apps.ingest.rules.entities.reading import read_entities

__all__ = ["read_entities"]
