"""Texts that end the worker that reads them.  For settings that name it among the apps."""
