"""Errors of the embedded instance, each with the exit code of `memsync up`."""


class EmbeddedError(Exception):
    """The embedded instance cannot run.  The message says what to do; exit_code is that of `memsync up`."""

    exit_code = 1


class Misconfigured(EmbeddedError):
    exit_code = 2


class PortInUse(EmbeddedError):
    exit_code = 3


class DiskFull(EmbeddedError):
    exit_code = 4


class AlreadyRunning(EmbeddedError):
    exit_code = 5


class UnusableDirectory(EmbeddedError):
    exit_code = 6


class RootRefused(EmbeddedError):
    exit_code = 7


class StartFailed(EmbeddedError):
    exit_code = 8
