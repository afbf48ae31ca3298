#!/usr/bin/env python3
"""How sharp and how honest `compare --with` is: measured by judging runs, sound and faulty.

    python3 tests/recorded/judge.py recorded            the runs of data/, by each way of judging
    python3 tests/recorded/judge.py smallest            the smallest faults that are found
    python3 tests/recorded/judge.py power               how often faults are found, and sound runs
    python3 tests/recorded/judge.py reachable           how often the best test would find them
    python3 tests/recorded/judge.py honest              the four models: false alarms, smallest detectable changes

Needs a built popgrad (--popgrad, else build/popgrad) and, for all but the first, NumPy.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
from statistics import NormalDist

FOLDER = pathlib.Path(__file__).parent
WAYS = {"prediction": [], "ensemble": ["--ensemble"]}
# Model, file name, rate, and how the runs of data/ were made and logged.
RECORDED = [
    ("joma", "joma", 0.1, ["--batch", "8", "--map", "attention_entropy=attn_ent,loss=loss"]),
    ("scan-snap", "scan_snap", 0.5, ["--batch", "16", "--T", "32"]),
    ("scb", "scb", 0.01, ["--batch", "64"]),
    ("topic", "topic", 0.5, ["--batch", "16"]),
]
# The setting of `power`: three runs of 51 rows.
ETA, BATCH, STEPS, ROWS, RUNS = 0.02, 16, 2000, 51, 3
LEVEL = 1e-3
given = {"instance": FOLDER / "scb.json"}
OBSERVABLES = ["alpha_V", "alpha_A", "dist_P", "dist_Q"]


def judge(program, words, folder):
    """The record written as JSON, and the processor time that it took."""
    out = folder / "judgement.json"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = subprocess.run([program, "compare", *words, "--no-ladder", "--no-events", "-q", "-o",
                           str(out)], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if made.returncode not in (0, 1, 3):
        raise SystemExit(made.stdout + made.stderr)
    seconds = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return json.loads(out.read_text()), seconds


def judge_triple(program, runs, seed, words, folder):
    """The same of three runs in the setting below."""
    write(runs, folder / "recorded.csv")
    return judge(program, ["scb", "sgd", "--instance", str(given["instance"]), "--group", "run",
                           "--clock", f"{ETA}*step", "--with", str(folder / "recorded.csv"),
                           "--eta", str(ETA), "--batch", str(BATCH), "--seed", str(seed),
                           "--no-fit", *words], folder)


def percent(setting):
    return 100 * setting["would_have_been_found"] / abs(setting["assumed"])


def of_recorded(options):
    print(f"{'runs':28} {'judged by':12} {'verdict':12} {'band':>6} {'rate':>7} {'CPU s':>6}")
    with tempfile.TemporaryDirectory() as name:
        for model, files, rate, how in RECORDED:
            for variant in ("", "-other-rate", "-label-noise", "-temperature"):
                for way, words in WAYS.items():
                    made, seconds = judge(options.popgrad, [
                        model, "sgd", "--group", "seed", "--eta", str(rate), "--clock",
                        f"{rate}*step", "--instance", str(FOLDER / f"{files}.json"), "--with",
                        str(FOLDER / "data" / f"{files}{variant}.csv"), *how, *words],
                        pathlib.Path(name))
                    made = made["judgement"]
                    asked = way == "prediction" and made["fluctuation"] == "sampled"
                    # Of runs that depart, the power is that of the same test on sound ones.
                    print(f"{files + variant:28} {'(ensemble)' if asked else way:12} "
                          f"{made['verdict']:12} {made['band']:6.2f} "
                          f"{percent(made['settings'][0]):5.2f} % {seconds:6.2f}", flush=True)


def of_honest(options):
    """Own runs at the steps, with the columns and as many as in data/MODEL.csv: none should depart."""
    print(f"{'runs':12} {'departs':>14} {'95 %':>16} {'CPU s':>6}   median smallest detectable change, relative to the "
          "setting where it is not 0")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, files, rate, how in RECORDED:
            if options.only and model not in options.only:
                continue
            with open(FOLDER / "data" / f"{files}.csv", newline="") as file:
                logged = list(csv.DictReader(file))
            steps = sorted({int(row["step"]) for row in logged})
            columns = [{"attn_ent": "attention_entropy"}.get(column, column)
                       for column in logged[0] if column not in ("seed", "step", "lr")]
            seeds = len({row["seed"] for row in logged})
            made_with = [word for word in how if "=" not in word and word != "--map"]
            setting = [model, "sgd", "--instance", str(FOLDER / f"{files}.json"), "--eta", str(rate), *made_with]
            subprocess.run([options.popgrad, "run", *setting, "-q", "--no-events", "--steps", str(steps[-1]), "--save-at",
                            ",".join(f"{k * rate:.10g}" for k in steps), "--seed", "101", "--runs",
                            str(seeds * options.honest), "-o", str(folder / "all.csv")], check=True)
            with open(folder / "all.csv", newline="") as file:
                rows = [[row[column] for column in columns] for row in csv.DictReader(file)]
            found, seconds, changes = 0, 0.0, {}
            size = len(steps) * seeds
            for k in range(options.honest):
                with open(folder / "recorded.csv", "w", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow(["seed", "step", *columns])
                    for n, row in enumerate(rows[size * k:size * (k + 1)]):
                        writer.writerow([n // len(steps), steps[n % len(steps)],
                                         *(f"{float(number):.9g}" for number in row)])
                made, taken = judge(options.popgrad, [
                    *setting, "--group", "seed", "--clock", f"{rate}*step", "--with",
                    str(folder / "recorded.csv"), "--seed", str(10 + k), "--no-fit"], folder)
                found += made["judgement"]["verdict"] == "departs"
                seconds += taken
                for item in made["judgement"]["settings"]:
                    changes.setdefault(item["setting"], []).append(
                        item["would_have_been_found"] / (abs(item["assumed"]) or 1))
                if k + 1 == options.honest or (k + 1) % 25 == 0:
                    low, high = interval(found, k + 1)
                    print(f"{model:12} {found:5} of {k + 1:5} {100 * low:6.2f} to {100 * high:5.2f} % "
                          f"{seconds / (k + 1):6.2f}   "
                          + ", ".join(f"{setting} {statistics.median(of):.3g}" for setting, of in changes.items()),
                          flush=True)


def train(runs, seed, eta=ETA, label_noise=0.0, temperature=1.0, query_last=False):
    """Rows (runs, ROWS, observables) of SGD as scb.py has it, all runs at once."""
    import numpy as np

    instance = json.loads(given["instance"].read_text())
    kernel, context = np.array(instance["P"]), np.array(instance["q"])
    tokens, positions = context.shape
    mu = np.linalg.matrix_power(kernel, 1024)[:, 0]
    rng = np.random.default_rng(seed)
    values = np.broadcast_to(mu[:, None], (runs, tokens, tokens)).copy()
    attention = np.full((runs, tokens, positions), 1 / positions)
    each = np.arange(runs)[:, None]

    def draw(cumulative):
        # Of laws along the last axis, one number each.
        return (rng.random(cumulative.shape[:-1] + (1,)) > cumulative[..., :-1]).sum(-1)

    of_mu, of_context, of_kernel = mu.cumsum(), context.cumsum(1), kernel.T.cumsum(1)

    def step():
        sequence = draw(np.broadcast_to(of_mu, (runs, BATCH, positions, tokens)))
        query = draw(np.broadcast_to(of_mu, (runs, BATCH, tokens)))
        place = draw(of_context[query])
        label = draw(of_kernel[np.take_along_axis(sequence, place[..., None], 2)[..., 0]])
        noisy = rng.random(label.shape) < label_noise
        label = np.where(noisy, rng.integers(tokens, size=label.shape), label)
        if query_last:
            sequence[..., -1] = query
        weight = attention[each, query]
        seen = np.stack([(weight * (sequence == j)).sum(-1) for j in range(tokens)], -1)
        seen /= temperature
        error = np.eye(tokens)[label] - np.einsum("rij,rbj->rbi", values, seen)
        of_values = np.einsum("rbi,rbj->rij", error, seen) / BATCH / mu
        of_values -= of_values.mean(1, keepdims=True)
        of_values -= (of_values @ mu)[..., None]
        pull = np.einsum("rbi,rij->rbj", error, values) / mu[query][..., None] / BATCH / temperature
        of_attention = np.take_along_axis(pull, sequence, 2)
        of_attention -= of_attention.mean(-1, keepdims=True)
        np.add.at(attention, (each, query), eta * of_attention)
        values[:] += eta * of_values

    def observe():
        ground = mu[:, None]
        size = ((kernel - ground) ** 2 * mu).sum()
        along = ((attention * context).sum(-1) - attention.sum(-1) / positions) @ mu
        context_size = (context ** 2).sum(1) @ mu
        return np.stack([
            ((values - ground) * (kernel - ground) * mu).sum((1, 2)) / size,
            along / (context_size - 1 / positions),
            np.sqrt(((values - kernel) ** 2 * mu).sum((1, 2))),
            np.sqrt(((attention - context) ** 2).sum(-1) @ mu)], -1)

    rows = []
    every = STEPS // (ROWS - 1)
    for k in range(STEPS + 1):
        if k % every == 0:
            rows.append(observe())
        step()
    return np.stack(rows, 1).tolist()


def simulate(program, runs, seed, how, folder):
    """The same of popgrad's own SGD, with other settings than those that are claimed."""
    out = folder / "runs.csv"
    settings = {"--eta": ETA, "--batch": BATCH, **how}
    subprocess.run([program, "run", "scb", "sgd", "-q", "--no-events", "--save", str(ROWS), "--steps",
                    str(STEPS), "--seed", str(seed), "--runs", str(runs), "--instance",
                    str(given["instance"]), "-o", str(out),
                    *[str(word) for pair in settings.items() for word in pair]], check=True)
    made = [[] for _ in range(runs)]
    with open(out, newline="") as file:
        for k, row in enumerate(csv.DictReader(file)):
            made[k // ROWS].append([float(row[name]) for name in OBSERVABLES])
    return made


def write(runs, path):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "step", *OBSERVABLES])
        for r, rows in enumerate(runs):
            for k, row in enumerate(rows):
                writer.writerow([r, k * STEPS // (ROWS - 1), *[f"{x:.9g}" for x in row]])


def interval(count, trials):
    """Wilson's, 95 %."""
    z = 1.96
    share, middle = count / trials, z * z / (2 * trials)
    half = z * math.sqrt(share * (1 - share) / trials + middle / (2 * trials))
    return [(share + middle + sign * half) / (1 + 2 * middle) for sign in (-1, 1)]


FAULTS = {
    "learning rate 5 % larger": {"--eta": ETA * 1.05},
    "momentum 0.1": {"--optimiser": "momentum", "--momentum": 0.1},
    "label noise 2 %": {"--label_noise": 0.02},
    "batch 25 % smaller": {"--batch": 12},
    "batch 25 % larger": {"--batch": 20},
    "attention rate 10 % larger": {"--eta_A": 1.1},
    "query in the last position": {"--query_position": "last"},
    # Of NumPy, as a script elsewhere would have them.
    "label noise 2 % (NumPy)": "label_noise",
    "query in the last position (NumPy)": "query_last",
}


# What the faults are as settings, by the names that judgements give them.
TRUTH = {
    "none": {"learning rate": ETA, "batch": BATCH, "label_noise": 0, "temperature": 1},
    "learning rate 5 % larger": {"learning rate": 1.05 * ETA},
    "label noise 2 %": {"label_noise": 0.02},
    "batch 25 % smaller": {"batch": 12},
    "batch 25 % larger": {"batch": 20},
}


def made_by(program, how, runs, seed, folder):
    """Runs with a fault: popgrad's own where it has that setting, else those of NumPy."""
    if isinstance(how, dict):
        return simulate(program, runs, seed, how, folder)
    return train(runs, seed, label_noise=0.02 * (how == "label_noise"),
                 query_last=how == "query_last")


def of_reachable(options):
    """How often the likelihood ratio of two normal laws finds a fault from RUNS runs at LEVEL.

    Both laws are estimated from all rows of half of the runs; the other half is judged, so that the
    share is not flattered, though with few runs it falls short of what is reachable.
    """
    import numpy as np

    rng = np.random.default_rng(1)
    runs, triples = 2 * options.trained, 200_000

    def numbers(made):
        return np.array(made).reshape(len(made), -1)

    def law(sample, floor):
        values, axes = np.linalg.eigh(np.cov(sample.T))
        return sample.mean(0), axes, np.maximum(values, floor)

    def log_density(sample, mean, axes, values):
        along = (sample - mean) @ axes
        return -0.5 * (along ** 2 / values + np.log(values)).sum(1)

    def share(sound, faulty):
        """Of triples above what sound ones exceed with probability LEVEL."""
        def sums(of):
            return rng.choice(of, (triples, RUNS)).sum(1)
        return (sums(faulty) > np.quantile(sums(sound), 1 - LEVEL)).mean()

    print(f"{'fault':28} {'by means':>10} {'by laws':>10}   share found, level {LEVEL}, {RUNS} runs; "
          f"laws from {runs // 2} runs each")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sound = numbers(simulate(options.popgrad, runs, 11, {}, folder))
        # Rows that do not fluctuate have rounding for a variance, by which programs would be told apart.
        moving = sound.std(0) > 1e-9
        scale = sound.std(0)[moving]
        sound = sound[:, moving] / scale
        for kind, how in FAULTS.items():
            if options.only and kind not in options.only:
                continue
            faulty = numbers(made_by(options.popgrad, how, runs, 12, folder))[:, moving] / scale
            shares = []
            for pooled in (True, False):
                found = []
                for half in (slice(0, None, 2), slice(1, None, 2)):
                    rest = slice(1 - half.start, None, 2)
                    floor = 1e-6
                    one, other = law(sound[half], floor), law(faulty[half], floor)
                    if pooled:
                        both = law(np.concatenate([sound[half] - one[0], faulty[half] - other[0]]),
                                   floor)
                        one, other = (one[0], *both[1:]), (other[0], *both[1:])
                    ratio = [log_density(x, *other) - log_density(x, *one)
                             for x in (sound[rest], faulty[rest])]
                    found.append(share(*ratio))
                shares.append(sum(found) / 2)
            print(f"{kind:28} {100 * shares[0]:8.0f} % {100 * shares[1]:8.0f} %", flush=True)


# What somebody would give to --suspect who doubts that setting.
DOUBTED = {"learning rate 5 % larger": "eta", "momentum 0.1": "momentum",
           "label noise 2 %": "label_noise", "batch 25 % smaller": "batch",
           "batch 25 % larger": "batch", "attention rate 10 % larger": "eta_A",
           "query in the last position": "query_position"}


def of_power(options):
    kinds = {"none": {}, "none (NumPy)": "numpy", **FAULTS}
    print(f"{'fault':28} {'judged by':12} {'departs':>12} {'95 %':>16} {'rate':>7} {'CPU s':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, how in kinds.items():
            if options.only and kind not in options.only:
                continue
            honest = kind == "none"
            repeats = options.honest if honest else options.repeats
            seed = 1000 + 7 * list(kinds).index(kind)
            runs = made_by(options.popgrad, how, RUNS * repeats, seed, folder)
            ways = dict(WAYS)
            if honest or kind in DOUBTED:
                ways["doubted"] = ["--suspect", DOUBTED.get(kind, "eta")]
            for way, words in ways.items():
                if options.way and way not in options.way:
                    continue
                # The judge that takes an ensemble takes more time too.
                count = repeats // 10 if honest and way == "ensemble" else repeats
                if not count:
                    continue
                found, seconds, visible, ended = 0, 0.0, 0.0, 0
                estimates = {setting: [] for setting in TRUTH.get(kind, {})}
                for k in range(count):
                    made, taken = judge_triple(options.popgrad, runs[RUNS * k:RUNS * (k + 1)],
                                               10 + k, words, folder)
                    made = made["judgement"]
                    found += made["verdict"] == "departs"
                    ended += way != "ensemble" and made["fluctuation"] == "sampled"
                    visible += percent(made["settings"][0]) / count
                    for item in made["settings"]:
                        if item["setting"] in estimates and item["t"] is not None:
                            # Before it was cut to what the setting may be; of the batch, which is no line, after.
                            line = item["assumed"] + item["t"] * item["standard_error"]
                            at = item["linear_estimate"] if item["setting"] == "batch" else line
                            if at is not None:
                                estimates[item["setting"]].append((at, item["standard_error"]))
                    seconds += taken / count
                low, high = interval(found, count)
                print(f"{kind:28} {way:12} {found:5} of {count:4} {100 * low:6.2f} to "
                      f"{100 * high:5.2f} {visible:5.2f} % {seconds:6.2f}"
                      + (f"  ({ended} by an ensemble)" if ended else ""), flush=True)
                if way == "doubted":
                    continue  # the same estimates
                for setting, values in estimates.items():
                    if not values:
                        continue
                    truth = TRUTH[kind][setting]
                    inside = sum(abs(x - truth) <= 1.96 * error for x, error in values)
                    print(f"    {setting:24} {truth:.4g}: estimated as "
                          f"{sum(x for x, _ in values) / len(values):.4g} +- "
                          f"{1.96 * sum(e for _, e in values) / len(values):.2g}; "
                          f"{inside} of {len(values)} intervals of 95 % contain it", flush=True)


def tests_of(record):
    """Of every test: (statistic, its bound)."""
    made = record["judgement"]
    tests = {item["setting"]: (item["t"], item["bound"]) for item in made["settings"]}
    tests |= {item["level"]: (item["t"], item["bound"]) for item in made["levels"]}
    for c, column in enumerate(record["columns"]):
        if column.endswith(f"_deviation_{RUNS}"):  # of the mean of the runs
            for k, row in enumerate(record["rows"]):
                tests[f"{column} {k}"] = (row[c], made["band"])
    return tests


def of_smallest(options):
    """From the shift of every test by a fault: the test that needs the smallest fault counts."""
    faults = {"learning rate, relative": ({"eta": 1.1 * ETA}, 0.1),
              "label noise": ({"label_noise": 0.06}, 0.06),
              "temperature, relative": ({"temperature": 1.1}, 0.1)}
    sound_at = NormalDist().inv_cdf(0.95)
    print(f"{'fault':28} {'judged by':12} {'found from':>12} {'by':28}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def judged(runs, words):
            return [judge_triple(options.popgrad, runs[RUNS * k:RUNS * (k + 1)], 10 + k, words,
                                 folder)[0] for k in range(options.repeats)]

        def means(records):
            all_tests = [tests_of(record) for record in records]
            return {test: [sum(made[test][i] for made in all_tests) / len(all_tests)
                           for i in (0, 1)] for test in all_tests[0]
                    if all(test in made for made in all_tests)}

        sound_runs = train(RUNS * options.repeats, 1)
        faulty_runs = {kind: train(RUNS * options.repeats, 2 + k, **faults[kind][0])
                       for k, kind in enumerate(faults)}
        for way, words in WAYS.items():
            records = judged(sound_runs, words)
            sound = means(records)
            for kind, (_, size) in faults.items():
                faulty = means(judged(faulty_runs[kind], words))
                needed = {test: (bound + sound_at) * size / abs(faulty[test][0] - at)
                          for test, (at, bound) in sound.items()
                          if test in faulty and faulty[test][0] != at}
                best = min(needed, key=needed.get)
                print(f"{kind:28} {way:12} {100 * needed[best]:10.2f} % {best:28}", flush=True)
            settings = {made["setting"]: made for made in records[0]["judgement"]["settings"]}
            if "batch" in settings:  # by the means; 1/batch is linear in the size of the fault
                factor = 1 + settings["batch"]["would_have_been_found"] / BATCH
                print(f"{'batch, factor':28} {way:12} {factor:12.2f} {'means':28}", flush=True)
            # From the interval that the scatter gives, as a normal law of its logarithm.
            batches = [record["judgement"]["batch"] for record in records]
            width = sum(math.log(b["high"] / b["low"]) for b in batches) / len(batches)
            deviation = width / (2 * NormalDist().inv_cdf(0.975))
            chance = 0.8 * LEVEL / (len(settings) + 1)
            factor = math.exp((NormalDist().inv_cdf(1 - chance / 2) + sound_at) * deviation)
            print(f"{'batch, factor':28} {way:12} {factor:12.2f} {'scatter':28}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["recorded", "smallest", "power", "reachable", "honest"])
    parser.add_argument("--popgrad", default=os.environ.get("POPGRAD", "build/popgrad"))
    parser.add_argument("--repeats", type=int, default=40, help="judgements of each fault")
    parser.add_argument("--honest", type=int, default=1000,
                        help="judgements of sound runs (power: a tenth as many by an ensemble; honest: of each model)")
    parser.add_argument("--trained", type=int, default=2000,
                        help="runs that a law is estimated from (reachable)")
    parser.add_argument("--instance", type=pathlib.Path, default=given["instance"],
                        help="of sparse contextual bigrams, for all but the first")
    parser.add_argument("--only", action="append", help="these faults alone, by name")
    parser.add_argument("--way", action="append", choices=[*WAYS, "doubted"],
                        help="judgements of power of these kinds alone")
    options = parser.parse_args()
    given["instance"] = options.instance
    {"recorded": of_recorded, "smallest": of_smallest, "power": of_power,
     "reachable": of_reachable, "honest": of_honest}[options.what](options)


if __name__ == "__main__":
    main()
