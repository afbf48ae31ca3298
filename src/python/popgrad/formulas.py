"""Formulas of theories as functions of Python, in NumPy's operators.

    from popgrad import formulas as f

    def prediction(u, U, x, w, q, n):                     # arguments are names of the theory
        return u * (x @ w) @ x @ U @ q / n

    popgrad.theory({"sizes": {"d": 3, "n": 20},
                    "draw": {"w": lambda d: f.normal(d), "q": lambda d: f.normal(d), ...},
                    "loss": {"prediction": prediction,
                             "loss": lambda prediction, w, q: (prediction - w @ q)**2 / 2}, ...})

A function stands in a dictionary of sections where a formula may stand. It is called once, with objects that
record what is done with them: operators, indices, ``.T``, ``@``, ``np.exp``, ``np.sum(x, axis=0)``,
``np.linalg.norm``, ``scipy.special.erf``. The file has what was recorded, as ``to_toml()`` shows. This module has the
laws (``normal``, ...) and the functions that NumPy lacks or cannot record (``sigmoid``, ``softmax``, ``eye``,
``arange``, ...).

Sizes act as whole numbers, too. One that is used as an int (``range(n)``, ``np.ones(n)``, ``if n > 2:``) is marked: the
file then requires the value that it has, as the formula was recorded for that value.
"""

from __future__ import annotations

import decimal
import difflib
import fractions
import inspect
import itertools
import math
import numbers
import operator
from typing import Any, Callable, Iterable, Mapping, Optional

import numpy as np

from ._call import number_text, plain
from ._errors import Error

# How tight an expression binds, as in the grammar of Python.
_comparison, _sum, _product, _sign, _power, _atom = range(6)
_signs = {"+": _sum, "-": _sum, "*": _product, "/": _product, "//": _product, "%": _product, "@": _product,
          "**": _power, "<": _comparison, "<=": _comparison, ">": _comparison, ">=": _comparison,
          "==": _comparison, "!=": _comparison}
_of_integers = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
                "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
                "==": operator.eq, "!=": operator.ne}
# Characters of one formula: beyond, a result that was used again and again should have an entry of its own.
_longest = 20_000
# Entries of an array of numbers that stands in a formula.
_most_entries = 400

_laws = ("normal", "uniform", "bernoulli", "categorical", "index", "orthogonal")
_functions = ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "floor", "asin", "atan2", "abs", "sign",
              "relu", "gelu", "softplus", "minimum", "maximum", "where", "stop_gradient", "softmax", "log_softmax",
              "logsumexp", "inv", "solve", "norm", "eigvalsh", "eigvectors", "svdvals", "cholesky", "one_hot", "eye",
              "ones", "zeros", "arange", "tril", "diag", "trace", "outer", "einsum", "stack", "concatenate", "block",
              "sum", "prod", "mean", "max", "min", "argmax", "cumsum", "reshape", "transpose", "expected")
_ufunc_signs = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "floor_divide": "//",
                "remainder": "%", "power": "**", "float_power": "**", "matmul": "@", "less": "<", "less_equal": "<=",
                "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
# NumPy's and SciPy's names of functions that are here under another one.
_other_names = {"arcsin": "asin", "arctan2": "atan2", "absolute": "abs", "fabs": "abs", "expit": "sigmoid",
                "amax": "max", "amin": "min"}
_over_axes = ("sum", "prod", "mean", "max", "min", "argmax", "cumsum")
_keywords = {"axis", "keepdims", "var", "cov", "law"}
_advice = {"square": "x**2", "reciprocal": "1 / x", "log1p": "np.log(1 + x)", "expm1": "np.exp(x) - 1",
           "log2": "np.log(x) / np.log(2)", "log10": "np.log(x) / np.log(10)", "exp2": "2**x",
           "tan": "np.sin(x) / np.cos(x)", "sinh": "(np.exp(x) - np.exp(-x)) / 2",
           "cosh": "(np.exp(x) + np.exp(-x)) / 2", "heaviside": "np.where(x > 0, 1, 0)",
           "logaddexp": "formulas.logsumexp(np.stack([a, b]))", "clip": "np.minimum(np.maximum(x, low), high)",
           "dot": "a @ b", "inner": "a @ b", "vdot": "a @ b", "tensordot": "np.einsum", "kron": "np.einsum",
           "diagonal": "np.diag(A)", "triu": "np.tril(A.T).T", "var": "np.mean((x - np.mean(x))**2)",
           "std": "np.sqrt(np.mean((x - np.mean(x))**2))", "eigh": "np.linalg.eigvalsh(A) and formulas.eigvectors(A)",
           "svd": "formulas.svdvals(A)", "logical_and": "np.where(a, b, 0)", "logical_or": "np.where(a, 1, b)",
           "logical_not": "np.where(a, 0, 1)", "bitwise_and": "np.where(a, b, 0)", "bitwise_or": "np.where(a, 1, b)",
           "invert": "np.where(a, 0, 1)", "zeros_like": "formulas.zeros(n)", "ones_like": "formulas.ones(n)",
           "vstack": "np.stack or np.concatenate", "hstack": "np.concatenate", "squeeze": "x[0] or np.reshape",
           "expand_dims": "x[:, None]", "log_ndtr": "np.log((1 + erf(x / np.sqrt(2))) / 2)",
           "ndtr": "(1 + erf(x / np.sqrt(2))) / 2", "erfc": "1 - erf(x)"}
_call_numbers = itertools.count()

# Sizes that were used as an int, while functions are recorded.
_used: list[set[str]] = []


def _near(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def _unsupported(name: str) -> Error:
    advice = f"; write {_advice[name]}" if name in _advice else _near(name, (*_functions, *_laws, *_other_names))
    return Error(f"{name} is no function of formulas" + advice)


class _NoAttribute(Error, AttributeError):
    """Also what hasattr() asks for."""


class Formula:
    """What a function of Python did with the entries of a theory, as the text of a formula. Made by ``popgrad.theory``
    for the arguments of functions. Its shape is not kept: lengths are the theory's sizes. Operators, functions of NumPy
    and of this module give further ones. Throws Error for what no formula can do."""

    __slots__ = ("text", "_level", "_calls", "_sizes", "_whole")

    def __init__(self, text: str, level: int = _atom, calls: frozenset[int] = frozenset(),
                 sizes: frozenset[str] = frozenset(), whole: Optional[int] = None) -> None:
        if len(text) > _longest:
            raise Error(f"the formula is longer than {_longest} characters; give a result that is used several times "
                        "an entry of its own")
        #: As in the file.
        self.text = text
        self._level = level
        self._calls = calls  # of laws: each is a random variable
        self._sizes = sizes
        self._whole = whole  # its value, where it is made of sizes and whole numbers only

    def __repr__(self) -> str:
        return f"<popgrad formula {self.text}>"

    def _bracketed(self, level: int) -> str:
        return self.text if self._level >= level else f"({self.text})"

    # ---- uses as a number ----

    def _as_int(self, use: str) -> int:
        if self._whole is None:
            raise Error(f"{self.text} has no value while the formula is recorded, so {use}")
        if _used:
            _used[-1].update(self._sizes)
        return self._whole

    def __index__(self) -> int:
        return int(self._as_int("only sizes count, as in range(n); lists that it picks from have to be entries of the "
                                "theory"))

    def __int__(self) -> int:
        return int(self._as_int("it is no int; write np.floor(x)"))

    def __float__(self) -> float:
        return float(self._as_int("it is no float; write functions of NumPy, such as np.exp(x), in place of those of "
                                  "math"))

    def __bool__(self) -> bool:
        return bool(self._as_int("it is neither true nor false; write np.where(condition, a, b) in place of if, and, "
                                 "or, max, min"))

    def __len__(self) -> int:
        raise Error(f"len({self.text}) is not recorded; write the size of the theory")

    def __iter__(self) -> Any:
        raise Error(f"{self.text} is not taken apart; write x[0], x[1], or a sum over an axis in place of a loop")

    def __contains__(self, value: Any) -> bool:
        raise Error(f"'in {self.text}' is not recorded; write a comparison, as in x == 1")

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.asarray(self._as_int("it becomes no array of NumPy; write np.stack([a, b]) in place of np.array([a, b]), "
                                       "functions of popgrad.formulas, and arrays that it picks from as entries of the "
                                       "theory"))

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("shape", "ndim", "size"):
            raise Error(f"{self.text}.{name} is not recorded; write the sizes of the theory")
        raise _NoAttribute(f".{name} is not recorded; formulas have .T, .sum(), .mean(), .max(), .reshape() and such")

    # ---- arrays ----

    @property
    def T(self) -> Formula:
        return _made(f"{self._bracketed(_atom)}.T", _atom, [self])

    def __getitem__(self, index: Any) -> Formula:
        parts = index if isinstance(index, tuple) else (index,)
        used: list[Formula] = [self]
        text = ", ".join(_index_text(part, used) for part in parts)
        return _made(f"{self._bracketed(_atom)}[{text}]", _atom, used)

    def sum(self, axis: Any = None, **options: Any) -> Formula:
        return _called("sum", (self, axis), options)

    def prod(self, axis: Any = None, **options: Any) -> Formula:
        return _called("prod", (self, axis), options)

    def mean(self, axis: Any = None, **options: Any) -> Formula:
        return _called("mean", (self, axis), options)

    def max(self, axis: Any = None, **options: Any) -> Formula:
        return _called("max", (self, axis), options)

    def min(self, axis: Any = None, **options: Any) -> Formula:
        return _called("min", (self, axis), options)

    def argmax(self, axis: Any = None, **options: Any) -> Formula:
        return _called("argmax", (self, axis), options)

    def cumsum(self, axis: Any = None, **options: Any) -> Formula:
        return _called("cumsum", (self, axis), options)

    def trace(self) -> Formula:
        return _called("trace", (self,), {})

    def reshape(self, *shape: Any) -> Formula:
        return _called("reshape", (self, *shape), {})

    def transpose(self) -> Formula:
        return self.T

    def dot(self, other: Any) -> Formula:
        raise _unsupported("dot")

    # ---- functions of NumPy ----

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Formula:
        name = ufunc.__name__
        if method != "__call__":
            raise Error(f"np.{name}.{method} is not recorded; write np.sum, np.prod, np.max, np.min, np.cumsum or "
                        "np.outer")
        if options:
            raise Error(f"np.{name}: there is no argument {next(iter(options))} in formulas; leave it out")
        if name in _ufunc_signs:
            return _binary(_ufunc_signs[name], *inputs)
        if name == "negative":
            return -self
        if name == "positive":
            return self
        if name == "square":
            return self**2
        return _called(_known(name), inputs, {})

    def __array_function__(self, function: Callable[..., Any], types: Any, inputs: Any,
                           options: Mapping[str, Any]) -> Formula:
        name = _known(function.__name__)
        given = {key: value for key, value in options.items() if key != "like"}
        if name == "norm" and "ord" in given:
            inputs = (*inputs, given.pop("ord"))
        if name == "einsum" and inputs and not isinstance(inputs[0], str):
            raise Error("np.einsum begins with labels, such as np.einsum('ij,j->i', A, x)")
        if name in ("diag", "tril", "trace", "transpose") and len(inputs) > 1:
            raise Error(f"np.{name} has one argument in formulas; leave the others out")
        return _called(name, inputs, given)

    # ---- operators ----

    def __neg__(self) -> Formula:
        whole = None if self._whole is None else -self._whole
        return _made(f"-{self._bracketed(_sign)}", _sign, [self], whole)

    def __pos__(self) -> Formula:
        return self

    def __abs__(self) -> Formula:
        return _called("abs", (self,), {})

    def __invert__(self) -> Formula:
        raise _unsupported("logical_not")


def _operator(sign: str, reflected: bool) -> Callable[[Formula, Any], Any]:
    def recorded(self: Formula, other: Any) -> Any:
        return _binary(sign, other, self) if reflected else _binary(sign, self, other)
    return recorded


def _refused(name: str) -> Callable[[Formula, Any], Any]:
    def refuse(self: Formula, other: Any) -> Any:
        raise _unsupported(name)
    return refuse


for _sign_of, _name in {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
                        "**": "pow", "@": "matmul"}.items():
    setattr(Formula, f"__{_name}__", _operator(_sign_of, False))
    setattr(Formula, f"__r{_name}__", _operator(_sign_of, True))
for _sign_of, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}.items():
    setattr(Formula, f"__{_name}__", _operator(_sign_of, False))
for _name, _word in {"and": "logical_and", "or": "logical_or"}.items():
    setattr(Formula, f"__{_name}__", _refused(_word))
    setattr(Formula, f"__r{_name}__", _refused(_word))


def _made(text: str, level: int, parts: Iterable[Formula], whole: Optional[int] = None) -> Formula:
    calls: set[int] = set()
    sizes: set[str] = set()
    for part in parts:
        if calls & part._calls:
            raise Error(f"a draw stands twice in {text}; give it an entry of its own, as each call of a law is a new "
                        "variable")
        calls |= part._calls
        sizes |= part._sizes
    return Formula(text, level, frozenset(calls), frozenset(sizes), whole)


def _formula(value: Any) -> Formula:
    """Numbers and arrays of numbers as they stand in formulas."""
    if isinstance(value, Formula):
        return value
    value = plain(value)
    if isinstance(value, (np.ndarray, np.generic)):
        if isinstance(value, np.ndarray) and value.ndim > 0:
            if value.size > _most_entries or value.size == 0:
                raise Error(f"an array of {value.size} entries stands in no formula; give it as an entry of "
                            "[parameters]")
            return _list_of("stack", list(value))
        value = value.item()
    if isinstance(value, bool):
        return Formula(str(int(value)))
    if isinstance(value, (list, tuple)):
        return _list_of("stack", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise Error(f"{value} stands in no formula")
    if isinstance(value, float) and abs(value) == math.pi:
        return Formula("pi") if value > 0 else Formula("-pi", _sign)
    if isinstance(value, (int, float, fractions.Fraction, decimal.Decimal)):
        text = number_text(value)
        level = _sign if text.startswith("-") else _product if "/" in text else _atom
        return Formula(text, level, whole=value if isinstance(value, int) else None)
    raise Error(f"a {type(value).__name__} stands in no formula; there are numbers, arrays and entries of the theory")


def _list_of(name: str, values: Iterable[Any], options: str = "") -> Formula:
    parts = [_formula(value) for value in values]
    return _made(f"{name}([{', '.join(part.text for part in parts)}]{options})", _atom, parts)


def _binary(sign: str, left: Any, right: Any) -> Formula:
    a, b = _formula(left), _formula(right)
    level = _signs[sign]
    # Powers go from right to left, everything else from left to right; comparisons are not chained.
    at_left = level if level in (_sum, _product) else _sum if level == _comparison else _atom
    at_right = _sign if level == _power else level + 1
    whole = None
    if a._whole is not None and b._whole is not None and sign in _of_integers:
        try:
            value = _of_integers[sign](a._whole, b._whole)
            whole = value if isinstance(value, int) else None
        except ArithmeticError:
            whole = None
    space = "" if sign == "**" else " "
    return _made(a._bracketed(at_left) + space + sign + space + b._bracketed(at_right), level, [a, b], whole)


def _index_text(index: Any, used: list[Formula]) -> str:
    if index is None:
        return "None"
    if index is Ellipsis:
        raise Error("'...' is no index of formulas; write the slices, as in x[:, 0]")
    if isinstance(index, slice):
        ends = ["" if end is None else _index_text(end, used) for end in (index.start, index.stop, index.step)]
        return f"{ends[0]}:{ends[1]}" + (f":{ends[2]}" if ends[2] else "")
    formula = _formula(index)
    used.append(formula)
    return formula.text


def _known(name: str) -> str:
    known = _other_names.get(name, name)
    if known not in _functions:
        raise _unsupported(name)
    return known


def _argument(value: Any, used: list[Formula]) -> str:
    """Lists stay lists: of shapes, blocks and parts."""
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, (list, tuple)):
        parts = ", ".join(_argument(part, used) for part in value)
        return f"({parts}{',' if len(value) == 1 else ''})" if isinstance(value, tuple) else f"[{parts}]"
    formula = _formula(value)
    used.append(formula)
    return formula.text


def _called(name: str, inputs: Iterable[Any], options: Mapping[str, Any], is_law: bool = False) -> Formula:
    values, keywords = list(inputs), dict(options)
    if name in _over_axes and len(values) > 1:
        # The second of max(a, b) is another array in formulas.
        *_, axis = values
        del values[1:]
        keywords.setdefault("axis", axis)
    if name in ("stack", "concatenate"):
        values[:1] = [list(value) if isinstance(value, tuple) else value for value in values[:1]]
        if len(values) > 1:
            keywords.setdefault("axis", values.pop(1))
    used: list[Formula] = []
    arguments = [_argument(value, used) for value in values]
    for key, value in keywords.items():
        if value is None or (key == "keepdims" and not value):
            continue
        if key not in _keywords:
            raise Error(f"{name}: there is no argument {key} in formulas; leave it out")
        arguments.append(f"{key}={_argument(int(value) if isinstance(value, bool) else value, used)}")
    made = _made(f"{name}({', '.join(arguments)})", _atom, used)
    return Formula(made.text, _atom, made._calls | {next(_call_numbers)}, made._sizes) if is_law else made


def _recorder(name: str, is_law: bool) -> Callable[..., Formula]:
    def recorded(*arguments: Any, **options: Any) -> Formula:
        return _called(name, arguments, options, is_law)
    recorded.__name__ = recorded.__qualname__ = name
    recorded.__doc__ = (f"The {'law' if is_law else 'function'} {name} of formulas (theorems/files/README.md), of "
                        "entries of the theory, arrays and numbers.")
    return recorded


def __getattr__(name: str) -> Callable[..., Formula]:
    if name in _laws or name in _functions:
        return _recorder(name, name in _laws)
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"popgrad.formulas has no {name}" + _near(name, (*_laws, *_functions)))


def __dir__() -> list[str]:
    return ["Formula", *_laws, *_functions]


# ---- theories ----


def _names(theory: Mapping[str, Any]) -> set[str]:
    """All that a formula of the theory may read."""
    names = {"t", "step", "eta", "batch", "pi"}

    def add(table: Any, depth: int) -> None:
        if isinstance(table, Mapping):
            names.update(name for name in table if isinstance(name, str))
            if depth > 0:
                for part in table.values():
                    add(part, depth - 1)

    for section in ("sizes", "parameters", "constants", "fixed", "draw", "state", "loss", "observables", "invariants"):
        add(theory.get(section), 0)
    for section in ("law", "rung", "statement", "landscape"):
        for part in (theory.get(section) or {}).values():
            add(part, 1)
    return names


def _size_value(size: Any) -> Optional[int]:
    value = size.get("value") if isinstance(size, Mapping) else size
    return int(value) if isinstance(value, numbers.Integral) else None


def _record(function: Callable[..., Any], place: str, names: set[str], sizes: Mapping[str, Any]) -> str:
    arguments = {}
    try:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise Error("has no named arguments; write a function of entries of the theory") from None
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
                raise Error(f"argument {p.name}: arguments are names of entries of the theory, one each")
            if p.name in names:
                is_size = p.name in sizes
                arguments[p.name] = Formula(p.name, sizes=frozenset([p.name] if is_size else []),
                                            whole=_size_value(sizes[p.name]) if is_size else None)
            elif p.default is p.empty:
                raise Error(f"argument {p.name} is no entry of the theory" + _near(p.name, names))
        made = function(**arguments)
        if made is None:
            raise Error("the function returns nothing; return the formula")
        return _formula(made).text
    except Error as error:
        raise Error(f"popgrad theory: {place}: {error}") from None


def recorded(theory: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sections of a theory with the formulas that its functions record in their place; sizes used as an int are
    marked by what they require. Throws Error with the entry, for what a formula cannot do."""
    names = _names(theory)
    sizes = theory.get("sizes")
    sizes = sizes if isinstance(sizes, Mapping) else {}

    def without_functions(value: Any, place: str) -> Any:
        if isinstance(value, Formula):
            return value.text
        if isinstance(value, Mapping):
            return {name: without_functions(part, f"{place}.{name}" if place else str(name))
                    for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [without_functions(part, place) for part in value]
        if callable(value):
            return _record(value, place, names, sizes)
        return value

    _used.append(set())
    try:
        made = without_functions(theory, "")
    finally:
        used = _used.pop()
    for name in sorted(used):
        size = sizes[name]
        entry = dict(size) if isinstance(size, Mapping) else {"value": size}
        value = _size_value(size)
        entry.setdefault("meaning", f"its formulas are recorded for {value}")
        entry["require"] = f">= {value} and <= {value}"
        made["sizes"][name] = entry
    return made
