"""Theories that are written as dictionaries, as the text of their file."""

from __future__ import annotations

import decimal
import fractions
import json
import re
from typing import Any, Mapping

import numpy as np

from ._call import number_text, plain
from ._errors import Error

# Tables of these sections are written with a header of their own.
_named = {"rung", "statement", "landscape", "law", "figure"}


def _key(name: Any, place: str) -> str:
    if not isinstance(name, str):
        raise Error(f"popgrad theory: {place}: key {name!r} must be a text")
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: Any, place: str) -> str:
    value = plain(value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Escapes of TOML are those of JSON; the character that JSON leaves as it is follows.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (fractions.Fraction, decimal.Decimal)):
        return json.dumps(number_text(value))
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, Mapping):
        return _inline(value, place)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(part, place) for part in value) + "]"
    raise Error(f"popgrad theory: {place}: of type {type(value).__name__} must be a formula, a number, an array or "
                "a dictionary")


def _inline(table: Mapping[str, Any], place: str) -> str:
    return "{ " + ", ".join(f"{_key(name, place)} = {_value(value, f'{place}.{name}')}"
                            for name, value in table.items()) + " }"


def _lines(table: Mapping[str, Any], place: str) -> list[str]:
    return [f"{_key(name, place)} = {_value(value, f'{place}.{name}')}" for name, value in table.items()]


def toml_of(theory: Mapping[str, Any]) -> str:
    """The text of the file with these sections, in their order. Floats have the shortest decimals that give the same
    double, and are exactly these; ``fractions.Fraction`` and ``decimal.Decimal`` are exact. Throws Error for what a
    file cannot have."""
    head, sections = [], []
    for name, value in theory.items():
        key = _key(name, "theory")
        if not isinstance(value, Mapping):
            head.append(f"{key} = {_value(value, key)}")
        elif name in _named and all(isinstance(part, Mapping) for part in value.values()):
            for own, part in value.items():
                sections += ["", f"[{key}.{_key(own, key)}]", *_lines(part, f"{key}.{own}")]
        else:
            sections += ["", f"[{key}]", *_lines(value, key)]
    return "\n".join([*head, *sections]).lstrip("\n") + "\n"
