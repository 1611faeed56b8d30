"""Entities and relations in a kept statement: word tables, and the rules that read them."""

from text.extraction.entities.recognizer import read_entities

__all__ = ["read_entities"]
