"""The one error that leaves an adapter."""


class AdapterError(Exception):
    """An adapter could not do its work.

    permanent: True when this input will never be accepted, so that trying again is pointless; False when the fault lies
    with the adapter (a model that is missing, a service that is down) and the same input may succeed later.
    Messages hold no user content.
    """

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent
