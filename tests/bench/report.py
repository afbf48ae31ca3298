#!/usr/bin/env python3
"""Runs the benchmarks and their peers in Python and prints what they cost beside what was promised.

    report.py BENCHMARK_PROGRAM [--rounds N] [--plot FOLDER]

Exit status 1 if a promise is not kept, or if the two programs did not compute the same thing.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from work_precision import work_precision

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
PEER = os.path.join(PEERS, "joma_invariant.py")

# Promises have a factor of 1.5 to spare on a quiet machine, or are held to what the same run measures of it.
FASTER_THAN_TORCH = 45  # times
STATE_VECTORS = 13      # of memory for a solve: dopri5 with two ends, 6 stages and an error needs 11
GROWTH = 1.15           # exponent of the cost in the size; 1 is linear, the rest is for the caches
AGREEMENT = 1e-10       # of loss and entropy after training, absolute
SGD_FASTER_THAN_TORCH = 18   # times, Syn-Medium
FASTER_THAN_SCIPY = 14       # times, DOP853 on the growth instance
EXP_OVER_SOFTMAX = 1.5
LOGIT_AGREEMENT = 1e-7       # of attention logits after the solve, relative: ten times rtol
ENTROPY_AGREEMENT = 0.03     # of distinct entropy after 100 steps: spread over starts 0.005

BIGRAM_SGD_FASTER = 30       # times PyTorch on as many threads, N = 20, T = 5000, B = 64
NOISY_OVER_SCALING = 2       # times scaling the same array, or where normals alone take longer than that:
NOISY_OVER_LIMITS = 1.5      # times drawing its normals and scaling the same array, one after the other
NOISY_FASTER = {"torch": 4, "numpy": 6}  # times
TOKENS_OVER_SAMPLING = 5     # times drawing the tokens, one thread: weights, gradients, update
LUMPED_MS = 5                # a step at N = 500, T = 1e9
LUMPED_MB = 50               # of memory, instance included
MOMENTS_SET_UP = 3.3         # exponent in N: products of matrices, and the rest is for the caches
MOMENTS_CONTEXT = 0.05       # exponent of a step in T: none
ADJOINT_VECTORS = 180        # memory of a row: 64 states of the path, 19 of the state, copies
FULL_GROWTH = 3.2            # exponent of moments in n: products of matrices
BLOCKS_FASTER = 4            # blocks of steps, over every step by itself (7 measured)
MOMENTS_MB = 60              # N = 500, T = 1e9, instance included

FORMULA_OVER_HAND = 3        # times the same field written by hand
# Times PyTorch, whose cost of a field is that of its calls.
FORMULAS_FASTER = {"weights": 18, "factors": 100, "overlaps": 100, "regression": 6, "two-layers": 6}
LOSS_AGREEMENT = 0.05        # of 200 batches, relative: standard error 0.01 at most
PREPARED_MS = 100            # a theory of 30 lines
FIELD_OVER_PRODUCTS = 5      # times its operations at the rate of Eigen's products of that size
DEGREE_TWELVE_MS = 1000      # an expectation of a polynomial, derived

BESIDE_A_BUSY_PROCESS = 1.2  # times the time of one thread, with two, on two cores

GRID_MS = 100                # 1000 x 1000 points of the landscape, two threads
GRID_FASTER_THAN_NUMPY = 5
CERTIFICATE_S = 2            # to 1e-9
POPULATION_FASTER = 10       # times PyTorch, T = 10, tau = 4, v = 10, d_a = 100


class Report:
    """Lines of a table, those with a promise with a verdict as well."""

    def __init__(self):
        self.kept = True
        self.sections = []

    def section(self, title):
        print(("\n" if self.sections else "") + title)
        self.sections.append({"title": title, "lines": []})

    def line(self, what, value, promise="", kept=True):
        verdict = "" if not promise else ("kept" if kept else "BROKEN")
        self.kept = self.kept and kept
        self.sections[-1]["lines"].append({"what": what.strip(), "value": value} | (
            {"promise": promise, "kept": bool(kept)} if promise else {}))
        print(f"  {what:<46} {value:>24}  {promise:<12} {verdict}".rstrip())


# As the program sets them for itself: src/commands/program.cpp.
SPINS = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "0"}


def benchmarks(program, pattern, instance="", cores=None, environment=None):
    """Google Benchmark's rows whose name matches; on the given cores."""
    output = subprocess.run(
        [program, f"--benchmark_filter={pattern}", "--benchmark_format=json"],
        env={**os.environ, **(SPINS if environment is None else environment),
             "POPGRAD_INSTANCE": instance},
        preexec_fn=cores and (lambda: os.sched_setaffinity(0, cores)),
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    rows = json.loads(output)["benchmarks"]
    for row in rows:
        if row.get("error_occurred"):
            sys.exit(f"report.py: {row['name']}: {row['error_message']}")
    return rows


def seconds(row):
    return row["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[row["time_unit"]]


def growth(sizes, costs):
    """Slope of log cost against log size, by least squares."""
    x = [math.log(size) for size in sizes]
    y = [math.log(cost) for cost in costs]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
            / sum((a - mean_x) ** 2 for a in x))


def training(report, program, instance, rounds):
    """Both programs by turns, so that whatever else the machine does meets both."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours += benchmarks(program, "^full_batch_descent", instance)
        theirs.append(json.loads(subprocess.run(
            [sys.executable, PEER, "train", instance],
            check=True, stdout=subprocess.PIPE, text=True).stdout))
    our_time = statistics.median(map(seconds, ours))
    their_time = statistics.median(run["seconds"] for run in theirs)
    torch = f"PyTorch {theirs[0]['version']}, {theirs[0]['threads']} thread(s)"
    report.section(f"Full-batch SGD of the invariant figure: 2000 steps, medians of {rounds}")
    report.line("popgrad", f"{our_time * 1e3:.3f} ms")
    report.line(torch, f"{their_time * 1e3:.3f} ms")
    ratio = their_time / our_time
    report.line("ratio", f"{ratio:.1f}", f">= {FASTER_THAN_TORCH}", ratio >= FASTER_THAN_TORCH)
    for name in ("loss", "attention_entropy"):
        apart = abs(ours[0][name] - theirs[0][name])
        report.line(f"{name}: {ours[0][name]:.12f}, apart by", f"{apart:.1e}",
                    f"<= {AGREEMENT:.0e}", apart <= AGREEMENT)


def joma_flow(report, program, instance):
    report.section("JoMA flow to time 2, relative tolerance 1e-8, dopri5")
    rows = benchmarks(program, "^joma_flow", instance)
    sizes = [int(row["name"].split("/")[1]) for row in rows]
    costs = [seconds(row) / row["steps"] for row in rows]
    for size, cost, row in zip(sizes, costs, rows):
        report.line(f"d = {size}: {row['steps']:.0f} steps in {seconds(row):.3g} s",
                    f"{cost / size * 1e9:.1f} ns a step and d")
    slope = growth(sizes, costs)
    report.line("cost of a step ~ d to the power", f"{slope:.2f}", f"<= {GROWTH}", slope <= GROWTH)
    vectors = rows[-1]["vectors"]
    report.line(f"most memory of the solve at d = {sizes[-1]}", f"{vectors:.1f} state vectors",
                f"<= {STATE_VECTORS}",
                round(vectors) <= STATE_VECTORS)
    report.line("the rung itself, beside the instance given to it",
                f"{rows[-1]['rung_vectors']:.1f} state vectors")
    allocations = max(row["allocations"] for row in rows)
    report.line("allocations in the right-hand side", f"{allocations:g}", "= 0", allocations == 0)


def population_flow(report, program, instance):
    times = {}
    for attention in ("softmax", "exp"):
        report.section(f"Population flow, {attention} attention, one evaluation with K classes")
        sizes, costs = [], []
        for row in benchmarks(program, f"^population_flow<{attention}>", instance):
            tokens, units = row["name"].split("/")[1:3]
            cost = seconds(row)
            sizes.append(row["products"])
            costs.append(cost)
            times.setdefault(tokens + " " + units, []).append(cost)
            report.line(f"M_C = {tokens}, K = {units}: {cost * 1e6:.2f} us",
                        f"{cost / row['products'] * 1e12:.0f} ps per M_C K and class")
        slope = growth(sizes, costs)
        report.line("cost ~ M_C K classes to the power", f"{slope:.2f}", f"<= {GROWTH}",
                    slope <= GROWTH)
    ratio = max(exp / softmax for softmax, exp in times.values())
    report.line("exp attention over softmax, the largest of all sizes", f"{ratio:.2f}",
                f"<= {EXP_OVER_SOFTMAX}", ratio <= EXP_OVER_SOFTMAX)


def peer(name, *arguments):
    return json.loads(subprocess.run([sys.executable, os.path.join(PEERS, name), *arguments],
                                     check=True, stdout=subprocess.PIPE, text=True).stdout)


def scan_snap_sgd(report, program, rounds):
    ours, theirs = [], []
    for _ in range(rounds):
        ours += benchmarks(program, "^syn_medium_sgd", "")
        theirs.append(peer("scan_snap_sgd.py", "--steps", "100"))
    our_rate = statistics.median(row["steps"] / seconds(row) for row in ours)
    their_rate = statistics.median(run["steps_per_second"] for run in theirs)
    report.section(f"SGD on Syn-Medium, M = 240, T = 128, batch 128, one thread: medians of {rounds}")
    report.line("popgrad", f"{our_rate:.0f} steps/s")
    report.line(f"PyTorch {theirs[0]['version']}", f"{their_rate:.0f} steps/s")
    ratio = our_rate / their_rate
    report.line("ratio", f"{ratio:.1f}", f">= {SGD_FASTER_THAN_TORCH}",
                ratio >= SGD_FASTER_THAN_TORCH)
    apart = abs(ours[0]["distinct_entropy"] - theirs[0]["distinct_entropy"])
    report.line("distinct entropy after 100 steps, apart by", f"{apart:.3f}",
                f"<= {ENTROPY_AGREEMENT}", apart <= ENTROPY_AGREEMENT)


def growth_instance(relative=1e-8, absolute=1e-10):
    """K = 10, M = 1000: a common token of weight 0.7, 99 distinct ones a class. As JSON."""
    laws = []
    for n in range(10):
        row = [0.0] * 1000
        row[0] = 0.7
        row[1 + 99 * n:100 + 99 * n] = [(98 + 9 * i) / 980 for i in range(99)]
        laws.append([weight / sum(row) for weight in row])
    return json.dumps({"P": laws, "psi": [999] * 10, "eta_Y": 1, "eta_Z": 0.5, "t1": 700,
                       "rtol": relative, "atol": absolute})


def scan_snap_flow(report, program, folder, rounds):
    instance = os.path.join(folder, "growth.json")
    with open(instance, "w", encoding="utf-8") as out:
        out.write(growth_instance())
    ours, cvode, scipy = [], [], []
    for _ in range(rounds):
        ours += benchmarks(program, "^growth_flow/0", "")
        cvode += benchmarks(program, "^growth_flow_cvode/0", "")
        scipy.append(peer("scan_snap_flow.py", instance))
    report.section(f"Population flow, K = 10, M = 1000, to t = 700 at rtol 1e-8: medians of {rounds}")
    our_time = statistics.median(map(seconds, ours))
    cvode_time = statistics.median(map(seconds, cvode))
    scipy_time = statistics.median(run["seconds"] for run in scipy)
    report.line(f"popgrad, {ours[0]['evaluations']:.0f} evaluations", f"{our_time * 1e3:.2f} ms")
    report.line(f"CVODE (Adams), ours to evaluate, {cvode[0]['evaluations']:.0f}",
                f"{cvode_time * 1e3:.2f} ms", ">= ours", cvode_time >= our_time)
    report.line(f"SciPy {scipy[0]['version']} DOP853 on NumPy, {scipy[0]['evaluations']}",
                f"{scipy_time * 1e3:.2f} ms")
    ratio = scipy_time / our_time
    report.line("ratio to SciPy", f"{ratio:.1f}", f">= {FASTER_THAN_SCIPY}",
                ratio >= FASTER_THAN_SCIPY)
    apart = max(abs(ours[0][name] / value - 1) for name, value in
                (("z_common", scipy[0]["z"][0]), ("z_distinct", scipy[0]["z"][1])))
    report.line("logits of SciPy, apart by (relative)", f"{apart:.1e}", f"<= {LOGIT_AGREEMENT:.0e}",
                apart <= LOGIT_AGREEMENT)


def scan_snap_field(report, program):
    report.section("Population field, one evaluation with K classes of 100 tokens")
    sizes, costs = [], []
    for row in benchmarks(program, "^population_field", ""):
        sizes.append(row["products"])
        costs.append(seconds(row))
        report.line(f"K = {row['name'].split('/')[1]}: {seconds(row) * 1e6:.1f} us",
                    f"{seconds(row) / row['products'] * 1e12:.0f} ps per entry and column")
    slope = growth(sizes, costs)
    report.line("cost ~ nnz(P) C to the power", f"{slope:.2f}", f"<= {GROWTH}", slope <= GROWTH)
    report.section("Population field on a text, K classes of 300 tokens by Zipf's law, one thread")
    sizes, costs = [], []
    for row in benchmarks(program, "^text_field", cores={min(os.sched_getaffinity(0))}):
        sizes.append(row["products"])
        costs.append(seconds(row))
        report.line(f"K = {row['name'].split('/')[1]}, C = {row['columns']:.0f}: "
                    f"{seconds(row) * 1e3:.3g} ms",
                    f"{seconds(row) / row['products'] * 1e12:.0f} ps per entry and column")
    slope = growth(sizes, costs)
    report.line("cost ~ nnz(P) C to the power", f"{slope:.2f}", f"<= {GROWTH}", slope <= GROWTH)


def scb_sgd(report, program, rounds):
    """All threads, then one: beside others that wake up late a second thread may bring nothing."""
    first = {min(os.sched_getaffinity(0))}
    for cores, words, title in ((None, (), "all threads"), (first, ("--threads", "1"), "one thread")):
        ours, theirs = [], []
        for _ in range(rounds):
            ours += benchmarks(program, "^scb_sgd/", cores=cores)
            theirs.append(peer("scb_sgd.py", *words))
        our_rate = statistics.median(row["steps"] / seconds(row) for row in ours)
        their_rate = statistics.median(run["steps_per_second"] for run in theirs)
        report.section(f"SGD on sequences, N = 20, T = 5000, batch 64, {title}: medians of {rounds}")
        report.line("popgrad", f"{our_rate:.0f} steps/s")
        report.line(f"PyTorch {theirs[0]['version']}", f"{their_rate:.0f} steps/s")
        ratio = our_rate / their_rate
        report.line("ratio", f"{ratio:.1f}", f">= {BIGRAM_SGD_FASTER}", ratio >= BIGRAM_SGD_FASTER)
    drawing = seconds(benchmarks(program, "^scb_tokens", cores=first)[0])
    over = 1 / our_rate / drawing
    report.line("a step over drawing its 320000 tokens", f"{over:.2f}",
                f"<= {TOKENS_OVER_SAMPLING}", over <= TOKENS_OVER_SAMPLING)
    sizes, costs = [], []
    for row in benchmarks(program, "^scb_sgd_size", ""):
        sizes.append(row["products"])
        costs.append(seconds(row))
    slope = growth(sizes, costs)
    report.line("cost ~ B (T + N^2) to the power", f"{slope:.2f}", f"<= {GROWTH}", slope <= GROWTH)


def limits(report, program):
    """What this machine can do, all threads."""
    scaling = seconds(benchmarks(program, "^scb_scaling")[0])
    normals = benchmarks(program, "^scb_normals")[0]
    tokens = benchmarks(program, "^scb_tokens")[0]
    exponentials = benchmarks(program, "^exponentials")[0]
    report.section("Limits of this machine, all threads")
    report.line("stream bandwidth, an array of 400 MB scaled", f"{0.8 / scaling:.1f} GB/s")
    for name, row in (("normals", normals), ("tokens of a law on 20", tokens), ("exponentials", exponentials)):
        report.line(f"{name}, in the first cache", f"{row['items'] / seconds(row) / 1e9:.2f} a ns")


def scb_noisy(report, program, rounds):
    """The noisy step and what limits it, by turns."""
    patterns = {"step": "^scb_noisy/", "normals": "^scb_normals", "scaling": "^scb_scaling"}
    times = {name: [] for name in patterns}
    for _ in range(rounds):
        for name, pattern in patterns.items():
            times[name].append(seconds(benchmarks(program, pattern)[0]))
    def ratio_to(*names):
        return statistics.median(step / sum(parts) for step, *parts in
                                 zip(times["step"], *(times[name] for name in names)))
    ours, normals, scaling = (statistics.median(times[name]) for name in patterns)
    report.section(f"Noisy step, N = 500, T = 1e5, all threads: medians of {rounds}")
    report.line("popgrad", f"{ours * 1e3:.1f} ms")
    report.line("drawing its normals, without the array", f"{normals * 1e3:.1f} ms")
    report.line("scaling the array in place", f"{scaling * 1e3:.1f} ms")
    of_scaling, of_both = ratio_to("scaling"), ratio_to("normals", "scaling")
    bound = NOISY_OVER_SCALING
    limited = of_scaling > bound and normals + scaling > bound * scaling
    # Where normals alone leave no room, it is their rate that is the limit, which `limits` prints.
    report.line("ratio to scaling", f"{of_scaling:.2f}",
                "normals limit" if limited else f"<= {bound}", limited or of_scaling <= bound)
    report.line("    of which normals alone", f"{normals / scaling:.2f}")
    report.line("ratio to both", f"{of_both:.2f}", f"<= {NOISY_OVER_LIMITS}",
                of_both <= NOISY_OVER_LIMITS)
    for library, name in (("torch", "PyTorch"), ("numpy", "NumPy")):
        other = peer("scb_noisy.py", library)
        times_faster = other["seconds"] / ours
        report.line(f"{name} {other['version']} (scaling {other['scaling'] * 1e3:.1f} ms)",
                    f"{other['seconds'] * 1e3:.0f} ms, {times_faster:.1f} times",
                    f">= {NOISY_FASTER[library]}", times_faster >= NOISY_FASTER[library])


def scb_lumped(report, program):
    rows = benchmarks(program, "^scb_lumped", "")
    report.section("Noisy step, lumped, T = 1e9")
    for row in rows:
        report.line(f"N = {row['name'].split('/')[1]}", f"{seconds(row) * 1e3:.3f} ms")
    slope = growth([row["products"] for row in rows], [seconds(row) for row in rows])
    report.line("cost ~ N^2 + N Q to the power", f"{slope:.2f}", f"<= {GROWTH}", slope <= GROWTH)
    last = rows[-1]
    report.line("a step at N = 500", f"{seconds(last) * 1e3:.2f} ms", f"<= {LUMPED_MS} ms",
                seconds(last) * 1e3 <= LUMPED_MS)
    megabytes = last["peak_bytes"] / 1e6
    report.line("most memory, instance included", f"{megabytes:.1f} MB", f"<= {LUMPED_MB} MB",
                megabytes <= LUMPED_MB)


def scb_moments(report, program):
    report.section("64 steps of mean and covariance over runs of SGD, covariance in full, N = 3")
    rows = benchmarks(program, "^scb_moments_full", "")
    for row in rows:
        report.line(f"{row['numbers']:.0f} numbers", f"{seconds(row) * 1e3:.2f} ms")
    slope = growth([row["numbers"] for row in rows], [seconds(row) for row in rows])
    report.line("cost ~ numbers to the power", f"{slope:.2f}")
    report.section("The same in the span of the adjoints, Q = 2")
    rows = benchmarks(program, "^scb_moments_lumped", "")
    sizes = [tuple(map(int, row["name"].split("/")[1:3])) for row in rows]
    for (tokens, context), row in zip(sizes, rows):
        report.line(f"N = {tokens}, T = {context:.0e}", f"{seconds(row) * 1e6:.0f} us")
    costs = dict(zip(sizes, map(seconds, rows)))
    tokens, contexts = (sorted({size[i] for size in sizes}) for i in (0, 1))
    slope = growth(tokens, [costs[n, contexts[-1]] for n in tokens])
    report.line(f"T = {contexts[-1]:.0e}: cost ~ N to the power", f"{slope:.2f}", f"<= {GROWTH}",
                slope <= GROWTH)
    slope = growth(contexts, [costs[tokens[-1], context] for context in contexts])
    report.line(f"N = {tokens[-1]}: cost ~ T to the power", f"{slope:.3f}",
                f"<= {MOMENTS_CONTEXT}", slope <= MOMENTS_CONTEXT)
    megabytes = rows[-1]["peak_bytes"] / 1e6
    report.line("most memory at the largest, instance included", f"{megabytes:.1f} MB",
                f"<= {MOMENTS_MB} MB", megabytes <= MOMENTS_MB)
    rows = benchmarks(program, "^scb_moments_set_up", "")
    slope = growth([int(row["name"].split("/")[1]) for row in rows], map(seconds, rows))
    for row in rows:
        report.line(f"to set up, N = {row['name'].split('/')[1]}", f"{seconds(row) * 1e3:.1f} ms")
    report.line("to set up ~ N to the power", f"{slope:.2f}", f"<= {MOMENTS_SET_UP}",
                slope <= MOMENTS_SET_UP)


def full_moments(report, program):
    report.section("1000 steps of moments, covariance in full, n numbers at one operation each")
    rows = benchmarks(program, "^full_steps", "")
    costs = {tuple(map(int, row["name"].split("/")[1:3])): seconds(row) for row in rows}
    plain = costs.pop((32, 1))
    for (size, _), cost in costs.items():
        report.line(f"n = {size}", f"{cost * 1e3:.3g} ms")
    slope = growth([size for size, _ in costs], costs.values())
    report.line("~ n to the power", f"{slope:.2f}", f"<= {FULL_GROWTH}", slope <= FULL_GROWTH)
    ratio = plain / next(cost for (size, _), cost in costs.items() if size == 32)
    report.line("every step by itself, n = 32", f"{plain * 1e3:.3g} ms")
    report.line("ratio", f"{ratio:.0f}", f">= {BLOCKS_FASTER}", ratio >= BLOCKS_FASTER)


def adjoint_moments(report, program):
    report.section("Moments by adjoints, one observable, n numbers at one operation each")
    for name, title in (("step", "a step"), ("row", "a row after 64 steps")):
        rows = benchmarks(program, f"^adjoint_{name}", "")
        sizes = [int(row["name"].split("/")[1]) for row in rows]
        for size, row in zip(sizes, rows):
            report.line(f"{title}, n = {size}", f"{seconds(row) * 1e3:.3g} ms")
        slope = growth(sizes, [seconds(row) for row in rows])
        if name == "step":
            report.line("a step ~ n to the power", f"{slope:.2f}", f"<= {GROWTH}", slope <= GROWTH)
        else:
            # The gradient of the observable takes 2 n observations.
            report.line("a row ~ n to the power", f"{slope:.2f}")
            vectors = rows[-1]["vectors"]
            report.line("most memory", f"{vectors:.0f} state vectors", f"<= {ADJOINT_VECTORS}",
                        vectors <= ADJOINT_VECTORS)


def topic(report, program):
    ours, numpy = benchmarks(program, "^topic_grid", "")[0], peer("topic.py", "grid")
    report.section("Topic landscape, 1000 x 1000 points, two threads")
    report.line("popgrad", f"{seconds(ours) * 1e3:.2f} ms", f"<= {GRID_MS} ms",
                seconds(ours) * 1e3 <= GRID_MS)
    report.line(f"NumPy {numpy['version']}, vectorised", f"{numpy['seconds'] * 1e3:.1f} ms")
    ratio = numpy["seconds"] / seconds(ours)
    report.line("ratio", f"{ratio:.1f}", f">= {GRID_FASTER_THAN_NUMPY}",
                ratio >= GRID_FASTER_THAN_NUMPY)
    apart = abs(ours["least"] - numpy["least"])
    report.line("least value, apart by", f"{apart:.1e}", "<= 1e-12", apart <= 1e-12)
    for row, value in zip(benchmarks(program, "^topic_certificate", ""), ("diagonal", "block")):
        report.line(f"certified minimum, {value} W_V, {row['boxes']:.0f} boxes",
                    f"{seconds(row) * 1e3:.1f} ms", f"<= {CERTIFICATE_S} s",
                    seconds(row) <= CERTIFICATE_S)
    ours, torch = benchmarks(program, "^topic_population", "")[0], peer("topic.py", "population")
    report.section("Topic population gradient, T = 10, tau = 4, v = 10, d_a = 100, two threads")
    report.line("popgrad", f"{seconds(ours) * 1e3:.2f} ms")
    report.line(f"PyTorch {torch['version']}, all 210 subsets", f"{torch['seconds'] * 1e3:.1f} ms")
    ratio = torch["seconds"] / seconds(ours)
    report.line("ratio", f"{ratio:.1f}", f">= {POPULATION_FASTER}", ratio >= POPULATION_FASTER)
    for name in ("loss", "slope"):
        apart = abs(ours[name] / torch[name] - 1)
        report.line(f"{name}, apart by (relative)", f"{apart:.1e}", "<= 1e-12", apart <= 1e-12)


def formulas(report, program, rounds):
    # A processor may change its speed between rounds, so that ratios are those of one round.
    report.section(f"Fields by array formulas, one evaluation: medians of {rounds} rounds")
    for name in ("weights", "factors", "overlaps"):
        ours, by_hand, torch = [], [], []
        for _ in range(rounds):
            ours += benchmarks(program, f"^field_by_formulas/{name}")
            by_hand += benchmarks(program, f"^field_by_hand/{name}")
            torch.append(peer("formulas.py", name, "--steps", "2000"))
        times = [seconds(row) for row in ours]
        over_hand = statistics.median(time / seconds(row) for time, row in zip(times, by_hand))
        faster = statistics.median(run["seconds"] / time for time, run in zip(times, torch))
        report.line(f"{name}, {ours[0]['numbers']:.0f} numbers", f"{statistics.median(times) * 1e9:.0f} ns")
        report.line("    over C++ by hand", f"{over_hand:.2f}", f"<= {FORMULA_OVER_HAND}",
                    over_hand <= FORMULA_OVER_HAND)
        apart = ours[0]["apart"]
        report.line("    apart by (relative)", f"{apart:.1e}", "<= 1e-12", apart <= 1e-12)
        least = FORMULAS_FASTER[name]
        report.line(f"    PyTorch {torch[0]['version']}", f"{faster:.0f} times", f">= {least}", faster >= least)
    for name, pattern, title in (
            ("regression", "^regression_in_context", "regression in context, n = 40, d = 20, batch 256"),
            ("two-layers", "^two_layers", "two layers, 100 x 100, batch 1000")):
        ours, torch = [], []
        for _ in range(rounds):
            ours += benchmarks(program, pattern)
            torch.append(peer("formulas.py", name))
        time = statistics.median(map(seconds, ours))
        other = statistics.median(run["seconds"] for run in torch)
        report.section(f"SGD by array formulas, {title}, two threads: medians of {rounds}")
        report.line("popgrad, draws included", f"{time * 1e3:.3f} ms")
        report.line(f"PyTorch {torch[0]['version']}", f"{other * 1e3:.3f} ms")
        least = FORMULAS_FASTER[name]
        report.line("ratio", f"{other / time:.1f}", f">= {least}", other >= least * time)
        apart = abs(ours[0]["loss"] / torch[0]["loss"] - 1)
        report.line("mean loss, apart by (relative)", f"{apart:.1e}", f"<= {LOSS_AGREEMENT}",
                    apart <= LOSS_AGREEMENT)
    prepared = seconds(benchmarks(program, "^preparation")[0])
    report.section("Array formulas: a theory of 30 lines")
    report.line("parsed, differentiated, prepared", f"{prepared * 1e3:.1f} ms", f"<= {PREPARED_MS} ms",
                prepared * 1e3 <= PREPARED_MS)


def expectations(report, program, rounds):
    def median(name):
        rows = [benchmarks(program, f"^{name}$")[0] for _ in range(rounds)]
        return statistics.median(map(seconds, rows)), rows[0]
    report.section(f"Exact expectations: medians of {rounds}")
    (ours, row), (by_hand, _) = median("expected_committee"), median("expected_committee_by_hand")
    report.line("field of a committee, K = 3, M = 2, N = 1000, erf", f"{ours * 1e6:.1f} us")
    report.line("    over C++ by hand", f"{ours / by_hand:.2f}", f"<= {FORMULA_OVER_HAND}",
                ours <= FORMULA_OVER_HAND * by_hand)
    report.line("    apart by (relative)", f"{row['apart']:.1e}", "<= 1e-12", row["apart"] <= 1e-12)
    (ours, row), (product, of_product) = median("expected_regression"), median("matrix_product")
    least = row["operations"] / of_product["operations"] * product
    report.line("field of in-context regression, n = 40, d = 20", f"{ours * 1e6:.1f} us")
    report.line(f"    over its {row['operations']:.0f} operations as products by Eigen",
                f"{ours / least:.1f}", f"<= {FIELD_OVER_PRODUCTS}",
                ours <= FIELD_OVER_PRODUCTS * least)
    torch, samples, batch = peer("formulas.py", "regression"), 1e5, 256
    report.line(f"    PyTorch {torch['version']}, 1e5 samples in batches of {batch}",
                f"{torch['seconds'] * samples / batch * 1e3:.0f} ms")
    derived = median("expectation_of_degree")[0]
    report.line("a polynomial of degree 12 in three arrays, derived", f"{derived * 1e3:.0f} ms",
                f"<= {DEGREE_TWELVE_MS} ms", derived * 1e3 <= DEGREE_TWELVE_MS)


PARALLEL_KERNELS = (
    ("SGD on sequences, T = 5000, batch 64", "^scb_sgd/"),
    ("noisy step, N = 500, T = 1e5", "^scb_noisy/"),
    ("population field of scan and snap", "^population_field/256"),
    ("landscape, 1000 x 1000 points", "^topic_grid"),
    ("topic population gradient", "^topic_population"),
)


def busy_neighbour(report, program, rounds):
    """Every parallel kernel on two cores of which another process uses one, beside one thread."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    report.section(f"Two threads beside a process that keeps core {second} busy: medians of {rounds}")
    for name, pattern in PARALLEL_KERNELS:
        def median(cores, environment=None):
            return statistics.median(
                seconds(benchmarks(program, pattern, "", cores, environment)[0])
                for _ in range(rounds))
        quiet = median({first, second})
        neighbour = subprocess.Popen(
            [sys.executable, "-c", "while True: pass"],
            preexec_fn=lambda: os.sched_setaffinity(0, {second}))
        try:
            one = median({first})
            two = median({first, second})
            spinning = median({first, second}, {})
        finally:
            neighbour.kill()
            neighbour.wait()
        ratio = two / one
        report.line(name, f"{two / one:.2f} of one thread",
                    f"<= {BESIDE_A_BUSY_PROCESS}", ratio <= BESIDE_A_BUSY_PROCESS)
        report.line("    quiet; beside it, one and two threads",
                    f"{quiet * 1e3:.3g}; {one * 1e3:.3g}, {two * 1e3:.3g} ms")
        report.line("    beside it, with the runtime's own spinning", f"{spinning * 1e3:.3g} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the compiled benchmarks")
    parser.add_argument("--only", choices=["busy-neighbour", "formulas", "work-precision"], help="this part alone")
    parser.add_argument("--rounds", type=int, default=7, help="of training in both programs")
    parser.add_argument("--plot", metavar="FOLDER",
                        help="draw time against precision there, with its numbers as CSV")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON as well")
    options = parser.parse_args()
    report = Report()
    measure(report, options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"kept": report.kept, "sections": report.sections}, file, indent=1)
    return 0 if report.kept else 1


def measure(report, options):
    if options.only == "busy-neighbour":
        busy_neighbour(report, options.program, min(5, options.rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.only == "formulas":
            formulas(report, options.program, min(5, options.rounds))
            expectations(report, options.program, min(5, options.rounds))
            return
        if options.only == "work-precision":
            work_precision(report, options.program, sys.modules[__name__], options.plot, folder)
            return
        instance = os.path.join(folder, "instance.json")
        subprocess.run([sys.executable, PEER, "write", instance], check=True)
        limits(report, options.program)
        training(report, options.program, instance, options.rounds)
        joma_flow(report, options.program, instance)
        population_flow(report, options.program, instance)
        scan_snap_sgd(report, options.program, options.rounds)
        scan_snap_flow(report, options.program, folder, options.rounds)
        scan_snap_field(report, options.program)
        scb_sgd(report, options.program, min(3, options.rounds))
        scb_noisy(report, options.program, min(5, options.rounds))
        scb_lumped(report, options.program)
        scb_moments(report, options.program)
        full_moments(report, options.program)
        adjoint_moments(report, options.program)
        topic(report, options.program)
        formulas(report, options.program, min(5, options.rounds))
        expectations(report, options.program, min(5, options.rounds))
        work_precision(report, options.program, sys.modules[__name__], options.plot, folder)
        if len(os.sched_getaffinity(0)) > 1:
            busy_neighbour(report, options.program, min(5, options.rounds))


if __name__ == "__main__":
    sys.exit(main())
