"""Who and what a kept statement is about, and how they stand to each other: tables, and a few ways to read them."""

from text.extraction.entities.recognizer import read_entities

__all__ = ["read_entities"]
