#!/usr/bin/env python3
"""Tries popgrad on generated command lines, and says where it fails in silence, or not as it should.

Usage: adversary.py [-h] [N] [--seed S] [--only KIND ...] [--relations N] [--binary FILE]
                    [--declarations FILE] [--kept DIR]

Lines are made from the declarations that `popgrad list --options` prints: valid ones, numbers just
beyond an end of their range, absurd ones, wrong words, full outputs, and files altered by bytes and by
structure. Each has the exit statuses that its declaration allows. Then pairs of lines that must give
the same numbers: other --jobs, --rtol/100, --digits 30, interrupted and resumed, other formats of the
output, an instance as a file, rows in another order.

Counted as faults: an end by a signal, no end within ten seconds nor in ten more after an interruption
(what ends then is counted as slow), a status outside of the table, a
refusal that is not one line or does not name what is refused, text of a library, a relation that does
not hold. The same N and seed make the same lines. Exit status: 0 without faults, else 1.
"""

import argparse
import csv
import io
import json
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 10  # seconds of a line, and after that of an interruption
MEMORY = 8 << 30
DONE = {0, 1, 3, 4, 5}  # what a line may end with that is not refused

# Words of libraries and of the language, which mean nothing to a user.
FOREIGN = ("CLI::", "GiNaC", "boost::", "boost/", "toms748", "json.exception", "nlohmann", "std::", "basic_string",
           "bad_function_call", "bad_alloc", "stoull", "stod", "stoi", "vector::", "max_size()", "Eigen", "terminate called",
           "toml::", "toml++", "format_error", "mpfr", "filesystem error", "Error in function", "power::eval",
           "pole at", "Division by zero", "division by zero", "INT in [", "FLOAT in [", "1.79769", "17976931", "Traceback",
           "gnuplot>", "assert", "Assertion")

MALFORMED = ("nan", "-nan", "inf", "-inf", "1e400", "-1e400", "", " ", "abc", "1e+-5", "1,", ",1", "0x", "1e", "--", "1..2", "½")


class Case:
    """A command line: words, what may come out, the word that a refusal has to name, standard input."""

    def __init__(self, kind, words, statuses, named=None, files=None, into=None):
        self.kind = kind
        self.words = words
        self.statuses = statuses
        self.named = named
        self.files = files or {}
        self.into = into


class Program:
    def __init__(self, binary):
        self.binary = str(Path(binary).resolve())

    def declarations(self, given):
        if given is not None:
            return json.loads(given.read_text())
        done = subprocess.run([self.binary, "list", "--options"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def start(self, words, folder, stdout=subprocess.PIPE):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return subprocess.Popen([self.binary, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout,
                                stderr=subprocess.PIPE, preexec_fn=limit)

    def run(self, words, folder, patience=PATIENCE, into=None):
        """Status (None: no end in time, "stuck": nor after an interruption), output, errors, seconds."""
        begin = time.monotonic()
        stdout = subprocess.PIPE if into is None else open(into, "wb")  # pylint: disable=consider-using-with
        process = self.start(words, folder, stdout)
        try:
            out, err = process.communicate(timeout=patience)
            status = process.returncode
        except subprocess.TimeoutExpired:
            status = None
            process.send_signal(signal.SIGINT)
            try:
                out, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                status = "stuck"
                process.kill()
                out, err = process.communicate()
        finally:
            if into is not None:
                stdout.close()
        decoded = [(text or b"").decode(errors="replace") for text in (out, err)]
        return status, *decoded, time.monotonic() - begin


# --- lines that are valid ----------------------------------------------------------------------

# Parameters that keep a rung small enough for a fraction of a second.
SMALL = {
    "joma": ["--mu", "1,2,3"],
    "scan-snap": [],
    "scb": ["--N", "3", "--T", "20", "--Q", "2"],
    "topic": ["--T", "3", "--tau", "2", "--v", "2"],
}
OF_LAW = ("reduced", "stationary", "attended", "closed-form")  # rungs of joma with mu
QUICK = ("joma.invariant-exp", "joma.entropy-bounce", "joma.clock-change", "scb.convergence", "scb.hyperbola", "topic.value",
         "scan-snap.late-growth", "topic.attention-block")
EQUATIONS = (("joma", "flow"), ("joma", "reduced"), ("scan-snap", "flow"), ("scb", "reduced"), ("topic", "block-reduced"))


def bases_of_run(declared):
    """(words, rung kind, model, rung) of a run of each rung, ended early."""
    found = []
    for model in declared["models"]:
        for rung in model["rungs"]:
            words = [model["name"], rung["name"]]
            small = SMALL[model["name"]]
            if model["name"] == "joma" and rung["name"] not in OF_LAW:
                small = []
            words += small
            words += {"descent": ["--steps", "20"], "random": ["--steps", "20", "--runs", "2"],
                      "moments": ["--steps", "20"]}.get(rung["kind"], ["--t1", "0.5"])
            found.append((words, rung["kind"], model["name"], rung["name"]))
    return found


def bases(declared):
    """Per command, lines that are valid and short, with the model, rung and kind of rung that they name."""
    runs = bases_of_run(declared)
    landscape = ["topic", *SMALL["topic"]]
    return {
        "list": [(["joma"], None, None, None), ([], None, None, None)],
        "run": runs,
        "compare": [(["joma", "gd", "flow", "--steps", "20"], None, "joma", None),
                    (["scb", "flow", "reduced", "--N", "3", "--T", "20", "--t1", "1"], None, "scb", None)],
        "sweep": [([*words, "--over", f"{axis}=1,2", "-o", "sweep.csv"], kind, model, rung)
                  for words, kind, model, rung in runs
                  for axis in (["tau"] if model == "joma" and rung in OF_LAW else ["seed"] if kind == "random" else [])],
        "landscape": [(landscape, None, "topic", None), ([*landscape, "--at", "1,1/2"], None, "topic", None),
                      ([*landscape, "--grid", "5", "-o", "grid.csv"], None, "topic", None)],
        "verify": [([name], None, None, None) for name in QUICK],
        "falsify": [([name, "--seconds", "0.2", "--evaluations", "3"], None, None, None) for name in QUICK[:4]],
        "instance": [([name, "-o", "instance.json"], None, None, None) for name in QUICK],
        "frontier": [(["scb.hyperbola", "--instances", "2", "--grid", "3"], None, None, None)],
        # The other flows have no short equations.
        "equations": [([model, rung], "flow", model, rung) for model, rung in EQUATIONS],
        "ladder": [(["joma", "--mu", "1,2", "--t1", "0.5"], None, "joma", None)],
        "figure": [(["joma-entropy", "-o", "figures"], None, None, None)],
    }


def is_number(option):
    return option["type"] in ("number", "count", "numbers", "pair", "vector")


def name_of(option):
    long = [name for name in option["names"] if name.startswith("--")]
    return (long or option["names"])[0]


class Maker:
    """Command lines from declarations, by a seed."""

    def __init__(self, declared, seed):
        self.rng = random.Random(seed)
        self.declared = declared
        self.commands = {command["name"]: command for command in declared["commands"]}
        self.models = {model["name"]: model for model in declared["models"]}
        self.bases = {name: lines for name, lines in bases(declared).items() if name in self.commands and lines}

    def base(self, command=None):
        command = command or self.rng.choice(sorted(self.bases))
        return command, *self.rng.choice(self.bases[command])

    def options(self, command, kind, model, rung):
        """What the line may have besides: (name, declaration)."""
        own = [(name_of(option), option) for option in self.commands[command]["options"]
               if not option["positional"] and (not option["rung_kinds"] or kind is None or kind in option["rung_kinds"])]
        if model and self.commands[command]["takes_parameters"]:
            own += [("--" + parameter["name"], parameter) for parameter in self.models[model]["parameters"]
                    if parameter["on_command_line"] and (rung is None or not parameter["rungs"] or rung in parameter["rungs"])]
        return own

    def inside(self, option):
        """A number within the range of its declaration: an end, or one near the default's size."""
        rng, low, high = self.rng, option["least"], option["most"]
        whole = option["type"] == "count"
        low_end = low is not None and not option["least_excluded"]
        if low_end and low > -1e6 and rng.random() < 0.3:
            return str(low)
        try:
            default = float((option["default"] or "1").split()[0].rstrip(";,:"))
        except ValueError:
            default = 1.0
        value = (default or 1) * rng.choice([0.5, 0.9, 1, 1.1, 2])
        value = min(max(value, low if low is not None else value), high if high is not None else value)
        return str(int(value)) if whole else repr(value)

    def beyond(self, option):
        """Just outside of the range of its declaration, or None where nothing is."""
        rng, low, high = self.rng, option["least"], option["most"]
        whole = option["type"] == "count"
        choices = []
        if low is not None and abs(low) < 1e15:
            choices.append(low if option["least_excluded"] else low - 1 if whole else low - max(1e-3 * abs(low), 1e-300))
        if high is not None and abs(high) < 1e15:
            choices.append(high if option["most_excluded"] else high + 1 if whole else high * (1 + 1e-9) + 1e-300)
        if not choices:
            return None
        value = rng.choice(choices)
        return str(int(value)) if whole and float(value).is_integer() else repr(value)

    def words_with(self, words, name, value):
        """The line with the option in place of one that it has already."""
        words = list(words)
        if name in words:
            at = words.index(name)
            del words[at:at + 2]
        return [*words, f"{name}={value}"]

    # Each returns a Case, or None where the drawn line has nothing of that kind.

    def valid(self):
        command, words, kind, model, rung = self.base()
        words = list(words)
        for name, option in self.rng.sample(pool := self.options(command, kind, model, rung), min(len(pool), 2)):
            if name in words or not is_number(option) or option["type"] not in ("number", "count"):
                continue
            if name in ("--digits", "--save", "--runs", "--steps", "--batch", "--seeds", "--most-runs", "--jobs"):
                words.append(f"{name}={self.rng.choice([2, 3, 17])}")
            else:
                words.append(f"{name}={self.inside(option)}")
        # Options may exclude each other, and a choice of one may forbid another: then it says so.
        return Case("valid", [command, *words, "-q"] if command != "list" and command != "equations" else [command, *words],
                    DONE | {2})

    def plain(self):
        command, words, *_ = self.base()
        return Case("plain", [command, *words], DONE)

    def numeric(self):
        command, words, kind, model, rung = self.base()
        pool = [(name, option) for name, option in self.options(command, kind, model, rung) if is_number(option)]
        return (command, words, *self.rng.choice(pool)) if pool else None

    def off_by_one(self):
        drawn = self.numeric()
        if drawn is None:
            return None
        command, words, name, option = drawn
        value = self.beyond(option)
        if value is None or option["type"] not in ("number", "count"):
            return None
        return Case("off by one", [command, *self.words_with(words, name, value)], {2}, name.lstrip("-"))

    def absurd(self):
        drawn = self.numeric()
        if drawn is None:
            return None
        command, words, name, option = drawn
        value = self.rng.choice(MALFORMED)
        if value in option["choices"] or (value == "inf" and name == "--t1"):
            return None
        if option["type"] == "count" and self.rng.random() < 0.3:
            value = self.rng.choice(["2.5", "1e30", "-1e30", "10.0001"])
        return Case("absurd", [command, *self.words_with(words, name, value)], {2}, name.lstrip("-"))

    def wrong_word(self):
        command, words, *_ = self.base()
        words = [command, *words]
        at = self.rng.randrange(len(words) + 1)
        form = self.rng.choice(["misspelt", "option", "more", "bytes"])
        if form == "misspelt":
            plain = [k for k, word in enumerate(words[:3]) if word.replace("-", "").replace(".", "").isalpha()]
            k = self.rng.choice(plain)
            word = words[k]
            j = self.rng.randrange(len(word))
            words[k] = word[:j] + self.rng.choice("xz") + word[j:]
            if command == "list" and k > 0:
                return None
            # A model or rung that is none may first be noticed by its parameters.
            return Case("wrong word", words, {2}, words[k] if k == 0 else None)
        if form == "option":
            words.insert(at if at > 0 else 1, self.rng.choice(["--no-such-option", "--etaa", "--t2=1", "-z"]))
            return Case("wrong word", words, {2})
        if form == "more":
            words.append(self.rng.choice(["", "extra", "joma", "\t", "a\nb"]))
            return Case("wrong word", words, DONE | {2})
        words.append(os.fsdecode(b"\xff\xfe"))
        return Case("wrong word", words, DONE | {2})

    def full_output(self):
        command, words, *_ = self.base()
        into = "/dev/full"
        return Case("full output", [command, *words], {1, 2, 4} if "-o" not in words and command != "figure" else DONE | {2},
                    into=into)

    def bad_place(self):
        command, words, kind, model, rung = self.base()
        outputs = [name for name, option in self.options(command, kind, model, rung) if option["type"] == "output file"]
        if not outputs:
            return None
        name = self.rng.choice(outputs)
        # --plot takes a folder too.
        place = self.rng.choice(["no/such/folder/x.csv", "x" * 300 + ".csv", "/proc/x.csv", "loop.csv", "/dev/full/x.csv",
                                 *(["folder.csv"] if name != "--plot" else [])])
        words = list(words)
        if "-o" in words and name in ("-o", "--output"):
            at = words.index("-o")
            del words[at:at + 2]
        return Case("bad place", [command, *words, name, place], {2})

    # Files -------------------------------------------------------------------------------------

    def altered(self, seeds):
        """One of the files that commands read, altered by bytes or by structure."""
        words, name, content = self.rng.choice(seeds)
        form = self.rng.choice(["bytes", "structure"]) if name.endswith((".json", ".csv", ".toml")) else "bytes"
        rng = self.rng
        if form == "bytes" or not content:
            data = bytearray(content)
            for _ in range(rng.choice([1, 1, 2, 5])):
                act = rng.choice(["flip", "cut", "double", "insert", "zero"])
                at = rng.randrange(len(data)) if data else 0
                if act == "flip" and data:
                    data[at] ^= 1 << rng.randrange(8)
                elif act == "cut":
                    del data[at:at + rng.choice([1, 4, len(data)])]
                elif act == "double":
                    data[at:at] = data[at:at + 40]
                elif act == "insert":
                    data[at:at] = rng.choice([b"\0", b"\xff", b"[" * 3000, b"nan", b"-", b"1e999", b"\n\n", b"\xef\xbb\xbf"])
                elif data:
                    data[at] = 0
            data = bytes(data)
        elif name.endswith(".json"):
            data = json.dumps(self.altered_json(json.loads(content))).encode()
        else:
            data = self.altered_rows(content)
        return Case("altered file", words, DONE | {2}, files={name: data})

    def altered_json(self, document):
        rng = self.rng
        at, parent, key = document, None, None
        for _ in range(rng.randrange(1, 4)):
            if isinstance(at, dict) and at:
                parent, key = at, rng.choice(sorted(at))
            elif isinstance(at, list) and at:
                parent, key = at, rng.randrange(len(at))
            else:
                break
            at = parent[key]
        act = rng.choice(["drop", "rename", "type", "extreme", "nest"])
        if parent is None:
            return rng.choice([[], 1, None, "x"])
        if act == "drop":
            del parent[key]
        elif act == "rename" and isinstance(parent, dict):
            parent[str(key) + "x"] = parent.pop(key)
        elif act == "type":
            parent[key] = rng.choice([None, True, "x", [], {}, [[]], "1/3", -1])
        elif act == "extreme":
            parent[key] = rng.choice([1e308, -1e308, 1e-320, 0, -0.0, 2**63, 10**30, float("nan"), float("inf")])
        else:
            deep = 1
            for _ in range(rng.choice([3, 90, 150, 900])):
                deep = [deep]
            parent[key] = deep
        return document

    def altered_rows(self, content):
        lines = content.decode().split("\n")
        rng = self.rng
        at = rng.randrange(len(lines))
        act = rng.choice(["drop", "double", "swap", "field", "header", "crlf"])
        if act == "drop":
            del lines[at]
        elif act == "double":
            lines.insert(at, lines[at])
        elif act == "swap":
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif act == "crlf":
            return "\r\n".join(lines).encode()
        else:
            at = 0 if act == "header" else at
            fields = lines[at].split(",")
            fields[rng.randrange(len(fields))] = rng.choice(["", "nan", "-nan", "inf", "x", "1e999", "1/3", '"', "-1"])
            lines[at] = ",".join(fields)
        return "\n".join(lines).encode()


# --- files to alter ----------------------------------------------------------------------------


def prepared(program, folder):
    """Files that are valid, with the lines that read them: (words, name of the file, content)."""
    instances = {
        "joma.json": (["run", "joma", "reduced", "--t1", "1"], {"mu": [1, 2, 3], "v0": 0.1, "tau": 3}),
        "units.json": (["run", "joma", "flow", "--t1", "1"], {"X": [[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]}),
        "classes.json": (["run", "scan-snap", "gd", "--steps", "5"],
                         {"P": [[0.5, 0.5, 0, 0], [0, 0.2, 0.8, 0]], "psi": [3, 3], "eta_Y": 1, "eta_Z": 0.1}),
        "bigrams.json": (["run", "scb", "flow", "--t1", "1"],
                         {"P": [[0.5, 0.2], [0.5, 0.8]], "mu": [0.3, 0.7], "q": [[0.5, 0.5, 0], [0, 0, 1]]}),
        "topics.json": (["verify", "topic.value", "-q"], {"T": 3, "tau": 2, "v": 2, "p_m": 0.2}),
        "bounce.json": (["verify", "joma.entropy-bounce", "-q"], {"mu": [1, 2, 4], "v0": 0.1, "tau": 3}),
    }
    seeds = []
    for name, (words, instance) in instances.items():
        seeds.append(([*words, "--instance", name], name, json.dumps(instance).encode()))
    toml = b't1 = 2\nmu = "1,2"\ntau = 3\nrtol = 1e-9\n'
    seeds.append((["run", "joma", "reduced", "--config", "c.toml"], "c.toml", toml))
    runs = ["run", "joma", "sgd", "--steps", "40", "--runs", "2", "--save", "9", "-q"]
    for suffix in ("csv", "npz"):
        name = f"recorded.{suffix}"
        program.run([*runs, "-o", name], folder, 60)
        words = ["compare", "joma", "sgd", "--with", name, "--steps", "40", "--runs", "8", "--no-fit", "--no-ladder", "-q"]
        seeds.append(([*words, "--group", "run"], name, (folder / name).read_bytes()))
    rows = list(csv.DictReader((folder / "recorded.csv").read_text().splitlines()))
    lines = "\n".join(json.dumps({key: float(value) for key, value in row.items()}) for row in rows) + "\n"
    seeds.append(([*words[:4], "recorded.jsonl", *words[5:], "--group", "run"], "recorded.jsonl", lines.encode()))
    checkpoint = interrupted(program, ["run", "scb", "sgd", "--N", "3", "--T", "20", "--steps", "100000", "-o", "long.csv"], folder)
    if checkpoint:
        seeds.append((["run", "--resume", "long.csv.checkpoint.json", "-q"], "long.csv.checkpoint.json", checkpoint))
    return seeds


def interrupted(program, words, folder, after=0.1, sent=signal.SIGINT):
    """Contents of the checkpoint that an interrupted run leaves; None if it had ended."""
    process = program.start(words, folder)
    time.sleep(after)
    process.send_signal(sent)
    process.communicate(timeout=60)
    made = list(folder.glob("*.checkpoint.json"))
    return made[0].read_bytes() if made else None


# --- relations ---------------------------------------------------------------------------------


def table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], [[float(cell) if cell else float("nan") for cell in row] for row in rows[1:]]


def differ(one, other, tolerance):
    """Where two tables differ by more than a tolerance relative to the column's size; None if nowhere.

    What is 0 but for rounding, such as a conserved quantity, counts as a thousandth.
    """
    (head, rows), (head2, rows2) = one, other
    if head != head2 or len(rows) != len(rows2):
        return f"{len(head)} x {len(rows)} against {len(head2)} x {len(rows2)}"
    for k, name in enumerate(head):
        size = max((abs(row[k]) for row in rows if row[k] == row[k]), default=0)
        size = max(size, 1e-3) if tolerance > 0 else 1
        for i, (row, row2) in enumerate(zip(rows, rows2)):
            a, b = row[k], row2[k]
            if (a != a) != (b != b) or abs(a - b) > tolerance * size:
                return f"{name} in row {i + 1}: {a!r} against {b!r}"
    return None


class Slow(Exception):
    """A line of a relation that does not end in a minute, from which nothing follows."""


class Relations:
    def __init__(self, program, maker, folder):
        self.program = program
        self.maker = maker
        self.rng = maker.rng
        self.folder = folder

    def output(self, words):
        status, out, err, _ = self.program.run(words, self.folder, 60)
        if status is None:
            raise Slow
        return (out if status == 0 else None), f"status {status}: {err.strip()[-200:]}"

    def tables(self, first, second, tolerance, words):
        """None if they agree, or if the first line is not one that ends with 0."""
        out, _ = self.output(first)
        if out is None:
            return None
        other, why = self.output(second)
        if other is None:
            return f"{' '.join(words)}: {why}"
        return differ(table(out), table(other), tolerance)

    def run_of(self, kinds):
        words, kind, model, rung = self.rng.choice([base for base in self.maker.bases["run"] if base[1] in kinds])
        return ["run", *words, "--save", "5", "-q", "-o", "-"], kind, model, rung

    def jobs(self):
        words, *_ = self.run_of({"random", "flow"})
        return words, self.tables([*words, "--jobs", "1"], [*words, "--jobs", "2"], 0, words)

    def sharper(self):
        words, *_ = self.run_of({"flow"})
        return words, self.tables([*words, "--rtol", "1e-8", "--no-events"], [*words, "--rtol", "1e-10", "--no-events"], 1e-5, words)

    def digits(self):
        words, *_ = self.run_of({"flow", "closed-form", "descent"})
        first, why = self.output([*words, "--digits", "30"])
        if first is None:
            return words, None if "digits" in why else why
        return words, self.tables(words, [*words, "--digits", "30"], 1e-7, words)

    def formats(self):
        words, *_ = self.run_of({"flow", "descent", "random"})
        plain = words[:-2]
        for suffix in ("csv", "json", "npz"):
            _, why = self.output([*plain, "-o", f"same.{suffix}"])
            # A numerical failure keeps what was computed, in each format alike.
            if not why.startswith(("status 0", "status 4")):
                return words, why
        head, rows = table((self.folder / "same.csv").read_text())
        document = json.loads((self.folder / "same.json").read_text())
        number = lambda cell: float("nan") if cell is None else float(cell)
        found = differ((head, rows), (document["columns"], [[number(c) for c in row] for row in document["rows"]]), 0)
        names = {name[:-4] for name in zipfile.ZipFile(self.folder / "same.npz").namelist()}
        return words, found or (None if set(head) <= names else f"npz lacks {set(head) - names}")

    def as_file(self):
        base, _, model, _ = self.rng.choice([b for b in self.maker.bases["run"] if b[1] == "flow" and b[2] != "scan-snap"])
        words = list(base)
        small = SMALL[model] if SMALL[model][:2] == words[2:4] else []
        if not small:
            return words, None
        instance = {}
        for name, value in zip(small[::2], small[1::2]):
            instance[name[2:]] = [float(x) for x in value.split(",")] if name == "--mu" else int(value)
        (self.folder / "given.json").write_text(json.dumps(instance))
        rest = [*words[2 + len(small):], "--save", "5", "-q", "-o", "-"]
        first = ["run", *words[:2], *small, *rest]
        return first, self.tables(first, ["run", *words[:2], "--instance", "given.json", *rest], 0, first)

    def resumed(self):
        line = ["scb", "sgd", "--N", "3", "--T", "20", "--steps", "200000", "--save", "11", "--seed", str(self.rng.randrange(1000))]
        for name in ("whole.csv", "part.csv", "part.csv.checkpoint.json"):
            (self.folder / name).unlink(missing_ok=True)
        process = self.program.start(["run", *line, "-o", "part.csv"], self.folder)
        time.sleep(self.rng.uniform(0.05, 0.6))
        process.send_signal(self.rng.choice([signal.SIGINT, signal.SIGTERM]))
        process.communicate(timeout=60)
        if (self.folder / "part.csv.checkpoint.json").exists():
            _, why = self.output(["run", "--resume", "part.csv.checkpoint.json"])
            if not why.startswith("status 0"):
                return line, why
        elif process.returncode != 0:
            return line, f"status {process.returncode} and no checkpoint" if process.returncode != -signal.SIGTERM else None
        self.output(["run", *line, "-o", "whole.csv"])
        same = (self.folder / "whole.csv").read_bytes() == (self.folder / "part.csv").read_bytes()
        return line, None if same else "the resumed table differs from that of one run"

    def row_order(self):
        made = ["run", "joma", "sgd", "--steps", "40", "--runs", "3", "--save", "9", "--seed", str(self.rng.randrange(1000)), "-q"]
        self.output([*made, "-o", "ordered.csv"])
        head, *rows = (self.folder / "ordered.csv").read_text().splitlines()
        # Runs in another order, the rows of each as they were.
        runs = sorted({row.split(",")[0] for row in rows}, key=lambda _: self.rng.random())
        shuffled = [row for run in runs for row in rows if row.split(",")[0] == run]
        (self.folder / "shuffled.csv").write_text("\n".join([head, *shuffled]) + "\n")
        line = ["compare", "joma", "sgd", "--steps", "40", "--runs", "16", "--group", "run", "--no-fit", "--no-ladder", "-q", "--with"]
        outcomes = [self.program.run([*line, name], self.folder, 60)[0] for name in ("ordered.csv", "shuffled.csv")]
        return line, None if outcomes[0] == outcomes[1] else f"statuses {outcomes}"

    def one(self):
        kind = self.rng.choice(["jobs", "sharper", "digits", "formats", "as_file", "resumed", "row_order"])
        try:
            words, broken = getattr(self, kind)()
        except Slow:
            return "slow", [], None
        return kind, words, broken


# --- judging -----------------------------------------------------------------------------------


def faults_of(case, status, out, err):
    found = []
    if status == "stuck":
        return ["no end after an interruption"]
    if status is None:
        return []
    if status < 0 or status > 5:
        found.append(f"ended by signal {-status if status < 0 else status}")
    elif status not in case.statuses:
        found.append(f"status {status}, not {'/'.join(map(str, sorted(case.statuses)))}")
    said = [line for line in err.splitlines() if line.strip()]
    if status == 2:
        if len(said) != 1:
            found.append(f"a refusal of {len(said)} lines")
        elif case.named and case.named not in err:
            found.append(f"a refusal that does not name {case.named}")
    elif status == 4 and not said:
        found.append("no reason for status 4")
    for text in FOREIGN:
        if text in err or text in out:
            found.append(f"text of a library: {text}")
            break
    return found


def place(folder, name):
    made = Path(tempfile.mkdtemp(prefix=name, dir=folder))
    (made / "loop.csv").symlink_to("loop.csv")
    (made / "folder.csv").mkdir()
    return made


KINDS = ("plain", "valid", "off_by_one", "absurd", "wrong_word", "full_output", "bad_place", "altered")
SHARES = (1, 4, 4, 5, 3, 1, 2, 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("N", nargs="?", type=int, default=5000, help="command lines (default 5000)")
    parser.add_argument("--seed", type=int, default=1, help="of the lines (default 1)")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, help="kinds of lines (default: all)")
    parser.add_argument("--relations", type=int, help="pairs of lines (default: one for 40 lines)")
    parser.add_argument("--binary", default=str(ROOT / "build/popgrad"), help="the program (default build/popgrad)")
    parser.add_argument("--declarations", type=Path, help="of another version, to compare the two")
    parser.add_argument("--kept", type=Path, default=Path("adversary"), help="folder of files with faults (default adversary)")
    options = parser.parse_args()
    program = Program(options.binary)
    declared = program.declarations(options.declarations)
    maker = Maker(declared, options.seed)
    counts, by_kind, times, faults = Counter(), Counter(), [], []
    shares = [SHARES[KINDS.index(kind)] for kind in options.only]
    with tempfile.TemporaryDirectory(prefix="popgrad-adversary-") as folder:
        folder = Path(folder)
        seeds = prepared(program, place(folder, "seeds")) if "altered" in options.only else []
        done = 0
        while done < options.N:
            kind = maker.rng.choices(options.only, shares)[0]
            case = maker.altered(seeds) if kind == "altered" else getattr(maker, kind)()
            if case is None:
                continue
            done += 1
            here = place(folder, "line")
            for name, data in case.files.items():
                (here / name).write_bytes(data)
            status, out, err, seconds = program.run(case.words, here, into=case.into)
            times.append(seconds)
            counts[status] += 1
            by_kind[case.kind] += 1
            found = faults_of(case, status, out, err)
            if found:
                faults.append(found[0])
                print(f"{case.kind}: {'; '.join(found)}\n  popgrad {' '.join(map(repr, case.words))}\n  "
                      f"{err.strip()[:400]}", flush=True)
                if case.files:
                    kept = options.kept / f"{options.seed}-{done}"
                    kept.mkdir(parents=True, exist_ok=True)
                    for name, data in case.files.items():
                        (kept / name).write_bytes(data)
                    print(f"  file in {kept}")
            shutil.rmtree(here, ignore_errors=True)
            if done % 500 == 0:
                print(f"{done} lines, {len(faults)} faults", file=sys.stderr, flush=True)
        pairs = options.relations if options.relations is not None else options.N // 40
        relations, checked = Relations(program, maker, place(folder, "relations")), Counter()
        for _ in range(pairs):
            kind, words, broken = relations.one()
            checked[kind] += 1
            if broken:
                faults.append(f"relation {kind}")
                print(f"relation {kind}: {broken}\n  popgrad {' '.join(map(repr, words))}", flush=True)
    print("lines      " + ", ".join(f"{kind} {n}" for kind, n in sorted(by_kind.items())))
    print("statuses   " + ", ".join(f"{'slow' if status is None else status}: {n}" for status, n in sorted(counts.items(), key=str)))
    print(f"seconds    median {statistics.median(times):.2f}, largest {max(times):.1f}" if times else "")
    print("relations  " + ", ".join(f"{kind} {n}" for kind, n in sorted(checked.items())))
    print("faults     " + (", ".join(f"{text}: {n}" for text, n in Counter(faults).most_common()) or "none"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
