#!/usr/bin/env python3
"""Puts random mistakes into the formulas of popgrad, one at a time, and tells what notices them.

Usage: mutate.py [-h] N [--seed S] [--only PATH ...] [--tree DIR]

A mistake is a sign, a factor 2 or 1/2, n - 1 for n, exchanged indices, rows for columns, or a
constant off by a tenth, at a random place of the formulas in src/, include/ and the rungs of theories. Each is put into a
copy of the sources, built, and put before the laws (tests tagged [law]), the statements
(`popgrad verify`) and the other fast tests, in that order, until something fails.

The same N and seed choose the same mistakes. What was found is kept in results.jsonl of the
tree; an interrupted run goes on where it stopped, and Ctrl-C leaves nothing half written.
"""

import argparse
import functools
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
MODELS = tuple(sorted(path.parent.name for path in ROOT.glob("theorems/*/theory.cpp")))
# What has no formulas in it: reading, writing and describing.
WITHOUT_FORMULAS = {"model.cpp", "model.hpp", "instance.cpp", "parameters.cpp", "parameters.hpp", "json.cpp",
                    "json.hpp", "json_fwd.hpp", "record.cpp", "record.hpp", "models.cpp", "error.cpp", "error.hpp",
                    "number_text.cpp", "number_text.hpp", "precompiled.hpp", "knob.cpp", "statement.cpp",
                    "corpus.cpp", "common_error.cpp"}
# Processor seconds for one group of checks, five times what it takes: what makes it last longer is
# noticed. Of wall time there may be four times as much, so that a busy machine notices nothing.
LIMIT = 240

# Those of functions before those of whole commands, which take much longer.
OTHER_TESTS = ("~[law]~[statement]~[slow]~[cli]", "[cli]~[law]~[statement]~[slow]")

# name, pattern, replacements of the whole match. Sources are laid out by clang-format, so that a
# binary operator has blanks around it.
KINDS = (
    ("sign", re.compile(r" \+ "), (" - ",)),
    ("sign", re.compile(r"(?<=[\w)\]]) - "), (" + ",)),
    ("sign", re.compile(r" \+= "), (" -= ",)),
    ("sign", re.compile(r" -= "), (" += ",)),
    ("factor", re.compile(r"(?<=[\w)\]]) \* (?=[\w(])"), (" * 2 * ", " * 0.5 * ")),
    ("factor", re.compile(r"(?<=[\w)\]]) / (?=[\w(])"), (" * 2 / ", " * 0.5 / ")),
    ("n - 1 for n", re.compile(r" - 1(?=[);,\]])"), ("",)),
    ("n - 1 for n", re.compile(r"\b(\w+)(?:\.size\(\)|\.tokens\(\)|\.classes\(\))(?=[ );,])"), (None,)),
    ("indices", re.compile(r"\((\w+), (\w+)\)(?= [-+*/=]|[;)])"), (None,)),
    ("rows for columns", re.compile(r"\.rows\(\)"), (".cols()",)),
    ("rows for columns", re.compile(r"\.cols\(\)"), (".rows()",)),
    ("rows for columns", re.compile(r"\.row\("), (".col(",)),
    ("rows for columns", re.compile(r"\.col\("), (".row(",)),
    ("rows for columns", re.compile(r"\.rowwise\(\)"), (".colwise()",)),
    ("rows for columns", re.compile(r"\.colwise\(\)"), (".rowwise()",)),
    ("rows for columns", re.compile(r"\.transpose\(\)"), ("",)),
    ("constant", re.compile(r"(?<![\w.'])(\d+\.\d+)(?![\w.'])"), (None,)),
    ("constant", re.compile(r"\bT\((\d+)\)"), (None,)),
)
SKIPPED_LINE = re.compile(r'^\s*(//|#|static_assert|template|using|namespace|for \(|return fmt|reject)'
                          r'|"|\bthrow\b|fmt::|\boperator\b|constexpr const char|dummy_precision')


def replacements(kind, match, choices):
    for text in choices:
        if text is not None:
            yield text
        elif kind == "n - 1 for n":
            yield f"({match.group(0)} - 1)"
        elif kind == "indices" and match.group(1) != match.group(2):
            yield f"({match.group(2)}, {match.group(1)})"
        elif kind == "constant" and match.group(0).startswith("T("):
            if match.group(1) == "0":
                continue
            yield f"(T({match.group(1)}) * T(11) / T(10))"
        elif kind == "constant":
            yield f"({match.group(1)} * 1.1)"


def sources(root, only):
    """Files with formulas, in a fixed order."""
    found = []
    for top in ("src", "include/popgrad", *(f"theorems/{model}/rungs" for model in MODELS)):
        for path in sorted((root / top).rglob("*.?pp")):
            inside = path.relative_to(root)
            folder = inside.parent.name
            if path.name in WITHOUT_FORMULAS or folder in ("commands", "io", "python", "presenting"):
                continue
            if only and not any(str(inside).startswith(prefix) for prefix in only):
                continue
            found.append(inside)
    return found


def candidates(root, only):
    """All mistakes that can be made: (file, line number, column, kind, old text, new text)."""
    found = []
    for path in sources(root, only):
        for number, line in enumerate((root / path).read_text().split("\n"), 1):
            code = line.split("//")[0]
            if SKIPPED_LINE.search(line):
                continue
            for kind, pattern, choices in KINDS:
                for match in pattern.finditer(code):
                    for new in replacements(kind, match, choices):
                        found.append((str(path), number, match.start(), kind, match.group(0), new))
    return found


def in_random_order(root, only, seed):
    """All candidates in random order; places in long files and common kinds are less likely to come
    first than places in short files and rare kinds (the square root of how many there are)."""
    everything = candidates(root, only)
    files = Counter(candidate[0] for candidate in everything)
    kinds = Counter(candidate[3] for candidate in everything)
    order = []
    for candidate in everything:
        # A weighted sample without replacement (Efraimidis and Spirakis 2006). Each draws for itself: a
        # change of one source leaves the order of the mistakes in others as it was.
        weight = (files[candidate[0]] * kinds[candidate[3]]) ** -0.5
        order.append((random.Random(f"{seed} {candidate}").random() ** (1 / weight), candidate))
    order.sort(reverse=True)
    return [candidate for _, candidate in order]


def run(command, tree, limit=LIMIT):
    """Status (None: it took too long) and output."""
    process = subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)))
    try:
        out, _ = process.communicate(timeout=4 * limit)
        return None if process.returncode == -signal.SIGXCPU else process.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise


def jobs():
    count = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL")
    return ["-j", count] if count else []


def build(tree):
    return run(["ninja", "-C", "build", *jobs(), "popgrad_cli", "popgrad_tests"], tree, 3600)


def digest(tree):
    """Of the programs: equal where a mistake changes no instruction."""
    total = hashlib.sha256()
    for program in ("popgrad", "popgrad_tests"):
        total.update((tree / "build" / program).read_bytes())
    return total.hexdigest()


def failed_tests(tree, filters):
    """The test that fails first, or why there is none to name; the others of its group are not run."""
    report = tree / "build" / "mutate-report.xml"
    report.unlink(missing_ok=True)
    status, out = run(["build/popgrad_tests", filters, "--abort", "--reporter", "junit", "--out", str(report)], tree)
    if status is None:
        return [f"more than {LIMIT} processor seconds"]
    if status == 0:
        return []
    try:
        cases = ElementTree.parse(report).getroot().iter("testcase")
        names = {case.get("name").split("/")[0] for case in cases
                 if case.find("failure") is not None or case.find("error") is not None}
    except (ElementTree.ParseError, FileNotFoundError):
        names = set()
    return sorted(names) or [f"ended with status {status}: {out.strip()[-200:]}"]


def statements_on(path):
    """Those that can notice a mistake in a file: a model's code is used by its own statements alone."""
    model = next((part for part in Path(path).parts if part in MODELS), None)
    return f"{model.replace('_', '-')}.*" if model else "*"


def unsound(tree, pattern):
    """Statements among those that do not hold with every control refuted."""
    report = tree / "build" / "mutate-verdicts.json"
    report.unlink(missing_ok=True)
    status, _ = run(["build/popgrad", "verify", pattern, "-q", "--json", str(report)], tree)
    if status is None:
        return {f"more than {LIMIT} processor seconds"}
    try:
        found = json.loads(report.read_text())["statements"]
    except (FileNotFoundError, json.JSONDecodeError):
        return {f"verify ended with status {status}"}
    bad = set()
    for statement in found:
        refuted = all(control.get("verdict") == "violated" for control in statement["controls"])
        if statement["verdict"] != "holds" or not refuted:
            bad.add(statement["id"])
    return bad


def examine(tree, pattern, baseline):
    """What notices the mistake that is built: the first group that does, and who in it."""
    laws = failed_tests(tree, "[law]")
    if laws:
        return "law", laws
    statements = sorted(unsound(tree, pattern) - baseline)
    if statements:
        return "statement", statements
    for group in OTHER_TESTS:
        tests = failed_tests(tree, group)
        if tests:
            return "test", tests
    return "nothing", []


def checked_clean(tree, clean):
    """Statements that are unsound without a mistake; stops where a test fails without one. What was found
    is kept in clean.json of the tree, by the digest of the programs."""
    kept = tree / "clean.json"
    if kept.exists():
        found = json.loads(kept.read_text())
        if found["programs"] == clean:
            return set(found["unsound"])
    baseline = unsound(tree, "*")
    for group in ("[law]", *OTHER_TESTS):
        failed = failed_tests(tree, group)
        if failed:
            sys.exit(f"mutate: tests fail without a mistake: {', '.join(failed)}")
    kept.write_text(json.dumps({"programs": clean, "unsound": sorted(baseline)}) + "\n")
    return baseline


def copy_sources(tree):
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        source, target = ROOT / name, tree / name
        if not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copy2(source, target)
    if not (tree / "build/build.ninja").exists():
        run_or_stop(["cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                     "-DPOPGRAD_UNITS=OFF"], tree)


def run_or_stop(command, tree):
    status, out = run(command, tree, 3600)
    if status != 0:
        sys.exit(f"mutate: {' '.join(command)} failed:\n{out[-3000:]}")


def put(tree, mistake):
    """Writes the mistake into its file; returns the text as it was."""
    path, number, column, _, old, new = mistake
    text = (tree / path).read_text()
    lines = text.split("\n")
    line = lines[number - 1]
    assert line[column:column + len(old)] == old
    lines[number - 1] = line[:column] + new + line[column + len(old):]
    (tree / path).write_text("\n".join(lines))
    return text


def described(mistake):
    path, number, _, kind, old, new = mistake
    return f"{path}:{number}: {kind}: '{old.strip()}' -> '{new.strip()}'"


@functools.cache
def explanations():
    """Of mistakes that change nothing that is promised, by file, line and replacement: explained.tsv."""
    known = {}
    for line in (Path(__file__).parent / "explained.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            path, code, change, why = line.split("\t")
            known[(path, code, change)] = why
    return known


def explanation(mistake, line):
    path, _, _, _, old, new = mistake
    return explanations().get((path, line.strip(), f"{old.strip()} -> {new.strip()}"))


def summary(results, stream=sys.stdout):
    judged = []
    harmless = 0
    for result in results:
        why = explanation(result["mistake"], result["line"])
        if result["by"] == "nothing" and why is None:
            print(f"survived  {described(result['mistake'])}\n          {result['line'].strip()}", file=stream)
        elif result["by"] in ("nothing", "explained"):
            harmless += 1
            print(f"harmless  {described(result['mistake'])}\n          {why}", file=stream)
            continue
        if result["by"] in ("law", "statement", "test", "nothing"):
            judged.append(result)
    caught = [r for r in judged if r["by"] != "nothing"]
    counts = {}
    for result in caught:
        for name in result["who"]:
            counts[(result["by"], name)] = counts.get((result["by"], name), 0) + 1
    for (by, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:5d}  {by:9s}  {name}", file=stream)
    if judged:
        groups = ", ".join(f"{by} {sum(r['by'] == by for r in judged)}" for by in ("law", "statement", "test"))
        print(f"{len(caught)} of {len(judged)} caught (share {len(caught) / len(judged):.3f}): {groups}; "
              f"{harmless} more change nothing that is promised (explained.tsv)", file=stream)


def part_of(text):
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not allowed; give K/M with K from 1 to M, e.g. 1/2")
    return int(found[1]), int(found[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("N", type=int, help="mistakes to judge, at least 1")
    parser.add_argument("--seed", type=int, default=1, help="chooses the mistakes (default 1)")
    parser.add_argument("--only", nargs="+", default=[], metavar="PATH", help="files or folders, e.g. src/scb")
    parser.add_argument("--tree", type=Path, default=ROOT / "build-mutate", help="copy of the sources that is changed")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/M",
                        help="every M-th mistake from the K-th on, so that M machines or cores share the work")
    parser.add_argument("--list", action="store_true", help="print the mistakes and judge none")
    arguments = parser.parse_args()
    if arguments.N < 1:
        parser.error(f"N: {arguments.N} is not allowed; give at least 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
    order = in_random_order(ROOT, arguments.only, arguments.seed)[arguments.part[0] - 1::arguments.part[1]]
    count = arguments.N
    if arguments.list:
        for mistake in order[:count]:
            print(described(mistake))
        return 0
    tree = arguments.tree.resolve()
    tree.mkdir(parents=True, exist_ok=True)
    copy_sources(tree)
    record = tree / "results.jsonl"
    known = {}
    if record.exists():
        for line in record.read_text().splitlines():
            result = json.loads(line)
            known[(tuple(result["mistake"]), result["line"])] = result
    print("mutate: building without a mistake", file=sys.stderr)
    status, out = build(tree)
    if status != 0:
        sys.exit(f"mutate: the build failed without a mistake:\n{out[-3000:]}")
    clean = digest(tree)
    baseline = checked_clean(tree, clean)
    results = []
    judged = 0
    try:
        for mistake in order:
            if judged == count:
                break
            line = (ROOT / mistake[0]).read_text().split("\n")[mistake[1] - 1]
            result = known.get((mistake, line))
            if explanation(mistake, line) is not None and (result is None or result["by"] == "nothing"):
                result = {"mistake": mistake, "line": line, "by": "explained", "who": [], "seconds": 0.0}
            if result is None:
                begin = time.monotonic()
                before = put(tree, mistake)
                try:
                    status, _ = build(tree)
                    if status != 0:
                        by, who = "compiler", []
                    elif digest(tree) == clean:
                        by, who = "no change of the program", []
                    else:
                        by, who = examine(tree, statements_on(mistake[0]), baseline)
                finally:
                    (tree / mistake[0]).write_text(before)
                result = {"mistake": mistake, "line": line, "by": by, "who": who,
                          "seconds": round(time.monotonic() - begin, 1)}
                with record.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            results.append(result)
            judged += result["by"] in ("law", "statement", "test", "nothing")
            print(f"{judged:4d}/{count}  {result['by']:10.10s} {described(mistake)}  {'; '.join(result['who'])[:80]}",
                  flush=True)
    except KeyboardInterrupt:
        print("mutate: stopped; the same command goes on from here", file=sys.stderr)
        summary(results)
        return 4
    summary(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
