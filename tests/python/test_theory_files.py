"""Theories written in one file, by path and as text."""

import fractions
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


def as_dictionary():
    return {
        "format": 1,
        "theory": {"name": "lines", "title": "A \"line\" \u00e9", "paper": "derived here"},
        "sizes": {"d": 2, "P": {"value": 3, "meaning": "points"}},
        "parameters": {"X": {"value": np.array([[1, 0.1], [-0.5, 2], [0, -1]]), "shape": "P, d"},
                       "flip": {"value": fractions.Fraction(1, 3), "require": ">= 0 and <= 1"}},
        "draw": {"i": "index(P)", "e": "bernoulli(flip)"},
        "state": {"v": {"start": "ones(d)"}},
        "loss": {"loss": "(v @ X[i] - e)**2 / 2"},
        "observables": {"size": "v @ v"},
        "rung": {"again": {"map": {"u": "v"}, "lift": {"v": "u"}}},
        "landscape": {"plane": {"over": {"a": [-1, 2], "b": [-1, 2]}, "set": {"v": "stack([a, b])"}}},
    }


def test_a_dictionary_a_text_and_a_file_give_equal_bytes(tmp_path):
    written = popgrad.theory(as_dictionary())
    path = tmp_path / "lines.toml"
    path.write_text(written.to_toml(), encoding="utf-8")
    runs = []
    for k, theory in enumerate([written, popgrad.theory(written.to_toml()), popgrad.theory(path)]):
        assert theory.name == "lines"
        assert theory.to_toml() == written.to_toml()
        runs.append([])
        for rung in ["sgd", "flow", "again"]:
            output = tmp_path / f"{k}.csv"
            theory.run(rung, t1=1, save=3, seed=2, output=output)
            runs[-1].append(output.read_bytes())
    assert runs[0] == runs[1] == runs[2]
    assert len(set(runs[0])) == 2  # the rung again is the flow
    assert 'title = "A \\"line\\" \u00e9"' in written.to_toml()
    with pytest.raises(popgrad.Error, match="draw.i: of type object must be a formula"):
        popgrad.theory({**as_dictionary(), "draw": {"i": object()}})
    with pytest.raises(popgrad.Error, match="is written in C"):
        popgrad.theory("joma").to_toml()


def test_states_by_name_are_observed_and_watched():
    theory = popgrad.theory(as_dictionary())
    row = theory.observe(v=[3.0, 4.0])
    assert row["size"] == 25
    X = np.array([[1, 0.1], [-0.5, 2], [0, -1]])
    p = X @ [3, 4]
    assert row["loss"] == pytest.approx(np.mean((p - 1)**2 / 3 + 2 * p**2 / 3) / 2, rel=1e-14)
    with pytest.raises(popgrad.Error, match="is the shape of no state; entries of the state are v_0, v_1"):
        theory.observe(v=[1.0, 2.0, 3.0])
    random = np.random.default_rng(1)

    def watched(eta):
        watch = popgrad.Watch(theory, eta=0.1, batch=4, runs=32)
        for run in range(4):
            v = np.ones(2)
            for step in range(61):
                if step % 4 == 0:
                    watch.log_state(step, run=run, v=v)
                x, e = X[random.integers(3, size=4)], random.random(4) < 1 / 3
                v = v - eta * (x @ v - e) @ x / 4
        return watch.verdict().consistent

    assert watched(0.1) is not False
    assert watched(0.3) is False


def test_the_field_is_shown_in_notebooks():
    theory = popgrad.theory(as_dictionary())
    assert theory._repr_latex_().startswith("$$\\begin{aligned}")
    assert "\\dot{v} &= " in theory._repr_latex_()
    assert popgrad.theory("joma")._repr_latex_() is None
    assert theory.landscape("plane", at=[(1, 1)]).text == theory.landscape(at=[(1, 1)]).text
