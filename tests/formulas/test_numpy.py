"""10,000 drawn formulas: NumPy's value and shape against the program's, or a refusal by both.

Where the program departs from NumPy on purpose: `departures`, and the definitions of what NumPy has elsewhere or
has not, in `functions`.
"""

import os
import random
import subprocess
import warnings

import numpy
import pytest

count = 10_000

# Reasons that the program gives where NumPy has a value.
departures = {
    "does not stretch": "an axis of a named size is not repeated, also where the size is 1",
    "// and % are for whole numbers": "sizes, arange and finite draws",
    "is outside an axis": "NumPy cuts slices to what is there",
    "the array has 0 axes": "NumPy lets sum(2, axis=0) pass",
    "goes along an axis": "NumPy flattens an array for cumsum; softmax of a number",
    "goes along one axis": "softmax over several",
    "goes over one axis or all": "argmax over several",
    "goes over no axis": "sum(x, axis=())",
    "over an axis without entries": "the sum of nothing",
    "lists and tuples stand in": "a list is no array; x[[0, 2]] needs one",
    "block takes rows": "block([A, B]) has one level",
    "stack takes a list": "stack(A) goes over the first axis",
    "takes a list, as in": "concatenate(A) goes over the first axis",
    "tril takes a matrix": "NumPy makes one of a vector",
    "trace takes a matrix": "NumPy goes over the first two axes of more",
    "inv takes a matrix": "NumPy goes over stacks of matrices",
    "are not a square matrix and right sides": "NumPy goes over stacks of matrices",
    "one array of indices a bracket; write A[i][j]": "NumPy pairs them",
    "an axis twice": "NumPy refuses too, but for some functions",
}
# Reasons of NumPy where the program has a value.
leniences = {
    "object has no attribute 'T'": "Python's numbers; NumPy's have one",
    "object is not subscriptable": "Python's numbers, as in 2[None]",
    "Integers to negative integer powers": "whole numbers to whole powers are rationals",
    "'tuple' object cannot be interpreted": "argmax over all axes",
    "zero-size array": "softmax of nothing",
    "Out of bound index found": "of an empty array",
    "invalid value encountered in divide": "zeros(2) / x is 0, as 0 * x is",
    "boolean": "truth values are 0 and 1, and add up",
}


def softmax(x, axis=-1):
    e = numpy.exp(x - numpy.max(x, axis=axis, keepdims=True))
    return e / numpy.sum(e, axis=axis, keepdims=True)


def logsumexp(x, axis=None):
    return numpy.log(numpy.sum(numpy.exp(x), axis=axis))


def shaped(function):
    """ones(2, 3) besides ones((2, 3)), of whole numbers."""
    return lambda *shape: function(shape[0] if len(shape) == 1 else shape, int)


def one_hot(i, n):
    """0 everywhere for an index that is outside."""
    if numpy.asarray(i).dtype.kind not in "iu":
        raise TypeError("no whole numbers")
    return (numpy.asarray(i)[..., None] == numpy.arange(n)).astype(int)


def along_one(function):
    """axis=(0,) is axis=0."""
    return lambda x, axis=None: function(x, axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis)


def real(function):
    """Roots and logarithms of negative numbers are refused."""
    def checked(*x):
        with numpy.errstate(all="raise", under="ignore"):
            return function(*x)
    return checked


functions = {name: getattr(numpy, name) for name in (
    "sum", "prod", "mean", "max", "min", "exp", "sin", "cos", "tanh", "abs", "sign", "trace", "diag",
    "tril", "block", "stack", "concatenate", "where", "einsum", "pi")}
functions |= {
    "log": real(numpy.log), "sqrt": real(numpy.sqrt), "asin": real(numpy.arcsin), "atan2": numpy.arctan2,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)), "relu": lambda x: numpy.maximum(x, 0),
    "softplus": lambda x: numpy.logaddexp(0, x), "softmax": softmax, "logsumexp": logsumexp,
    "log_softmax": lambda x, axis=-1: numpy.log(softmax(x, axis)), "norm": numpy.linalg.norm,
    "inv": numpy.linalg.inv, "solve": numpy.linalg.solve, "outer": numpy.outer,
    "ones": shaped(numpy.ones), "zeros": shaped(numpy.zeros), "arange": numpy.arange, "one_hot": one_hot,
    "eye": lambda n, m=None: numpy.eye(n, m, dtype=int),
    "argmax": along_one(numpy.argmax), "cumsum": along_one(numpy.cumsum),
}
entrywise = ["exp", "sin", "cos", "tanh", "abs", "sign", "log", "sqrt", "sigmoid", "relu", "softplus", "asin"]
reductions = ["sum", "prod", "mean", "max", "min", "cumsum", "softmax", "log_softmax", "logsumexp", "norm", "argmax"]
operators = ["+", "-", "*", "/", "@", "**", "//", "%"]
comparisons = ["<", "<=", ">", ">=", "==", "!="]


class Drawn:
    """A formula that is drawn, with NumPy's value or None where it refuses."""

    def __init__(self, text, names):
        self.text = text
        self.value = None
        self.why = ""
        try:
            with numpy.errstate(all="raise", under="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # about 0.5[0]
                warnings.simplefilter("error", DeprecationWarning)
                value = eval(text, {"__builtins__": {}}, {**functions, **names})  # pylint: disable=eval-used
            if not isinstance(value, (tuple, list, str, type(None))) and not callable(value):
                self.value = numpy.asarray(value)
                if self.value.dtype == object or not numpy.all(numpy.isfinite(self.value)):
                    self.value = None
        except Exception as failure:  # pylint: disable=broad-except
            self.why = f"{type(failure).__name__}: {failure}"


def numbers(draw):
    """Arrays of eighths, whose sums and products are exact."""
    shapes = {"a": (), "b": (), "u": (3,), "v": (4,), "w": (1,), "A": (3, 4), "B": (4, 3), "C": (3, 3), "D": (1, 4),
              "T": (2, 3, 4)}
    made = {name: numpy.array([draw.randint(-16, 16) / 8 for _ in range(int(numpy.prod(shape)))]).reshape(shape)
            for name, shape in shapes.items()}
    made |= {name: made[name][()] for name in "ab"}
    # Whole: a number, and indices.
    made["n"] = numpy.int64(3)
    made["i"] = numpy.array([draw.randint(0, 2) for _ in range(3)])
    return made


class Writer:
    """Writes formulas from what is in its pool; brackets are drawn too, so that Python's precedence counts."""

    def __init__(self, draw, names):
        self.draw = draw
        self.names = names
        self.pool = [Drawn(name, names) for name in names]
        self.pool += [Drawn(text, names) for text in ("2", "0.5", "3", "1e-1", "eye(3)", "arange(4)", "ones(2, 3)",
                                                      "zeros((3, 4))", ".25", "n - 1")]

    def operand(self, kinds="fi"):
        found = [x for x in self.pool if x.value.dtype.kind in kinds] or self.pool
        text = self.draw.choice(found).text
        return text if self.draw.random() < 0.4 else f"({text})"

    def index(self):
        number = lambda: str(self.draw.randint(-4, 4))  # noqa: E731
        bound = lambda: self.draw.choice(["", number()])  # noqa: E731
        kind = self.draw.random()
        if kind < 0.35:
            return number()
        if kind < 0.75:
            return f"{bound()}:{bound()}" + (f":{self.draw.choice([1, 2, 3, -1, -2])}" if kind < 0.5 else "")
        if kind < 0.9:
            return "None"
        return self.draw.choice(["i", "n", "n - 1", "-n", "[0, 2]"])

    def axis(self):
        return self.draw.choice(["0", "1", "-1", "-2", "2", "(0, 1)", "(0,)", "(-1, 0)"])

    def write(self):
        draw, x = self.draw, self.operand()
        kind = draw.random()
        if kind < 0.34:
            op = draw.choice(operators)
            if op in ("//", "%") and draw.random() < 0.8:
                return f"{self.operand('i')} {op} {self.operand('i')}"
            return f"{x} {op} {self.operand()}"
        if kind < 0.40:
            return f"{draw.choice(['-', '+', '-', '--'])}{x}"
        if kind < 0.48:
            return f"{draw.choice(entrywise)}({x})"
        if kind < 0.62:
            axis = draw.choice(["", f", axis={self.axis()}"])
            return f"{draw.choice(reductions)}({x}{axis})"
        if kind < 0.74:
            return f"{x}[{', '.join(self.index() for _ in range(draw.randint(1, 3)))}]"
        if kind < 0.79:
            return f"{x}.T"
        if kind < 0.83:
            return f"{x} {draw.choice(comparisons)} {self.operand()}"
        if kind < 0.87:
            return f"where({self.operand('b')}, {x}, {self.operand()})"
        if kind < 0.91:
            labels = draw.choice(["ij,j->i", "i,i->", "ij->ji", "ij->j", "i,j->ij", "ij,jk->ik", "ii->i", "ii->", "ij,ij->",
                                  "kij->ij", "i->i"])
            others = [self.operand() for _ in range(labels.split("->")[0].count(",") + 1)]
            return f"einsum('{labels}', {', '.join(others)})"
        if kind < 0.96:
            return draw.choice(["trace({})", "diag({})", "inv({})", "tril({})", "one_hot(i, 3) @ {}", "eye(n) * {}",
                                "arange(n) + {}", "outer(u, {})", "solve({}, u)", "one_hot({}, 4)", "atan2({}, b)"]).format(x)
        parts = ", ".join(self.operand() for _ in range(draw.randint(1, 3)))
        return draw.choice([f"stack([{parts}])", f"concatenate([{parts}])", f"stack(({parts}, ), axis={self.axis()[-1:]})",
                            f"concatenate([{parts}], axis={draw.choice(['0', '1', '-1'])})", f"block([{parts}])",
                            f"[{parts}]"])

    def next(self):
        # Mismatches are wanted, but not most of the time.
        drawn = Drawn(self.write(), self.names)
        while drawn.value is None and self.draw.random() < 0.5:
            drawn = Drawn(self.write(), self.names)
        if drawn.value is not None and len(drawn.text) < 90 and drawn.value.size <= 60 and \
                numpy.all(numpy.abs(drawn.value) < 1e4):
            self.pool.append(drawn)
        return drawn


def array_line(name, value):
    value = numpy.asarray(value)
    kind = "whole" if value.dtype.kind == "i" else "real"
    shape = ",".join(map(str, value.shape))
    return f"{kind} {name} ({shape}) {' '.join(repr(float(x)) for x in value.ravel())}"


def answers(lines):
    """What the program says of each formula: (shape, numbers, printed as NumPy and as C++), or the reason of a refusal."""
    done = subprocess.run([os.environ["POPGRAD_FORMULAS"]], input="\n".join(lines) + "\n", capture_output=True,
                          text=True, check=True)
    made = []
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if fields[0] == "no":
            made.append(fields[1])
        else:
            shape = tuple(int(x) for x in fields[1].split(",") if x)
            made.append((shape, numpy.array([float(x) for x in fields[2].split()]).reshape(shape), fields[3], fields[4]))
    return made


def difference(drawn, answer):
    """What is wrong with an answer; nothing if it is NumPy's."""
    if isinstance(answer, str):
        if drawn.value is None or any(reason in answer for reason in departures):
            return ""
        return f"NumPy has {drawn.value.tolist()}, the program refuses: {answer}"
    shape, value, *_ = answer
    if drawn.value is None:
        lenient = any(reason in drawn.why for reason in leniences)
        return "" if lenient or not numpy.all(numpy.isfinite(value)) else f"NumPy refuses ({drawn.why}), the program has {value.tolist()}"
    if shape != drawn.value.shape:
        return f"shape {shape}, of NumPy {drawn.value.shape}"
    # Sums in another order: rounding of the largest entry.
    allowed = 1e-10 * max(1.0, float(numpy.max(numpy.abs(drawn.value), initial=0)))
    return "" if numpy.all(numpy.abs(value - drawn.value) <= allowed) else f"{value.tolist()}, of NumPy {drawn.value.tolist()}"


@pytest.mark.parametrize("seed", range(4))
def test_formulas_have_the_values_of_numpy(seed):
    draw = random.Random(seed)
    lines, drawn = [], []
    while len(drawn) < count // 4:
        names = numbers(draw)
        lines += ["forget"] + [array_line(name, value) for name, value in names.items()]
        writer = Writer(draw, names)
        for _ in range(50):
            drawn.append(writer.next())
            lines.append("formula " + drawn[-1].text)
    found = answers(lines)
    assert len(found) == len(drawn)
    wrong = [f"{x.text}: {reason}" for x, answer in zip(drawn, found) if (reason := difference(x, answer))]
    assert not wrong, f"{len(wrong)} of {len(drawn)}\n" + "\n".join(wrong[:40])
    refused = sum(x.value is None for x in drawn)
    assert 0.05 < refused / len(drawn) < 0.6
