"""verify, falsify, landscape, sweep, equations; how results show themselves; the scripts."""

import fractions
import inspect
import json
import pathlib
import re
import runpy

import numpy as np
import pytest

import popgrad

source = pathlib.Path(__file__).resolve().parents[2] / "src" / "python"


def without_times(document):
    document = json.loads(json.dumps(document))
    document.pop("command")
    for statement in document["statements"]:
        statement.pop("seconds")
    return document


def test_verdicts_are_those_of_the_command(program):
    status, out, _ = program("verify", "joma.entropy-bounce", "scb.hyperbola", "-q", "--json", "-")
    made = popgrad.verify("joma.entropy-bounce", "scb.hyperbola")
    assert without_times(made.document) == without_times(json.loads(out))
    assert made.holds is (status == 0) and made.summary == json.loads(out)["summary"]
    assert [s.id for s in made] == ["joma.entropy-bounce", "scb.hyperbola"]
    assert made["scb.hyperbola"].verdict == "holds"
    assert made[0].refuted == len(made[0].controls) > 0
    assert "joma.entropy-bounce" in str(made)


def test_verify_on_an_instance_of_ones_own():
    inside = popgrad.theory("joma", {"mu": [1, 2, 3], "v0": 0.1, "tau": 3}).verify("entropy-bounce")
    assert inside[0].verdict == "holds"
    assert inside[0].parameters["mu"] == [1, 2, 3]
    outside = popgrad.theory("joma", {"mu": [1, 2, 3], "v0": 1.5}).verify("entropy-bounce")
    assert outside[0].verdict == "not-applicable"
    assert [h["text"] for h in outside[0].hypotheses if h["met"] == "no"] == ["0 <= v0 < mu_j"]
    turned = popgrad.verify("joma.entropy-bounce", set={"tau": 5, "tokens": 4}, seed=7)
    assert turned[0].parameters["knobs"]["tau"] == 5 and turned.document["seed"] == 7


def test_verify_on_drawn_instances():
    made = popgrad.verify("joma.entropy-bounce", seeds=3)
    assert sum(made[0].instances[v] for v in
               ("holds", "violated", "inconclusive", "not-applicable")) == 3
    assert made[0].refuted == 3  # of three controls, on each of the three
    assert "<td>3</td>" in made._repr_html_() and "<td>3/3</td>" in made._repr_html_()


def test_falsify():
    made = popgrad.theory("joma").falsify("entropy-bounce", evaluations=5, seconds=30)
    assert len(made[0]["trials"]) == 5 and not made.falsified
    against = popgrad.falsify("joma.entropy-bounce", controls=True, evaluations=3)
    assert len(against) == 3 and len(against.falsified) == 3


def test_landscape_is_that_of_the_command(program, tmp_path):
    file = tmp_path / "made.json"
    status, _, _ = program("landscape", "topic", "--T=4", "--tau=2", "--v=3", "--value=diagonal",
                           "--grid=5", "--at=1/3,2/3", "--alpha=0,6", "-q", "-o", file)
    assert status == 0
    told = json.loads(file.read_text())
    made = popgrad.theory("topic", T=4, tau=2, v=3).landscape(
        value="diagonal", grid=5, at=[(fractions.Fraction(1, 3), fractions.Fraction(2, 3))],
        alpha=(0, 6))
    assert made.minimum == told["minimum"]
    assert made.certificate["lower"] == fractions.Fraction(told["certificate"]["lower"])
    assert made.certificate["lower"] <= made.certificate["upper"]
    assert made.points[0]["alpha"] == fractions.Fraction(1, 3)
    assert made.points[0]["value"] == fractions.Fraction(told["points"][0]["value"])
    grid = {(p["alpha"], p["beta"]): p["value"] for p in told["points"][1:]}
    assert made.values.shape == (5, 5)
    for j, beta in enumerate(made.betas):
        for i, alpha in enumerate(made.alphas):
            assert grid[alpha, beta] == made.values[j, i]


def test_slice_around_a_trained_model():
    made = popgrad.theory("topic", T=3, tau=2, v=2).landscape(around="gd", steps=20, points=5)
    assert made.columns == ["first", "loss"] and len(made) == 5
    with pytest.raises(popgrad.Error, match="has no landscape"):
        popgrad.theory("scb").landscape()


def test_sweep():
    made = popgrad.theory("topic").sweep("optimum", over={"tau": [2, 4], "T": "8:16:2"},
                                         success=["loss<=0.95"])
    assert made.columns[:2] == ["tau", "T"] and len(made) == 4
    assert np.array_equal(made["tau"], [2, 2, 4, 4]) and np.array_equal(made["T"], [8, 16, 8, 16])
    alone = popgrad.theory("topic", tau=4, T=8).run("optimum")
    assert made["loss"][2] == alone["loss"][-1]
    with pytest.raises(popgrad.Error, match="tua"):
        popgrad.theory("topic").sweep("optimum", over={"tua": [1]})


def test_equations(program):
    _, out, _ = program("equations", "joma", "reduced", "--format", "latex")
    assert popgrad.theory("joma").equations("reduced", format="latex") == out


def test_catalogue():
    assert popgrad.theories() == ["joma", "scan-snap", "scb", "topic"]
    theory = popgrad.theory("scb")
    assert theory.rungs["sgd"]["kind"] == "random" and "loss" in theory.rungs["sgd"]["columns"]
    assert "eta_A" in theory.parameters and "scb.hyperbola" in theory.statements


def test_results_draw_themselves():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    theory = popgrad.theory("scb", N=3, T=6)
    ensemble = theory.run("sgd", steps=20, runs=3, save=5)
    panels = ensemble.plot(["loss", "dist_P"])
    assert [panel.get_title() for panel in panels] == ["loss", "dist_P"]
    drawn = panels[0].lines[0].get_ydata()
    assert np.allclose(drawn, ensemble["loss"].mean(axis=0), rtol=0, atol=0)
    assert len(panels[0].collections) == 1  # the band
    verdicts = popgrad.verify("joma.entropy-bounce")
    marks = verdicts.plot().lines
    assert len(marks) == len(verdicts[0].evidence) + 1  # and the line at 1
    assert len(theory.compare("gd", "flow", t1=1, save=3).plot()) > 3
    landscape = popgrad.theory("topic", T=4, tau=2, v=3).landscape(value="diagonal", grid=4)
    star = landscape.plot().lines[0]
    assert star.get_xdata()[0] == landscape.minimum["alpha"]
    sweep = popgrad.theory("topic").sweep("optimum", over={"tau": [2, 4], "T": [8, 16]})
    assert len(sweep.plot("loss").lines) == 2
    assert popgrad.falsify("joma.entropy-bounce", evaluations=3).plot().lines
    with pytest.raises(ValueError, match="no grid to draw"):
        popgrad.theory("topic", T=4, tau=2, v=3).landscape(value="diagonal").plot()
    with pytest.raises(ValueError, match="too few"):
        ensemble.plot(["loss", "dist_P"], axes=[pyplot.gca()])
    pyplot.close("all")


def test_tables_for_notebooks():
    page = popgrad.verify("joma.entropy-bounce")._repr_html_()
    assert page.count("<tr>") == 2 and "<td>joma.entropy-bounce</td><td>holds</td>" in page
    assert "&lt;" not in popgrad.theory("joma").run("reduced", t1=1, save=2)._repr_html_()[:7]
    sweep = popgrad.theory("topic").sweep("optimum", over={"tau": [2, 4]})
    assert sweep._repr_html_().count("<tr>") == 3


def test_frames():
    pytest.importorskip("pandas")
    verdicts = popgrad.verify("joma.entropy-bounce").to_pandas()
    assert verdicts.loc[0, "verdict"] == "holds" and verdicts.loc[0, "refuted"] == "3/3"
    assert 0.4 < verdicts.loc[0, "of_allowed"] < 0.6  # the README's 0.5
    trials = popgrad.falsify("joma.entropy-bounce", evaluations=4).to_pandas()
    assert len(trials) == 4 and "tau" in trials.columns
    grid = popgrad.theory("topic", T=4, tau=2, v=3).landscape(value="diagonal", grid=3).to_pandas()
    assert list(grid.columns) == ["alpha", "beta", "value"] and len(grid) == 9


@pytest.mark.parametrize("name", ["is_the_theorem_true", "is_my_sgd_right", "draw_the_landscape"])
def test_scripts(name, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    runpy.run_path(str(source / "notebooks" / f"{name}.py"))
    assert capsys.readouterr().out


def test_stubs_name_what_there_is():
    stub = (source / "popgrad" / "_popgrad.pyi").read_text()
    told = set(re.findall(r"^(?:def|class) (\w+)", stub, re.M))
    there = {name for name in dir(popgrad._popgrad) if not name.startswith("_")}
    assert told == there
    assert set(re.findall(r"^    def (\w+)", stub, re.M)) - {"__init__"} == {
        name for name in dir(popgrad._popgrad.Observer) if not name.startswith("_")}


def test_everything_public_is_documented():
    for name in popgrad.__all__:
        thing = getattr(popgrad, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert thing.__doc__, name
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            if method.startswith("_") or not inspect.isfunction(value):
                continue
            assert value.__doc__, f"{name}.{method}"
            # Annotated throughout: the package is its own stub.
            assert all(p.annotation is not p.empty for p in
                       list(inspect.signature(value).parameters.values())[1:]), f"{name}.{method}"


def test_samples_of_the_readme(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    samples = re.findall(r"```python\n(.*?)```", (source / "README.md").read_text(), re.S)
    assert len(samples) == 3
    exec(compile(samples[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == "holds True\n"
    assert len(samples[1].splitlines()) <= 20
    exec(compile(samples[1], "README.md", "exec"), {})
    judged = capsys.readouterr().out
    assert judged.startswith("departs ") and "\nholds 0." in judged and " 3 of 3 controls refuted\n" in judged
    rate = re.search(r"^learning rate (\S+) (\S+) explains the runs$", judged, re.M)
    assert abs(float(rate[1]) - 0.11) < 2 * float(rate[2]) < 0.01
    pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch): the third "
                                        "sample is not run")
    exec(compile("import torch; torch.manual_seed(1)\n" + samples[2], "README.md", "exec"), {})
    assert "verdict: consistent" in capsys.readouterr().out


@pytest.mark.parametrize("method, command", [
    (popgrad.Theory.run, ["run", "scb"]), (popgrad.Theory.compare, ["compare", "scb"]),
    (popgrad.Theory.verify, ["verify"]), (popgrad.verify, ["verify"]),
    (popgrad.Theory.falsify, ["falsify"]), (popgrad.falsify, ["falsify"]),
    (popgrad.Theory.landscape, ["landscape", "topic"]), (popgrad.Theory.sweep, ["sweep", "scb"])])
def test_keywords_are_options_of_the_command(program, method, command):
    _, out, _ = program(*command, "--help")
    options = set(re.findall(r"--([a-z0-9-]+)", out))
    own = {"self", "name", "rung", "other", "run", "over", "statements", "patterns", "progress", "options"}
    named = set(inspect.signature(method).parameters) - own
    assert len(named) >= 6 and {name.replace("_", "-") for name in named} <= options


def test_any_command(program):
    status, out, _ = program("ladder", "scb", "-q")
    made = popgrad.command("ladder", "scb", "-q")
    assert made.text == out and made.status == status
    assert popgrad.command("run", "--help").text == program("run", "--help")[1]
    assert popgrad.command("--version").text == program("--version")[1]
    with pytest.raises(popgrad.Error, match="did you mean 'scb'"):
        popgrad.command("ladder", "scbb")


def test_commands_print_through_their_host():
    # What went to standard output directly would be lost in a notebook.
    own = {"host.hpp", "host.cpp", "program.cpp", "progress.cpp"}
    sources = sorted((source.parent / "commands").glob("*.?pp"))
    assert len(sources) > len(own)
    for path in sources:
        if path.name in own:
            continue
        direct = re.findall(r"fmt::print\(\s*\"|\b(?:stdout|stderr|cout|cerr)\b", path.read_text())
        assert not direct, path.name
