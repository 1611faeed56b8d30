"""A demo conversation: turns of two speakers over eight months, and questions to ask afterwards."""

from memsync.demo.conversation import DemoQuestion, DemoTurn, conversation, questions

__all__ = ["DemoQuestion", "DemoTurn", "conversation", "questions"]
