"""A conversation to try memsync with: who said what over eight months, and what to ask afterwards."""

from memsync.demo.conversation import Question, Turn, conversation, questions

__all__ = ["Question", "Turn", "conversation", "questions"]
