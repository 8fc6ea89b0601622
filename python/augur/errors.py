"""What goes wrong, as exceptions: one class for each kind of the engine's errors (docs/errors.md)."""
from __future__ import annotations

from typing import Any

from augur._core import ErrorKind

__all__ = ["CancelledError", "ContextFullError", "Error", "ErrorKind", "InternalError", "MalformedError", "MisuseError",
           "NotFoundError", "OutOfMemoryError", "QueueFullError", "RefusedFieldError", "TimeIsOverError",
           "UnsupportedError", "error_of"]


class Error(Exception):
    """What the engine raises. The message is for people; `kind` and `field` are for programs.

    Attributes
    ----------
    kind : ErrorKind
        What is wrong.
    field : str or None
        The option or the request's field that is to blame, where it is known.
    """

    kind: ErrorKind = ErrorKind.INTERNAL

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.field)


class NotFoundError(Error, FileNotFoundError):
    """A file, a model or a part of one is not there, or cannot be opened."""

    kind = ErrorKind.NOT_FOUND


class MalformedError(Error, ValueError):
    """A file or a text is not what its format says."""

    kind = ErrorKind.MALFORMED


class UnsupportedError(Error):
    """Sound, but of a kind that this version, build or processor does not do."""

    kind = ErrorKind.UNSUPPORTED


class OutOfMemoryError(Error, MemoryError):
    """The system or a limit refuses memory or threads."""

    kind = ErrorKind.OUT_OF_MEMORY


class ContextFullError(Error, ValueError):
    """A text is longer than the model's context."""

    kind = ErrorKind.CONTEXT_FULL


class RefusedFieldError(Error, ValueError):
    """An option or a request's field has a value that it cannot have."""

    kind = ErrorKind.REFUSED_FIELD


class CancelledError(Error):
    """It was given up."""

    kind = ErrorKind.CANCELLED


class TimeIsOverError(CancelledError, TimeoutError):
    """The request's `timeout` has passed."""


class QueueFullError(Error):
    """As many requests wait as may (`Engine(queue=...)`): try again later."""

    kind = ErrorKind.QUEUE_FULL


class MisuseError(Error, RuntimeError):
    """A rule is broken: the engine is closed, or belongs to the parent of a fork."""

    kind = ErrorKind.MISUSE


class InternalError(Error, RuntimeError):
    """Anything else; a report of it is welcome."""

    kind = ErrorKind.INTERNAL


_CLASSES: dict[ErrorKind, type[Error]] = {
    made.kind: made
    for made in (NotFoundError, MalformedError, UnsupportedError, OutOfMemoryError, ContextFullError, RefusedFieldError,
                 CancelledError, QueueFullError, MisuseError, InternalError)
}


def error_of(kind: int, message: str, field: str) -> Error:
    """The exception for an error of the engine's; of a kind that is not known here, an InternalError."""
    try:
        known = ErrorKind(kind)
    except ValueError:
        known = ErrorKind.INTERNAL
    return _CLASSES[known](message, field or None)
