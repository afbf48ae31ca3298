#!/usr/bin/env python3
"""Examines every statement on instance files as users might give them.

Usage: users.py [-h] [ID ...] [--files N] [--seconds S] [--seed S] [--kept DIR] [--binary FILE]

A file is drawn over what the declarations of its parameters allow: entries over six decades, equal
and nearly equal ones, zeros, the smallest sizes, numbers at the ends of their ranges. A table has the
verdicts of each statement; files with the verdict 'violated' are kept in DIR, each with the command
that examines it. The same seed draws the same files.

Exit status: 0; 1 if a violation was not confirmed by a second examination, or a check failed.
"""

import argparse
import fnmatch
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("holds", "violated", "unconfirmed", "inconclusive", "not-applicable", "refused", "failed", "no time")

# Files that once had a wrong verdict, and their neighbours.
REMEMBERED = {
    "joma.entropy-bounce": [
        {"mu": [1, 3, 9], "v0": 0.001, "tau": 3},
        {"mu": [1, 3, 8], "v0": 0.1, "tau": 3},
        {"mu": [1, 2, 8], "v0": 0.1, "tau": 3},
        {"mu": [0.01, 0.02, 5], "v0": 0.001, "tau": 3},
    ],
    "topic.either-alone": [{"T": 6, "tau": 2, "v": 5}],
    "topic.stage2-optimum": [
        {"T": 2, "tau": 1, "v": 1},
        {"T": 2, "tau": 1, "v": 2, "p_m": 0.5, "p_c": 0.5, "p_r": 0.01},
        {"T": 3, "tau": 2, "v": 1, "p_m": 0.5, "p_c": 0.5, "p_r": 0.01},
        {"T": 3, "tau": 2, "v": 2, "p_m": 0.5, "p_c": 0.5, "p_r": 0.01},
        {"T": 11, "tau": 1, "v": 3, "p_m": 0.006831051497532637, "p_c": 0.008010326859206732, "p_r": 0.6},
    ],
    "joma.clock-change": [
        {"mu": [[2, 2, 2], [183, 0.02, 0.02]], "v0": 0.0003, "tau": 67},
        {"mu": [[200, 200], [0.5, -0.3]]},
    ],
    "joma.invariant-softmax": [{"X": [[0.1, 0.3], [0.9, 0.3], [0, 0.4]], "attention": "softmax", "label_noise": 0.08}],
    "joma.stable-rank": [{"mu": [0, 0.34, 0.05, 0.18], "v0": 0, "tau": 4.6}],
    "scb.l1-needed": [{"N": 4, "T": 24205, "Q": 4}],
    "scan-snap.decoder-solution": [
        {"P_tokens": [[0, 1, 3], [0, 2, 3]], "P_weights": [[0.2, 0.3, 0.5], [0.125, 0.125, 0.75]], "M": 4, "psi": [3, 2],
         "eta_Y": 5},
    ],
    "scan-snap.fates": [
        {"P_tokens": [[4, 20], [11, 20]], "P_weights": [[0.002, 0.998], [0.996, 0.004]], "M": 32, "psi": [10, 10],
         "eta_Y": 2, "eta_Z": 1, "reading": reading} for reading in ("paper", "consistent")
    ],
    "scan-snap.late-growth": [
        {"P_tokens": [[1, 7], [1, 19], [1, 14]], "P_weights": [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], "M": 64,
         "psi": [16, 16, 16], "eta_Y": 1, "eta_Z": 0.5},
    ],
    "scan-snap.winner-take-all": [
        {"P_tokens": [[1, 7], [1, 19], [1, 14], [1, 2, 14]], "P_weights": [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.4, 0.3, 0.3]],
         "M": 640095, "psi": [16, 22, 22, 16], "eta_Y": 1.56, "eta_Z": 0.07},
    ],
    "scan-snap.fates-symmetric": [
        {"P_tokens": [[0, 1], [0, 2]], "P_weights": [[0.4, 0.6], [0.4, 0.6]], "M": 32, "psi": [3, 3], "eta_Y": 2,
         "eta_Z": 1, "reading": "paper"},
    ],
    "scan-snap.residual-backprop": [
        {"P_tokens": [[3, 7], [1, 2, 5, 7], [4, 7]], "P_weights": [[0.01, 0.99], [0.2, 0.3, 0.2, 0.3], [0.5, 0.5]],
         "M": 38, "psi": [8, 9, 9]},
        {"P_tokens": [[2, 5], [5], [5]], "P_weights": [[0.5, 0.5], [1], [1]], "M": 38, "psi": [8, 9, 9]},
    ],
    "scb.starts": [{"N": 4, "T": 3, "Q": 2}],
    "scb.perturbed-start": [{"N": 2, "T": 233, "Q": 3}],
    "scb.two-stages": [{"N": 4, "T": t, "Q": 2} for t in (6, 12, 20, 24, 50, 100)],
}
SEEDS_OF_REMEMBERED = (1, 2, 3, 4, 5, 6)


def decades(rng, low=-3, high=3):
    """A number spread over that many decades; half of them have one digit, as people write them."""
    value = 10 ** rng.uniform(low, high)
    return float(f"{value:.0e}") if rng.random() < 0.5 else value


def numbers(rng, count, zeros=True):
    """All over six decades, or equal, nearly equal, in two groups, with a zero."""
    form = rng.choice(["decades", "decades", "equal", "nearly", "groups", "zero" if zeros else "equal"])
    if form == "equal":
        return [decades(rng)] * count
    if form == "nearly":
        base, apart = decades(rng), 10 ** rng.uniform(-14, -2)
        return [base * (1 + apart * rng.uniform(-1, 1)) for _ in range(count)]
    if form == "groups":
        groups = [decades(rng), decades(rng)]
        return [rng.choice(groups) for _ in range(count)]
    drawn = [decades(rng) for _ in range(count)]
    if form == "zero":
        drawn[rng.randrange(count)] = 0
    return drawn


def law(rng, count, zeros=True):
    weights = numbers(rng, count, zeros and count > 1)
    total = sum(weights)
    return [weight / total for weight in weights]


def size(rng, least, most):
    """The smallest, or any."""
    return least if rng.random() < 0.25 else rng.randint(least, most)


def reduced_of_joma(rng):
    tokens, units = size(rng, 1, 8), size(rng, 1, 3)
    signs = [1, 1, 1, -1] if rng.random() < 0.3 else [1]
    rows = [[rng.choice(signs) * x for x in numbers(rng, tokens)] for _ in range(units)]
    made = {rng.choice(["mu", "mu", "delta"]): rows[0] if units == 1 else rows}
    if rng.random() < 0.7:
        made["v0"] = decades(rng, -6, 0) if rng.random() < 0.8 else 0
    if rng.random() < 0.7:
        made["tau"] = decades(rng, -1, 2)
    return made


def training_of_joma(rng):
    tokens, classes = size(rng, 1, 6), size(rng, 1, 5)
    columns = [law(rng, tokens) for _ in range(classes)]
    made = {"X": [[column[i] for column in columns] for i in range(tokens)]}
    if rng.random() < 0.3:
        made["class_law"] = law(rng, classes)
    if rng.random() < 0.3:
        scale = decades(rng, -3, 0)
        made["W0"] = [[rng.gauss(0, scale) for _ in range(classes)] for _ in range(tokens + 1)]
    return made


def classes_of_scan_snap(rng):
    count = size(rng, 1, 5)
    vocabulary = max(count, size(rng, 2, 40))
    made = {"P_tokens": [], "P_weights": [], "M": vocabulary}
    commons = rng.sample(range(vocabulary), rng.randint(0, min(2, vocabulary - 1)))
    for _ in range(count):
        tokens = sorted({*commons, *rng.sample(range(vocabulary), size(rng, 1, min(5, vocabulary)))})
        made["P_tokens"].append(tokens)
        made["P_weights"].append(law(rng, len(tokens)))
    queries = [rng.randrange(vocabulary) for _ in range(2)]
    made["psi"] = [rng.choice(queries) for _ in range(count)]
    made["eta_Y"], made["eta_Z"] = decades(rng, -2, 1), decades(rng, -4, 1)
    if rng.random() < 0.2:
        made["M"] = int(10 ** rng.uniform(2, 6))
    return made


def bigrams_of_scb(rng, most_positions):
    tokens = size(rng, 2, 4)
    if rng.random() < 0.4:
        positions = int(2 * (most_positions / 2) ** rng.random())
        return {"N": tokens, "T": positions, "Q": size(rng, 1, min(4, positions))}
    columns = [law(rng, tokens) for _ in range(tokens)]
    positions = int(2 * (most_positions / 2) ** rng.random())
    made = {"P": [[column[i] for column in columns] for i in range(tokens)], "T": positions,
            "q_positions": [], "q_weights": []}
    for _ in range(tokens):
        support = sorted({rng.randrange(positions) for _ in range(size(rng, 1, 4))})
        made["q_positions"].append(support)
        made["q_weights"].append(law(rng, len(support), zeros=False))
    return made


def law_of_topics(rng, most):
    topics = size(rng, 2, most)
    made = {"T": topics, "tau": size(rng, 1, topics - 1), "v": size(rng, 1, most)}
    if rng.random() < 0.7:
        made["p_m"] = rng.choice([1, decades(rng, -3, 0)])
        made["p_c"] = rng.choice([0, decades(rng, -3, 0)])
        made["p_r"] = rng.choice([0, decades(rng, -3, 0)])
    return made


# Of joma, with X only.
OF_TOKEN_LAW = ("phi", "residual", "normalise", "scale")


def others(rng, known, made):
    """One in ten of the other numbers, choices and switches that the rung reads."""
    for parameter in known:
        name, kind, meaning = parameter["name"], parameter["kind"], parameter["meaning"]
        of_law = "mu" in made or "delta" in made
        if name in made or rng.random() > 0.1 or (of_law and name in OF_TOKEN_LAW):
            continue
        if kind == "switch":
            made[name] = rng.random() < 0.5
        elif kind == "choice" and not (name in ("law", "preset") or (name == "start" and "V" in made)):
            made[name] = rng.choice(parameter["choices"])
        elif kind == "number" and name not in ("tau", "temperature", "theta", "correlation"):
            highest = re.search(r"<= (\d+)", meaning)
            made[name] = rng.choice([0, float(highest[1]), decades(rng, -4, 0)]) if highest else decades(rng)
    return made


def drawn(rng, model, statement, known):
    rung = statement["instance_of_rung"]
    if model == "joma":
        made = reduced_of_joma(rng) if rung == "reduced" else training_of_joma(rng)
    elif model == "scan-snap":
        made = classes_of_scan_snap(rng)
    elif model == "scb":
        made = bigrams_of_scb(rng, 1e6 if rung == "reduced" else 300)
    else:
        made = law_of_topics(rng, 12 if rung in ("optimum", "block-reduced") else 5)
    return others(rng, known, made)


class Tool:
    def __init__(self, binary, kept):
        self.binary = binary
        self.kept = kept
        self.kept.mkdir(parents=True, exist_ok=True)

    def catalogue(self):
        done = subprocess.run([self.binary, "list", "--json", "-"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["models"]

    def examine(self, name, words, seconds):
        """The verdict, its evidence in a line, and what was printed."""
        document = self.kept / "verdict.json"
        document.unlink(missing_ok=True)
        line = [self.binary, "verify", name, *words, "-q", "--json", str(document)]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return "no time", ""
        if done.returncode == 2:
            return "refused", done.stderr.strip()
        if not document.exists():
            return "failed", (done.stderr.strip() or f"exit status {done.returncode}")
        found = json.loads(document.read_text())["statements"][0]
        missed = [f"{e['what']}: {e['detail']}, off by {e['measured']}, allowed {e['allowed']}"
                  for e in found["evidence"] if e["verdict"] == "violated"]
        verdict = found["verdict"]
        if verdict == "violated" and not found["confirmed"]:
            verdict = "unconfirmed"
        return verdict, "; ".join(missed)


def files_of(rng_of, options, model, statement, known):
    """Names, files and options, first those that are remembered."""
    name = statement["id"]
    for k, made in enumerate(REMEMBERED.get(name, ())):
        for seed in SEEDS_OF_REMEMBERED:
            yield f"{name}-remembered-{k}", made, ["--seed", str(seed)]
    for k in range(options.files):
        yield f"{name}-{k}", drawn(rng_of(k), model, statement, known), []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", help="ids or globs such as 'joma.*' (default: all)")
    parser.add_argument("--files", type=int, default=40, help="drawn for each statement (default 40)")
    parser.add_argument("--seconds", type=float, default=60, help="for each statement (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="of the files (default 1)")
    parser.add_argument("--kept", type=Path, default=Path("users"), help="folder of violated files (default users)")
    parser.add_argument("--binary", default=str(ROOT / "build/popgrad"), help="the program (default build/popgrad)")
    options = parser.parse_args()
    tool = Tool(options.binary, options.kept)
    print(f"{'statement':<30} {'files':>5} " + " ".join(f"{name:>{len(name)}}" for name in COLUMNS), flush=True)
    violated, failed, total = [], [], Counter()
    for model in tool.catalogue():
        for statement in model["statements"]:
            name, rung = statement["id"], statement["instance_of_rung"]
            if not rung or (options.ids and not any(fnmatch.fnmatch(name, one) for one in options.ids)):
                continue
            known = [p for p in model["parameters"] if not p["rungs"] or rung in p["rungs"]]
            counts, begin = Counter(), time.monotonic()
            rng_of = lambda k, own=name: random.Random(f"{options.seed} {own} {k}")
            for label, made, words in files_of(rng_of, options, model["name"], statement, known):
                left = options.seconds - (time.monotonic() - begin)
                if left <= 0:
                    break
                file = options.kept / f"{label}.json"
                file.write_text(json.dumps(made) + "\n")
                verdict, why = tool.examine(name, ["--instance", str(file), *words], left)
                counts[verdict] += 1
                command = " ".join(["popgrad verify", name, "--instance", str(file), *words])
                if verdict in ("violated", "unconfirmed"):
                    violated.append((verdict, command, why, made))
                elif verdict == "failed":
                    failed.append((command, why, made))
                else:
                    file.unlink()
            total += counts
            print(f"{name:<30} {sum(counts.values()):>5} " +
                  " ".join(f"{counts[column]:>{len(column)}}" for column in COLUMNS), flush=True)
    print(f"{'all':<30} {sum(total.values()):>5} " +
          " ".join(f"{total[column]:>{len(column)}}" for column in COLUMNS))
    for verdict, command, why, made in violated:
        print(f"\n{verdict}: {command}\n  {json.dumps(made)}\n  {why}")
    for command, why, made in failed:
        print(f"\nfailed: {command}\n  {json.dumps(made)}\n  {why}")
    (options.kept / "verdict.json").unlink(missing_ok=True)
    return 1 if total["unconfirmed"] or failed else 0


if __name__ == "__main__":
    sys.exit(main())
