"""Theories written in one file, by path and as text."""

import pathlib

import numpy as np
import pytest

import popgrad

examples = pathlib.Path(__file__).resolve().parents[2] / "theorems" / "files"

text = """
[parameters]
rate = { value = 2, require = "> 0", meaning = "of decay" }
[state]
x = 1
[loss]
loss = "rate * x**2 / 2"
"""


def test_a_file_is_a_theory(program):
    path = examples / "regression.toml"
    theory = popgrad.theory(path, flip=0)
    assert theory.name == "regression"
    assert {"sgd", "moments", "gd", "flow"} <= set(theory.rungs)
    assert theory.parameters["flip"]["default"] == "0.1"
    run = theory.run("flow", t1=4, save=3)
    status, out, _ = program("run", path, "flow", "--t1", 4, "--save", 3, "--flip", 0, "-q", "-o", "-")
    assert status == 0
    rows = [line.split(",") for line in out.splitlines()]
    assert ["t", *run.columns] == rows[0]
    assert np.array_equal(np.array([row[1] for row in rows[1:]], dtype=float), run["loss"])
    assert "loss" in theory.compare("gd", "flow", t1=1).text
    assert "d_v" in theory.equations("flow")


def test_a_text_is_a_theory():
    theory = popgrad.theory(text, rate=3)
    run = theory.run("flow", t1=1, save=2, states=True)
    assert run["loss"][-1] == pytest.approx(1.5 * np.exp(-6), rel=1e-10)
    table = theory.sweep("gd", over={"eta": [0.1, 0.2]}, t1=1)
    assert len(table["eta"]) == 2


def test_a_mistake_has_its_place():
    with pytest.raises(popgrad.Error, match=r"theory.toml:7:9: loss.loss: unknown name ratee"):
        popgrad.theory(text.replace("\"rate * x", "\"ratee * x"))
    with pytest.raises(popgrad.Error, match="takes no theory file|matches none"):
        popgrad.theory(text).verify()
    with pytest.raises(popgrad.Error, match="observe no state"):
        popgrad.theory(text).observer()
