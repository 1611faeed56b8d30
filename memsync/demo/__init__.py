"""A conversation to try memsync with: who said what over eight months, and what to ask afterwards."""

from memsync.demo.conversation import DemoQuestion, DemoTurn, conversation, questions

__all__ = ["DemoQuestion", "DemoTurn", "conversation", "questions"]
