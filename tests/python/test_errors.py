"""Bad input and numerical failures: the texts of the commands, as exceptions."""

import json

import numpy as np
import pytest

import popgrad


@pytest.mark.parametrize("model, rung, words, options, parameters", [
    ("scb", "sgd", ["--eta=-1"], {"eta": -1}, {}),
    ("scb", "sgd", ["--steps=0"], {"steps": 0}, {}),
    ("scb", "sgd", ["--steps=9e+99"], {"steps": 9e99}, {}),
    ("scb", "sdg", [], {}, {}),
    ("scb", "flow", ["--batch=3"], {"batch": 3}, {}),
    ("scb", "flow", ["--save=1"], {"save": 1}, {}),
    ("scb", "flow", ["--save-at=1,0.5"], {"save_at": [1, 0.5]}, {}),
    ("scb", "flow", ["--metod=auto"], {"metod": "auto"}, {}),
    ("scb", "flow", ["--method=euler"], {"method": "euler"}, {}),
    ("scb", "flow", ["--rtol=nan"], {"rtol": float("nan")}, {}),
    ("joma", "reduced", ["--digits=3"], {"digits": 3}, {}),
    ("scb", "flow", ["--output=run.xyz"], {"output": "run.xyz"}, {}),
    ("scb", "flow", ["--N=-3"], {"N": -3}, {}),
])
def test_texts_of_options(program, model, rung, words, options, parameters):
    status, _, text = program("run", model, rung, *words)
    assert status == 2
    with pytest.raises(popgrad.Error) as caught:
        popgrad.theory(model, **parameters).run(rung, **options)
    assert str(caught.value) == text.rstrip("\n")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("model, rung, instance", [
    ("scb", "flow", {"P": [[0.5, 0.5], [0.4, 0.5]]}),
    ("scb", "flow", {"Q": 12, "T": 10}),
    ("scb", "flow", {"P": [[1.5, 0.5], [-0.5, 0.5]]}),
    ("scb", "flow", {"p": 3}),
    ("joma", "reduced", {"mu": [1, "x"]}),
    ("joma", "reduced", {"mu": []}),
    ("topic", "flow", {"T": 2.5}),
])
def test_texts_of_instances(program, tmp_path, monkeypatch, model, rung, instance):
    # The instance of a call has the name `instance`.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instance").write_text(json.dumps(instance))
    status, _, text = program("run", model, rung, "--instance", "instance")
    assert status == 2
    with pytest.raises(popgrad.Error) as caught:
        popgrad.theory(model, instance).run(rung)
    assert str(caught.value) == text.rstrip("\n")


def test_not_a_number_in_an_instance_is_refused():
    with pytest.raises(popgrad.Error, match="instance"):
        popgrad.theory("joma", {"mu": np.array([1.0, np.nan])}).run("reduced")
    with pytest.raises(popgrad.Error, match="no number, text, list or array"):
        popgrad.theory("joma", {"mu": object()}).run("reduced")
    with pytest.raises(popgrad.Error, match="cannot be read"):
        popgrad.theory("joma", "/no/such/file.json").run("reduced")


def test_unknown_names_tell_the_nearest():
    with pytest.raises(popgrad.Error, match="did you mean 'joma'"):
        popgrad.theory("jona")
    with pytest.raises(popgrad.Error, match="did you mean 'scb.convergence'"):
        popgrad.verify("scb.convergense")


def test_words_that_are_no_names_are_refused():
    for rung in ("--help", "", None, 3):
        with pytest.raises(popgrad.Error, match="must be a name"):
            popgrad.theory("scb").run(rung)
    for name in ("", None, "--json=x", 3):
        for ask in (popgrad.theory, popgrad.verify, popgrad.falsify, popgrad.theory("scb").verify):
            with pytest.raises(popgrad.Error, match="must be a name"):
                ask(name)
    with pytest.raises(popgrad.Error, match="must be a dictionary or the path"):
        popgrad.theory("scb", [1, 2])
    with pytest.raises(popgrad.Error, match="save_at is empty"):
        popgrad.theory("scb").run("flow", save_at=[])
    with pytest.raises(popgrad.Error, match="--t1 true is not a finite number"):
        popgrad.theory("scb").run("flow", t1=True)
    with pytest.raises(popgrad.Error, match="standard output"):
        popgrad.theory("scb").run("flow", output="-")
    with pytest.raises(popgrad.Error, match="help"):
        popgrad.theory("scb").run("flow", help=True)
    with pytest.raises(popgrad.Error, match="null character"):
        popgrad.theory("scb").run("flow", method="a\0b")
    with pytest.raises(popgrad.Error, match="progress"):
        popgrad.theory("scb").run("flow", progress=3)


def test_a_numerical_failure_keeps_what_there_is(program):
    theory = popgrad.theory("scb", N=3, T=6)
    with pytest.raises(popgrad.NumericalError, match="stopped at t = ") as caught:
        theory.run("gd", eta=50, steps=5000)
    partial = caught.value.partial
    assert isinstance(partial, popgrad.Run) and len(partial) > 0
    assert not partial.outcomes[0]["usable"] and partial.outcomes[0]["t_reached"] < 50 * 5000
    _, _, text = program("run", "scb", "gd", "--N=3", "--T=6", "--eta=50", "--steps=5000", "-o", "-")
    assert str(caught.value) in text


def test_sizes_beyond_memory_are_an_error_at_once():
    with pytest.raises((popgrad.Error, MemoryError, popgrad.NumericalError)):
        popgrad.theory("scb", N=2000000, T=2000000).run("sgd", steps=1)
    # The interpreter goes on.
    assert len(popgrad.theory("joma").run("reduced", t1=1, save=2)) == 2
