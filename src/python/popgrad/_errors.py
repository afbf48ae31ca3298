"""Exceptions, with the one-line texts of the commands."""

from __future__ import annotations

from typing import Any


class Error(ValueError):
    """Bad input: names the parameter, its value and what is allowed (exit status 2 of a command)."""


class NumericalError(RuntimeError):
    """A result that is not usable: a step that underflowed, a number that is not finite (status 4).

    ``partial`` is what had been computed, or None.
    """

    def __init__(self, text: str, partial: Any = None) -> None:
        super().__init__(text)
        self.partial = partial
