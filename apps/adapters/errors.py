"""The base class of errors that adapters raise."""


class AdapterError(Exception):
    """An adapter failed.

    permanent: True when this input will never be accepted, so that a retry is pointless; False when the adapter is at
    fault (a missing model, a service that is down) and the same input may succeed later.
    Messages contain no user content.
    """

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent
