"""Commands as functions: keywords become options, dictionaries and arrays become files in memory."""

from __future__ import annotations

import csv
import decimal
import fractions
import io
import json
import math
import os
import sys
import threading
import time
from typing import Any, Callable, Iterable, Mapping, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _popgrad
from ._errors import Error, NumericalError

Array = npt.NDArray[Any]
Path = Union[str, "os.PathLike[str]"]
Made = TypeVar("Made")
Progress = Union[None, bool, Callable[[float, str], Any]]

# Options that are given once for every value; the others take values parted by commas.
_repeated = {"over", "success", "first", "at", "set"}


def plain(value: Any) -> Any:
    """A tensor as a NumPy array; anything else as it is."""
    if hasattr(value, "detach"):
        value = value.detach()
        if hasattr(value, "cpu"):
            value = value.cpu()
        # NumPy knows no bfloat16.
        if str(getattr(value, "dtype", "")).endswith("bfloat16"):
            value = value.float()
        return value.numpy()
    return value


def number_text(value: Any) -> str:
    """A number with all its digits; the shortest that gives the same double."""
    value = plain(value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.item()
    if isinstance(value, fractions.Fraction):
        return f"{value.numerator}/{value.denominator}"
    return repr(value) if isinstance(value, float) else str(value)


def _list_text(value: Any) -> str:
    value = plain(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple, set, range)):
        return ",".join(number_text(v) for v in value)
    return number_text(value)


def check_names(where: str, names: Iterable[Any]) -> list[str]:
    """The names, of which none could be taken for an option."""
    checked = []
    for name in names:
        if not isinstance(name, str) or not name or name.startswith("-"):
            raise Error(f"popgrad {where}: {name!r} must be a name; popgrad.theories() and a theory's rungs "
                        "and statements have those that there are")
        checked.append(name)
    return checked


def words_of(options: Mapping[str, Any], parameters: Iterable[str] = ()) -> list[str]:
    """``--name=value`` for every keyword; None and False are left out. Names of ``parameters`` of a
    model keep their underscores."""
    known = set(parameters)
    words = []
    for name, value in options.items():
        if value is None:
            continue
        if name == "help":
            raise Error("popgrad: help: Python's own help(popgrad.Theory.run) has the options; 'popgrad "
                        "COMMAND --help' all of them")
        if name == "output" and value == "-":
            raise Error("popgrad: output '-' is standard output, of a program; here the numbers are in the "
                        "result, and output names a file")
        flag = "--" + (name if name in known else name.replace("_", "-"))
        if isinstance(value, (bool, np.bool_)):
            if value:
                words.append(flag + "=true")  # so that an option with a value takes no other word
            elif name in known:
                words.append("--no-" + name)
        elif isinstance(value, (Mapping, list, tuple)) and not value:
            raise Error(f"popgrad: {name} is empty; give at least one value, or leave it out")
        elif isinstance(value, Mapping):
            pairs = [f"{key}={_list_text(item)}" for key, item in value.items()]
            words += [f"{flag}={pair}" for pair in pairs] if name in _repeated else [
                f"{flag}={','.join(pairs)}"]
        elif name in _repeated and isinstance(value, (list, tuple)):
            words += [f"{flag}={_list_text(item)}" for item in value]
        else:
            words.append(f"{flag}={_list_text(value)}")
    return words


class _Encoder(json.JSONEncoder):
    def default(self, value: Any) -> Any:
        value = plain(value)
        if isinstance(value, np.ndarray):
            return value.tolist()
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, (fractions.Fraction, decimal.Decimal)):
            return number_text(value)
        return super().default(value)


def instance_text(instance: Mapping[str, Any]) -> str:
    """An instance as the text of its file."""
    for name in instance:
        if not isinstance(name, str):
            raise Error(f"popgrad: instance key {name!r} must be a text, the name of a parameter")
    try:
        return json.dumps(instance, cls=_Encoder)
    except TypeError as error:
        raise Error(f"popgrad: the instance has a value that is no number, text, list or array: "
                    f"{error}") from None


def _label(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else str(value)


def table_of(data: Any, name: str, labels: Iterable[str] = ()) -> dict[str, Array]:
    """Columns of numbers from a DataFrame, a dictionary of arrays or a structured array; the empty
    field is NaN. Columns in ``labels`` may hold texts and are objects then. Throws Error naming the column."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a DataFrame
        columns: Mapping[Any, Any] = {column: data[column].to_numpy() for column in data.columns}
    elif isinstance(data, Mapping):
        columns = data
    elif isinstance(data, np.ndarray) and data.dtype.names:
        columns = {column: data[column] for column in data.dtype.names}
    else:
        raise Error(f"popgrad: {name} of type {type(data).__name__} must be a DataFrame, a dictionary "
                    "of arrays, or the path of a .csv, .npz or .jsonl file")
    chosen = set(labels)
    made = {}
    for column, values in columns.items():
        given = np.asarray(plain(values))
        try:
            numbers = np.ascontiguousarray(given, dtype=float)
            # Two whole numbers may be one double.
            exact = given.dtype.kind not in "iu" or not (np.abs(numbers) >= 2.0**53).any()
        except (TypeError, ValueError):
            exact = False
            if column not in chosen:
                raise Error(f"popgrad: {name}: column '{column}' must hold only numbers; leave it out, or "
                            "number its values") from None
        if column in chosen and not exact:
            made[str(column)] = np.array([_label(value) for value in given.ravel().tolist()], dtype=object)
        else:
            made[str(column)] = numbers
    return made


def csv_of(table: Mapping[str, Array]) -> str:
    """The text of a table that has labels."""
    if len({column.shape for column in table.values()}) > 1:
        raise Error("popgrad: columns of one table must have one dimension and one length")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    for row in zip(*(column.tolist() for column in table.values())):
        writer.writerow([x if isinstance(x, str) else "" if math.isnan(x) else repr(x) for x in row])
    return text.getvalue()


class _Bar:
    """Progress on standard error, as Python has it (a notebook shows it in the cell)."""

    def __init__(self) -> None:
        self.width = 0
        self.start = time.monotonic()

    def __call__(self, share: float, what: str) -> None:
        filled = int(30 * min(max(share, 0.0), 1.0))
        seconds = time.monotonic() - self.start
        left = f", {seconds * (1 - share) / share:.0f} s left" if share > 0.01 else ""
        line = f"{what} [{'#' * filled}{'.' * (30 - filled)}] {100 * share:3.0f} %{left}"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = max(self.width, len(line))  # of the longest line so far, which has to be covered

    def end(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


def call(words: list[str], make: Callable[[dict[str, Any]], Made], *,
         instance: Union[None, Path, Mapping[str, Any]] = None,
         tables: Optional[Mapping[str, Mapping[str, Array]]] = None,
         texts: Optional[Mapping[str, str]] = None, progress: Progress = None) -> Made:
    """Runs a command and makes its result. ``make`` gets what the compiled part gives.

    Throws Error for bad input, KeyboardInterrupt after Ctrl-C, and NumericalError for a numerical failure
    (status 4); the latter two carry what had been computed as ``partial``.
    """
    files = dict(texts or {})
    if isinstance(instance, Mapping):
        files["instance"] = instance_text(instance)
        words = words + ["--instance=instance"]
    elif instance is not None:
        words = words + ["--instance=" + os.fspath(instance)]
    for word in words:
        if "\0" in word:
            raise Error(f"popgrad: {word!r} has a null character, which no option takes")
    bar = _Bar() if progress is True else None
    callback = bar if bar is not None else (progress or None)
    if callback is not None and not callable(callback):
        raise Error(f"popgrad: progress {progress!r} must be True, False or a function of the share "
                    "done and a text")
    main = threading.current_thread() is threading.main_thread()
    answer = _popgrad.call(words, files, dict(tables or {}), callback, main)
    if bar is not None:
        bar.end()

    def partial() -> Any:
        there = answer["run"] is not None or answer["document"] or answer["table"]
        return make(answer) if there else None

    stopped = answer["exception"]
    if stopped is None and answer["interrupted"]:
        stopped = _popgrad.pending_interrupt()
    if stopped is not None:
        stopped.partial = partial()
        raise stopped
    if "error" in answer:
        kind = {"input": Error, "memory": MemoryError}.get(answer["kind"])
        if kind is not None:
            raise kind(answer["error"])
        raise NumericalError(answer["error"], partial())
    if answer["status"] == 4:
        raise NumericalError(answer["failure"] or "popgrad: stopped", partial())
    return make(answer)


def document(words: list[str]) -> Any:
    """The JSON document of a command."""
    made: Any = call(words, lambda answer: answer)
    return json.loads(made["document"])
