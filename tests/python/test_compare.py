"""Recorded runs: compare, and the same in a training loop by Watch."""

import ast
import csv
import pathlib
import runpy

import numpy as np
import pytest

import popgrad

recorded = pathlib.Path(__file__).resolve().parents[1] / "recorded"
how = {"eta": 0.1, "batch": 8, "clock": "0.1*step", "group": ["seed"], "runs": 32,
       "map": {"attention_entropy": "attn_ent", "loss": "loss"}}
words = ["--eta=0.1", "--batch=8", "--clock=0.1*step", "--group=seed", "--runs=32",
         "--map=attention_entropy=attn_ent,loss=loss", "-q"]


def columns_of(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(header)}


# What depends on the name of the file.
def without_names(text, path):
    return text.replace(str(path), "run").replace(path.name, "run").split()


@pytest.mark.parametrize("name, verdict, status", [("joma.csv", "consistent", 0),
                                                   ("joma-other-rate.csv", "departs", 1)])
def test_judgement_is_that_of_the_command(program, name, verdict, status):
    path = recorded / "data" / name
    instance = recorded / "joma.json"
    answer = program("compare", "joma", "sgd", "--with", path, "--instance", instance, *words)
    assert answer[0] == status
    theory = popgrad.theory("joma", instance)
    of_arrays = theory.compare("sgd", run=columns_of(path), **how)
    assert of_arrays.verdict == verdict and of_arrays.consistent is (status == 0)
    assert without_names(of_arrays.text, path) == without_names(answer[1], path)
    assert theory.compare("sgd", run=path, **how).text == answer[1]
    rate = of_arrays.settings["learning rate"]
    assert rate["assumed"] == 0.1 and 0 < rate["would_have_been_found"] < 0.01
    if status == 0:
        assert abs(rate["linear_estimate"] - 0.1) < 4 * rate["standard_error"]
        assert of_arrays.first_outside is None
    else:
        fit = next(f for f in of_arrays.fits if f["setting"] == "learning rate")
        assert fit["explains"] and fit["value"] == pytest.approx(0.125, abs=1e-3)
        assert of_arrays.first_outside > 0
    assert set(of_arrays.observables) == {"attention_entropy", "loss"} & set(of_arrays.observables)
    assert of_arrays["attention_entropy_expected"].shape == of_arrays.t.shape


def test_a_frame_is_taken_as_it_is():
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(recorded / "data" / "joma.csv")
    made = popgrad.theory("joma", recorded / "joma.json").compare("sgd", run=frame, **how)
    assert made.verdict == "consistent"
    assert list(made.to_pandas().columns) == ["t", *made.columns]
    frame["note"] = "text"
    with pytest.raises(popgrad.Error, match="column 'note' must hold only numbers"):
        popgrad.theory("joma", recorded / "joma.json").compare("sgd", run=frame, **how)


def test_bad_tables_are_told():
    theory = popgrad.theory("joma", recorded / "joma.json")
    columns = columns_of(recorded / "data" / "joma.csv")
    with pytest.raises(popgrad.Error, match="as many numbers as the other columns"):
        theory.compare("sgd", run={**columns, "lr": columns["lr"][1:]}, **how)
    with pytest.raises(popgrad.Error, match="holds no rows"):
        theory.compare("sgd", run={name: x[:0] for name, x in columns.items()}, **how)
    with pytest.raises(popgrad.Error, match="must be a DataFrame"):
        theory.compare("sgd", run=3, **how)
    with pytest.raises(popgrad.Error, match="give either a second rung or --with"):
        theory.compare("sgd")
    with pytest.raises(popgrad.Error, match="give --batch"):
        theory.compare("sgd", run=columns, **{**how, "batch": None})
    with pytest.raises(popgrad.Error, match="'seed'|seeed"):
        theory.compare("sgd", run=columns, **{**how, "group": ["seeed"]})


def test_two_rungs():
    made = popgrad.theory("scb", N=3, T=6).compare("gd", "flow", t1=1)
    assert made.verdict is None and made.consistent is None
    assert np.abs(made["loss_gd"] - made["loss_flow"]).max() < 0.01
    assert not np.array_equal(made["loss_gd"], made["loss_flow"])


def test_labels_may_be_texts_or_whole_numbers_beyond_doubles():
    theory = popgrad.theory("joma", recorded / "joma.json")
    columns = columns_of(recorded / "data" / "joma.csv")
    short = {**how, "runs": 8, "no_ladder": True, "no_fit": True}
    plain = theory.compare("sgd", run=columns, **short)
    texts = {**columns, "seed": np.array([f"run, {seed:g}" for seed in columns["seed"]])}
    made = theory.compare("sgd", run=texts, **short)
    assert made.verdict == plain.verdict
    assert [run["run"] for run in made.judgement["runs"]][:2] == ["run seed run, 1", "run seed run, 2"]
    close = {**columns, "seed": (2**60 + columns["seed"].astype(np.int64))}
    assert theory.compare("sgd", run=close, **short).verdict == plain.verdict
    texts["seed"] = np.array([None if k == 3 else "a" for k in range(len(columns["seed"]))], dtype=object)
    with pytest.raises(popgrad.Error, match="--group seed is empty in line 5"):
        theory.compare("sgd", run=texts, **short)


def test_pictures_have_each_observable_in_its_own_panel():
    pytest.importorskip("matplotlib")
    made = popgrad.theory("scb", N=3, T=6).compare("gd", "flow", t1=1)
    panels = {panel.get_title(): panel for panel in made.plot()}
    assert {"dist_P", "dist_P_normalised"} <= set(panels)
    for name, panel in panels.items():
        assert [line.get_label() for line in panel.get_lines()] == ["gd", "flow"], name


# ---- in a training loop ---------------------------------------------------------------------------

@pytest.fixture
def train(joma):
    """The training loop of the notebook, which trains on ``instance``."""
    script = recorded.parents[1] / "src" / "python" / "notebooks" / "is_my_sgd_right.py"
    loop = [part for part in ast.parse(script.read_text()).body if getattr(part, "name", None) == "train"]
    names = {"np": np, "instance": joma}
    exec(compile(ast.Module(loop, []), script, "exec"), names)
    return names["train"]


def test_a_right_run_is_consistent_and_its_table_is_one_for_the_command(joma, train, program, tmp_path):
    calls = []
    watch = popgrad.Watch("joma", joma, eta=0.1, batch=8, runs=32,
                          on_departure=lambda made, step: calls.append(step))
    for seed in (1, 2):
        train(watch, 0.1, seed, run=seed)
    made = watch.verdict()
    assert made.verdict == "consistent" and not calls and watch.departure is None
    assert watch.looks > 3
    watch.to_csv(tmp_path / "watch")
    (tmp_path / "instance.json").write_text(popgrad._call.instance_text(joma))
    status, out, _ = program(
        "compare", "joma", "sgd", "--with", tmp_path / "watch", "--instance",
        tmp_path / "instance.json", "--eta=0.1", "--batch=8", "--runs=32", "--clock=lr*step",
        "--group=run", "--no-ladder", "--no-events", "-q")
    assert status == 0
    assert made.text == out.replace(str(tmp_path / "watch"), "watch")


def test_a_learning_rate_5_percent_off_is_called_while_training(joma, train):
    calls = []
    watch = popgrad.Watch("joma", joma, eta=0.1, batch=8, runs=32,
                          on_departure=lambda made, step: calls.append((made, step)))
    train(watch, 0.105, seed=1)
    assert len(calls) == 1
    made, step = calls[0]
    assert made.verdict == "departs" and 0 < step < 600 and watch.departure == (step, made)
    assert made.level < watch.level  # the share of one look
    final = watch.verdict()
    assert final.verdict == "departs"
    fit = next(f for f in final.fits if f["setting"] == "learning rate")
    assert fit["explains"] and abs(fit["value"] - 0.105) < 2 * fit["half_width"]


@pytest.mark.parametrize("word", [float("inf"), float("nan"), -float("inf")])
def test_a_run_that_diverges_departs(joma, train, word, tmp_path):
    watch = popgrad.Watch("joma", joma, eta=0.1, batch=8, runs=8, no_fit=True)
    train(watch, 0.1, seed=1)
    for row in watch._rows[20:]:
        row["loss"] = word
    del watch._rows[5]["loss"]  # not logged
    made = watch.verdict()
    assert made.verdict == "departs"
    step = watch._rows[20]["step"]
    assert f"diverged at t = {0.1 * step:.6g}: loss has no finite number" in made.text
    lost = next(o for o in made.judgement["runs"][0]["observables"] if o["observable"] == "loss")
    assert lost["missing"] == len(watch) - 20 + 1 and lost["diverged"] == pytest.approx(0.1 * step)
    watch.to_csv(tmp_path / "watch.csv")
    rows = list(csv.DictReader(open(tmp_path / "watch.csv")))
    assert rows[5]["loss"] == "" and rows[20]["loss"] == repr(word)


def test_a_callback_may_end_the_training(joma, train):
    class Stop(Exception):
        pass

    def stop(made, step):
        raise Stop

    watch = popgrad.Watch("joma", joma, eta=0.1, batch=8, runs=32, on_departure=stop)
    with pytest.raises(Stop):
        train(watch, 0.15, seed=1)
    assert watch.departure is not None


def test_observables_of_a_state_are_those_of_the_run(bigram, joma):
    for model, instance, names in (("scb", bigram, ("V", "A")), ("joma", joma, ("W0", "z0"))):
        theory = popgrad.theory(model, instance)
        start = theory.run("gd", steps=1, save=2)
        made = theory.observe(**{name: value for name, value in joma.items() if name in names}) \
            if model == "joma" else theory.observe(
                V=np.repeat(stationary(bigram)[:, None], 3, axis=1), A=np.full((6, 3), 1 / 6))
        for column in start.columns:
            assert made[column] == pytest.approx(start[column][0], rel=1e-12, abs=1e-14), column


def stationary(bigram):
    return np.linalg.matrix_power(np.array(bigram["P"]), 512)[:, 0]


def test_observables_by_hand(bigram):
    mu = stationary(bigram)
    generator = np.random.default_rng(3)
    values = generator.normal(size=(3, 3)).astype(np.float32)  # as a training in single precision
    attention = generator.normal(size=(6, 3))
    made = popgrad.theory("scb", bigram).observe(V=values, A=attention)
    kernel, context = np.array(bigram["P"]), np.array(bigram["q"])
    assert made["dist_P"] == pytest.approx(np.sqrt(((values - kernel) ** 2 * mu).sum()), rel=1e-9)
    assert made["dist_Q"] == pytest.approx(
        np.sqrt((((attention.T - context) ** 2).sum(1) * mu).sum()), rel=1e-9)


def test_wrong_states_are_told(bigram):
    theory = popgrad.theory("scb", bigram)
    with pytest.raises(popgrad.Error, match="V"):
        theory.observe(V=np.zeros((2, 3)), A=np.zeros((6, 3)))
    with pytest.raises(popgrad.Error, match="'Vv'? ?|Vv"):
        theory.observe(Vv=np.zeros((3, 3)))
    with pytest.raises(popgrad.Error, match="of 3 dimensions"):
        theory.observe(V=np.zeros((3, 3, 3)))
    with pytest.raises(popgrad.Error, match="no matrix is given"):
        theory.observe()


def test_wrong_uses_of_watch_are_told(bigram):
    with pytest.raises(popgrad.Error, match="give eta, the learning rate, and batch"):
        popgrad.Watch("scb", bigram)
    for wrong, text in (({"eta": 0}, "eta 0 must be > 0"), ({"level": 2}, "level 2 must be"),
                        ({"growth": 1}, "growth 1 must be > 1"),
                        ({"first_look": 1}, "first_look 1 must be"),
                        ({"on_departure": 3}, "must be a function"),
                        ({"rung": "sgdd"}, "did you mean 'sgd'")):
        with pytest.raises(popgrad.Error, match=text):
            popgrad.Watch("scb", bigram, **{"eta": 0.01, "batch": 64, **wrong})
    watch = popgrad.Watch("scb", bigram, 0.01, 64)
    with pytest.raises(popgrad.Error, match="did you mean 'dist_P'"):
        watch.log(0, dist_p=1)
    with pytest.raises(popgrad.Error, match="must be one number"):
        watch.log(0, dist_P=np.zeros(2))
    with pytest.raises(popgrad.Error, match="must be a whole number"):
        watch.log(0.5, dist_P=1)
    with pytest.raises(popgrad.Error, match="no observable"):
        watch.log(0)
    with pytest.raises(popgrad.Error, match="no row after step 0"):
        watch.verdict()
    watch.log(3, dist_P=1)
    with pytest.raises(popgrad.Error, match="step 3 does not come after step 3 of run 0"):
        watch.log(3, dist_P=1)
    watch.log(3, run=1, dist_P=np.float32(1))  # of another run
    assert len(watch) == 2


def test_pytorch(capsys, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
    script = str(recorded.parents[1] / "src" / "python" / "notebooks" / "watch_pytorch.py")
    monkeypatch.setattr("sys.argv", [script])
    runpy.run_path(script)
    right = capsys.readouterr().out
    assert "verdict: consistent" in right and "callback" not in right
    monkeypatch.setattr("sys.argv", [script, "0.05"])
    runpy.run_path(script)
    wrong = capsys.readouterr().out
    assert "verdict: NOT consistent" in wrong and "departs: callback at step" in wrong
