"""Theories whose formulas are functions of Python."""

import fractions
import math
import pathlib
import re

import numpy as np
import pytest

import popgrad
from popgrad import formulas as f

examples = pathlib.Path(__file__).resolve().parents[2] / "theorems" / "files"


def text_of(function, **sizes):
    """What a function of x, y, A and sizes records."""
    made = f.recorded({"sizes": sizes, "parameters": {"x": 1, "y": 1, "A": 1}, "loss": {"loss": function}})
    return made["loss"]["loss"]


def prediction(u, U, x, w, q, n):
    return u * (x @ w) @ x @ U @ q / n


def icl(loss):
    """In-context regression of merged weights, with its reduction to a diagonal."""
    return {
        "theory": {"name": "icl", "title": "In-context regression", "paper": "arXiv 2306.09927"},
        "sizes": {"d": 2, "n": 5},
        "parameters": {"Lambda": {"value": lambda d: 1 / (1 + f.arange(d)), "shape": "d", "require": "> 0"},
                       "scale": {"value": 0.1, "require": "> 0"}},
        "constants": {"Gamma": lambda Lambda, n, d: ((1 + 1 / n) * np.diag(Lambda) + Lambda.sum() / n * f.eye(d))},
        "draw": {"w": lambda d: f.normal(d), "x": lambda n, d, Lambda: f.normal(n, d, var=Lambda),
                 "q": lambda d, Lambda: f.normal(d, var=Lambda)},
        "state": {"U": {"start": lambda scale, d: scale * f.eye(d)}, "u": {"start": lambda scale: scale}},
        "loss": {"prediction": prediction, "loss": loss},
        "observables": {"distance": {"formula": lambda u, U, Gamma: np.linalg.norm(u * U - np.linalg.inv(Gamma))}},
        "rung": {"diagonal": {"map": {"s": lambda U: np.diag(U), "v": lambda u: u},
                              "lift": {"U": lambda s: np.diag(s), "u": lambda v: v},
                              "flow": {"s": lambda v, Lambda, Gamma, s: v * Lambda**2 * (1 - np.diag(Gamma) * v * s),
                                       "v": lambda v, Lambda, Gamma, s: np.sum(Lambda**2 * s * (
                                           1 - np.diag(Gamma) * v * s))}}},
    }


written = """
theory = { name = "icl", title = "In-context regression", paper = "arXiv 2306.09927" }
sizes = { d = 2, n = 5 }
[parameters]
Lambda = { value = "1 / (1 + arange(d))", shape = "d", require = "> 0" }
scale  = { value = 0.1, require = "> 0" }
[constants]
Gamma = "(1 + 1/n) * diag(Lambda) + sum(Lambda) / n * eye(d)"
[draw]
w = "normal(d)"
x = "normal(n, d, var=Lambda)"
q = "normal(d, var=Lambda)"
[state]
U = { start = "scale * eye(d)" }
u = { start = "scale" }
[loss]
prediction = "u * (x @ w) @ x @ U @ q / n"
loss       = "(prediction - w @ q)**2 / 2"
[observables]
distance = { formula = "norm(u * U - inv(Gamma))" }
[rung.diagonal]
map  = { s = "diag(U)", v = "u" }
lift = { U = "diag(s)", u = "v" }
flow = { s = "v * Lambda**2 * (1 - diag(Gamma) * v * s)", v = "sum(Lambda**2 * s * (1 - diag(Gamma) * v * s))" }
"""


def test_functions_a_file_and_a_dictionary_give_equal_bytes(tmp_path):
    traced = popgrad.theory(icl(lambda prediction, w, q: (prediction - w @ q)**2 / 2))
    path = tmp_path / "icl.toml"
    path.write_text(written, encoding="utf-8")
    as_dictionary = f.recorded(icl("(prediction - w @ q)**2 / 2"))
    runs = []
    for k, theory in enumerate([traced, popgrad.theory(as_dictionary), popgrad.theory(path)]):
        runs.append([])
        for rung in ["sgd", "flow", "diagonal"]:
            output = tmp_path / f"{k}.csv"
            theory.run(rung, t1=1, save=3, seed=2, output=output)
            runs[-1].append(output.read_bytes())
    assert runs[0] == runs[1] == runs[2]
    assert len(set(runs[0])) == 3
    assert 'loss = "(prediction - w @ q)**2 / 2"' in traced.to_toml()
    assert 'prediction = "u * (x @ w) @ x @ U @ q / n"' in traced.to_toml()
    assert traced.to_toml() == popgrad.theory(as_dictionary).to_toml()
    # The size stays one.
    assert traced.run("flow", t1=1, save=2, states=True, d=3).states.shape[-1] == 10


def test_brackets_are_those_that_the_tree_needs():
    third = fractions.Fraction(1, 3)
    for expected, function in {
        "x - (y - 1)": lambda x, y: x - (y - 1),
        "x - y - 1": lambda x, y: x - y - 1,
        "1 - x": lambda x: 1 - x,
        "-(x + y)**2": lambda x, y: -(x + y)**2,
        "(-x)**2 / -y": lambda x, y: (-x)**2 / (-y),
        "x**-y**2": lambda x, y: x**-y**2,
        "(x**y)**2": lambda x, y: (x**y)**2,
        "(-2)**x": lambda x: (-2)**x,
        "1/3 * x - y / (1/3)": lambda x, y: third * x - y / third,
        "x @ (A @ y)": lambda x, y, A: x @ (A @ y),
        "(x < y) * (x == 1)": lambda x, y: (x < y) * (x == 1),
        "(A @ x).T[0, :, None]": lambda x, A: (A @ x).T[0, :, None],
        "A[1:, ::2][-1]": lambda A: A[1:, ::2][-1],
        "stack([1.0, 2.0]) * x": lambda x: np.array([1.0, 2.0]) * x,
        "pi * x": lambda x: np.pi * x,
        "x % 2 // y": lambda x, y: x % 2 // y,
    }.items():
        assert text_of(function) == expected


def test_functions_of_numpy_have_the_names_of_formulas():
    for expected, function in {
        "exp(-x) + log(y) + asin(x)": lambda x, y: np.exp(-x) + np.log(y) + np.arcsin(x),
        "sum(A, axis=0) + sum(A)": lambda A: np.sum(A, 0) + A.sum(),
        "max(A, axis=(0, 1), keepdims=1)": lambda A: np.max(A, axis=(0, 1), keepdims=True),
        "norm(A, 2) + norm(x)": lambda A, x: np.linalg.norm(A, ord=2) + np.linalg.norm(x),
        "einsum('ij,j->i', A, x)": lambda A, x: np.einsum("ij,j->i", A, x),
        "where(x > 0, x, 0)": lambda x: np.where(x > 0, x, 0),
        "stack([x, y], axis=1)": lambda x, y: np.stack((x, y), axis=1),
        "block([[A, x[:, None]], [y[None, :], 1]])": lambda A, x, y: np.block([[A, x[:, None]], [y[None, :], 1]]),
        "reshape(A, -1, 2) @ solve(A, x)": lambda A, x: A.reshape(-1, 2) @ np.linalg.solve(A, x),
        "abs(x)**2 + maximum(x, y)": lambda x, y: np.square(abs(x)) + np.maximum(x, y),
        "sigmoid(x) + softmax(A, axis=0)": lambda A, x: f.sigmoid(x) + f.softmax(A, axis=0),
        "expected(x, law='shifted')": lambda x: f.expected(x, law="shifted"),
    }.items():
        assert text_of(function) == expected
    special = pytest.importorskip("scipy.special")
    assert text_of(lambda x: special.erf(x) + special.expit(x)) == "erf(x) + sigmoid(x)"


def test_sizes_are_numbers_and_their_use_is_marked():
    def total(x, n):
        made = 0
        for i in range(n - 1):
            made = made + x[i]
        return made / n

    sections = {"sizes": {"n": 3, "m": {"value": 2, "require": ">= 2"}},
                "state": {"x": {"start": lambda n, m: f.ones(n) / (n + m)}},
                "loss": {"loss": lambda x, n: total(x, n)**2}}
    theory = popgrad.theory(sections)
    assert 'loss = "((0 + x[0] + x[1]) / n)**2"' in theory.to_toml()
    assert 'n = { value = 3, meaning = "its formulas are recorded for 3", require = ">= 3 and <= 3" }' in theory.to_toml()
    assert 'm = { value = 2, require = ">= 2" }' in theory.to_toml()
    assert theory.run("flow", t1=1, save=2, m=3)["loss"][0] > 0
    with pytest.raises(popgrad.Error, match="--n 4 must be"):
        theory.run("flow", t1=1, n=4)
    # Not by what is recorded; by a condition, by functions of NumPy without arrays of formulas and by math.
    assert "require" not in popgrad.theory({**sections, "loss": {"loss": lambda x, n: (x @ x)**2 / n}}).to_toml().split(
        "[state]")[0].replace('require = ">= 2"', "")
    for use in [lambda x, n: x @ x * np.array([1, 2, 3, 4])[n],
                lambda x, n: x @ x * (2 if n > 2 else 1), lambda x, n: x @ np.ones(n),
                lambda x, n: x @ x / math.sqrt(n)]:
        assert ">= 3 and <= 3" in popgrad.theory({**sections, "loss": {"loss": use}}).to_toml()


@pytest.mark.parametrize("function, message", [
    (lambda x: np.tan(x), r"loss.loss: tan is no function of formulas; write np.sin\(x\) / np.cos\(x\)"),
    (lambda x: np.dot(x, x), "dot is no function of formulas; write a @ b"),
    (lambda x: np.cbrt(x), "cbrt is no function of formulas"),
    (lambda x: np.linalg.eigvals(x), "eigvals is no function of formulas; did you mean 'eigvalsh'"),
    (lambda x: math.exp(x), "write functions of NumPy, such as np.exp"),
    (lambda x: 1 if x > 0 else 0, r"x > 0 has no value while .*; write np.where\(condition, a, b\)"),
    (lambda x, y: max(x, y), "neither true nor false"),
    (lambda x: sum(e for e in x), "is not taken apart"),
    (lambda x: np.array([x, x]), r"write np.stack\(\[a, b\]\)"),
    (lambda x: x.shape[0], "x.shape is not recorded; write the sizes"),
    (lambda x: len(x), r"len\(x\) is not recorded"),
    (lambda x: x.flatten(), ".flatten is not recorded"),
    (lambda x: np.arange(5)[x], "arrays that it picks from as entries"),
    (lambda x: [1, 2][x], "only sizes count"),
    (lambda x: x[..., 0], "write the slices"),
    (lambda x: (x > 0) & (x < 1), r"write np.where\(a, b, 0\)"),
    (lambda x: np.sum(x, dtype=float), "sum: there is no argument dtype"),
    (lambda x: np.add.reduce(x), "np.add.reduce is not recorded"),
    (lambda x: np.zeros(500) @ x, "an array of 500 entries"),
    (lambda x: x + "y", "a str stands in no formula|str"),
    (lambda x: x / np.inf, "inf stands in no formula"),
    (lambda rate: rate, "argument rate is no entry of the theory"),
    (lambda *x: 1, "one each"),
    (lambda x: None, "the function returns nothing"),
    (lambda: (lambda n: n * n)(f.normal(2)), "a draw stands twice"),
])
def test_what_is_no_formula_is_refused_in_a_line(function, message):
    with pytest.raises(popgrad.Error, match=message) as error:
        text_of(function)
    assert str(error.value).startswith("popgrad theory: loss.loss: ")
    assert "\n" not in str(error.value)


def test_results_that_grow_want_entries_of_their_own():
    def doubled(x):
        for _ in range(20):
            x = x * x + x
        return x

    with pytest.raises(popgrad.Error, match="longer than 20000 characters; give a result"):
        text_of(doubled)
    with pytest.raises(AttributeError, match="has no norml; did you mean 'normal'"):
        f.norml
    assert set(f._functions) >= {"sigmoid", "eye"} and "normal" in dir(f)


def test_the_page_runs_as_printed():
    samples = re.findall(r"```python\n(.*?)```", (examples / "README.md").read_text(encoding="utf-8"), re.S)
    names = {}
    exec(compile(samples[0], "README.md", "exec"), names)
    law = names["law"]
    assert np.array_equal(law.run("flow", t1=10)["loss"], popgrad.theory(law.to_toml()).run("flow", t1=10)["loss"])


def test_functions_run_on_arrays_too():
    """What logistic.toml has, from functions."""
    file = popgrad.theory(examples / "logistic.toml")

    def margin(w, x):
        return w @ x

    traced = popgrad.theory({
        "sizes": {"d": 4}, "parameters": {"beta": {"value": 2, "require": "> 0"}},
        "constants": {"teacher": lambda beta, d: beta * f.ones(d) / np.sqrt(d)},
        "draw": {"b": lambda d: f.bernoulli(fractions.Fraction(1, 2), d),
                 "y": lambda teacher, b: f.bernoulli(f.sigmoid(teacher @ (2 * b - 1)))},
        "state": {"w": {"shape": "d"}},
        "loss": {"x": lambda b: 2 * b - 1, "margin": margin,
                 "loss": lambda margin, y: f.softplus(margin) - y * margin}})
    assert np.array_equal(traced.run("gd", t1=3)["loss"], file.run("gd", t1=3)["loss"])
    assert margin(np.ones(2), np.ones(2)) == 2
