"""Trajectories as arrays."""

import csv
import decimal
import fractions
import io
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import popgrad


def test_numbers_are_those_of_the_command(program):
    status, out, _ = program("run", "joma", "reduced", "--t1", 2, "--save", 7, "-q", "-o", "-")
    assert status == 0
    rows = list(csv.reader(io.StringIO(out)))
    run = popgrad.theory("joma").run("reduced", t1=2, save=7)
    assert ["t", *run.columns] == rows[0]
    told = np.array(rows[1:], dtype=float)
    assert np.array_equal(told[:, 0], run.t)
    for k, column in enumerate(run.columns):
        assert np.array_equal(told[:, k + 1], run[column])


def test_columns_are_views_of_one_block():
    run = popgrad.theory("scb", N=3, T=6).run("sgd", steps=20, runs=3, save=5, seed=4)
    assert run.values.shape == (len(run.columns), 3, 5)
    assert run["loss"].shape == (3, 5)
    assert np.shares_memory(run["loss"], run.values)
    assert not run.values.flags.owndata  # the numbers that C++ made, not a copy
    loss = run["loss"]
    kept = loss.copy()
    del run  # the block lives as long as a view of it
    assert np.array_equal(loss, kept)


def test_seed_fixes_the_numbers_whatever_the_threads():
    theory = popgrad.theory("scb", N=3, T=6)
    one, two = (theory.run("sgd", steps=50, runs=4, jobs=jobs, seed=7) for jobs in (1, 2))
    assert np.array_equal(one.values, two.values)
    other = theory.run("sgd", steps=50, runs=4, seed=8)
    assert not np.array_equal(one.values, other.values)


def test_instance_from_arrays_is_that_of_a_file(bigram, tmp_path):
    arrays = {name: np.array(value, dtype=float) for name, value in bigram.items()}
    file = tmp_path / "instance.json"
    file.write_text(popgrad._call.instance_text(bigram))
    runs = [popgrad.theory("scb", given).run("gd", steps=10) for given in (bigram, arrays, file)]
    assert np.array_equal(runs[0].values, runs[1].values)
    assert np.array_equal(runs[0].values, runs[2].values)
    # Keywords lie over the instance, also over that of a file.
    moved = popgrad.theory("scb", file, eta_A=0.5).run("gd", steps=10)
    assert not np.array_equal(runs[0]["alpha_A"], moved["alpha_A"])


def test_fractions_and_decimals_keep_their_value():
    theory = popgrad.theory("joma", {"mu": [fractions.Fraction(1, 3), decimal.Decimal("2.5")]})
    run = theory.run("reduced", t1=1, save=2, digits=40, states=True,
                     no_events=True)
    assert isinstance(run.t[1], decimal.Decimal)
    assert len(run["attention_entropy"][1].as_tuple().digits) > 30
    assert run.states.shape[:2] == (1, 2)


def test_states():
    run = popgrad.theory("joma", {"mu": [1, 2, 3]}).run("reduced", t1=1, save=3, states=True)
    assert run.states.shape == (1, 3, len(run.state_names))
    assert np.array_equal(run.state("v_2"), run.states[0, :, run.state_names.index("v_2")])
    assert run.state("v_2")[0] == 0 and run.state("v_2")[-1] > run.state("v_0")[-1] > 0
    with pytest.raises(KeyError, match="v_9; there are v_0"):
        run.state("v_9")
    with pytest.raises(KeyError, match="there are t, "):
        run["no_such"]


def test_events_have_times_with_uncertainties():
    run = popgrad.theory("joma", {"mu": [1, 2, 3], "v0": 0.1, "tau": 3}).run("reduced", t1=20)
    least = [event for event in run.events if event["name"] == "entropy-minimum"]
    assert len(least) == 1 and 0 < least[0]["t"] < 20 and least[0]["uncertainty"] < 1e-3
    nearest = run.t[run["attention_entropy"].argmin()]
    assert abs(nearest - least[0]["t"]) <= 0.2  # the save points lie that far apart


def test_to_pandas():
    pandas = pytest.importorskip("pandas")
    run = popgrad.theory("scb", N=3, T=6).run("sgd", steps=20, runs=3, save=5)
    frame = run.to_pandas()
    assert list(frame.columns) == ["run", "t", *run.columns] and len(frame) == 15
    assert np.array_equal(frame[frame.run == 1]["loss"], run["loss"][1])
    assert isinstance(frame, pandas.DataFrame)


def test_without_pandas_the_arrays_are_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = popgrad.theory("joma").run("reduced", t1=1, save=3)
    assert run["attention_entropy"].shape == (3,)
    with pytest.raises(ImportError, match="python3-pandas"):
        run.to_pandas()


def test_moments_predict_the_ensemble():
    theory = popgrad.theory("joma", {"X": [[0.5, 0.1], [0.2, 0.6], [0.3, 0.3]], "scale": 0.3})
    options = {"eta": 0.05, "batch": 16, "t1": 4, "save": 2}
    predicted = theory.moments(**options)
    # The README's numbers. How long blocks of steps are an estimate says, to the last bits, in which
    # processors differ.
    assert predicted["attention_entropy"][-1] == pytest.approx(1.0908146425075125, rel=1e-8)
    assert predicted["attention_entropy_sd"][-1] == pytest.approx(0.00074376, rel=1e-4)
    measured = theory.run("sgd", runs=100, **options)["attention_entropy"][:, -1]
    # The deviation of 100 runs is known to 7 %, one standard error.
    assert measured.std(ddof=1) == pytest.approx(predicted["attention_entropy_sd"][-1], rel=0.3)


def test_progress_is_told_and_its_exception_ends_the_run():
    shares = []
    theory = popgrad.theory("scb", N=3, T=50)
    theory.run("sgd", steps=30000, runs=4, save=3, progress=lambda share, what: shares.append(share))
    assert shares and all(0 <= share <= 1 for share in shares) and shares == sorted(shares)

    def refuse(share, what):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough") as caught:
        theory.run("sgd", steps=10**9, runs=2, progress=refuse)
    assert isinstance(caught.value.partial, popgrad.Run)
    # The next call is as if nothing had been.
    assert len(theory.run("sgd", steps=10, save=3)) == 3


def test_a_bar_is_drawn_and_taken_away(capsys):
    popgrad.theory("scb", N=3, T=50).run("sgd", steps=100000, runs=4, save=3, progress=True)
    told = capsys.readouterr()
    assert not told.out and "scb sgd [#" in told.err and " s left" in told.err
    assert told.err.endswith(" \r")
    popgrad.theory("joma").run("reduced", t1=1, save=2)
    assert not any(capsys.readouterr())  # nothing is told unasked


def test_progress_callback_cannot_compute():
    theory = popgrad.theory("scb", N=3, T=50)
    with pytest.raises(RuntimeError, match="cannot start another computation"):
        theory.run("sgd", steps=10**9, progress=lambda share, what: theory.run("gd", steps=1))


def test_ctrl_c_leaves_what_was_computed():
    code = """
import os, signal, threading, time, popgrad
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    popgrad.theory("scb", N=3, T=6).run("sgd", steps=10**11, runs=2, save_at=[0, 0.01, 0.02, 1e9])
except KeyboardInterrupt as stopped:
    print(stopped.partial["loss"].shape, time.monotonic() - begin < 30)
print(popgrad.theory("joma").run("reduced", t1=1, save=2)["attention_entropy"].shape)
try:
    time.sleep(1)
except KeyboardInterrupt:
    print("never")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          check=True)
    assert done.stdout.splitlines() == ["(2, 3) True", "(2,)"]


def test_custom_handlers_of_sigint_are_called():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are for the main thread")

    class Mine(Exception):
        pass

    def handler(number, frame):
        raise Mine

    before = signal.signal(signal.SIGINT, handler)
    try:
        threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
        with pytest.raises(Mine):
            popgrad.theory("scb", N=3, T=6).run("sgd", steps=10**11)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_run_meanwhile_and_may_compute_too():
    theory = popgrad.theory("scb", N=3, T=50)
    expected = theory.run("sgd", steps=20000, save=3).values
    counts, made = [0], []
    done = threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            time.sleep(0.001)

    def compute():
        made.append(theory.run("sgd", steps=20000, save=3).values)

    counter = threading.Thread(target=count)
    counter.start()
    workers = [threading.Thread(target=compute) for _ in range(3)]
    before = counts[0]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    counter.join()
    assert counts[0] > before
    assert len(made) == 3 and all(np.array_equal(values, expected) for values in made)
