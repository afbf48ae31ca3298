"""Work against precision: every method and tolerance on two flows, as a table and a picture.

The flows are those of work_precision.cpp. Errors are measured, not asked for.
"""

import csv
import math
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
STYLE = os.path.join(HERE, "..", "..", "plots", "style.gp")
SCRIPT = os.path.join(HERE, "work_precision.gp")

FLOWS = {
    "reduced": ("Reduced JoMA flow, 20 weights, rates 1.4 to 207",
                ("dopri5", "bulirsch-stoer", "rosenbrock4", "extrapolation"),
                ("CVODE Adams", "CVODE BDF", "SciPy DOP853", "SciPy Radau")),
    "growth": ("Population flow of scan and snap, 11,892 numbers",
               ("dopri5", "bulirsch-stoer"),
               ("CVODE Adams", "CVODE BDF", "SciPy DOP853")),
}
JUDGED_AT = (1e-4, 1e-8)  # errors at which times are compared
ROUNDING = 1e-13          # errors in double below it are chance


def of_scipy_reduced(peer, method, reference):
    rows = peer("joma_flow.py", method, *map(str, range(3, 13)))
    return [{"digits": row["digits"], "seconds": row["seconds"], "evaluations": row["evaluations"],
             "error": max(abs(v / exact - 1) for v, exact in zip(row["v"], reference))}
            for row in rows]


def of_scipy_growth(peer, folder, instance, reference):
    rows = []
    for digits in range(3, 13):
        path = os.path.join(folder, "growth.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write(instance(10.0 ** -digits, 10.0 ** -(digits + 2)))
        run = peer("scan_snap_flow.py", path)
        error = max(abs(z - exact) for z, exact in zip(run["z"], reference))
        rows.append({"digits": digits, "seconds": run["seconds"],
                     "evaluations": run["evaluations"],
                     "error": error / max(map(abs, reference))})
    return rows


def measured(flow, benchmarks, seconds, program):
    """Rows a method, the reference, and how well it is known."""
    methods = {}
    for row in benchmarks(program, f"^work_precision/{flow}/"):
        name = row["name"].split("/")[2]
        if name == "reference":
            count = sum(key.startswith("reference_") for key in row)
            reference = [row[f"reference_{i}"] for i in range(count)]
            known_to = row["known_to"]
            continue
        methods.setdefault(name, []).append(
            {"digits": int(row["name"].split("/")[3]), "seconds": seconds(row),
             "evaluations": int(row["evaluations"]), "error": row["error"]})
    return methods, reference, known_to


def time_at(rows, error):
    """Least time of a run with at most this error; None where no run is as good."""
    return min((row["seconds"] for row in rows if row["error"] <= error), default=None)


def judge(report, flow, methods, known_to):
    title, ours, peers = FLOWS[flow]
    report.section(f"Work against precision: {title}")
    report.line("the reference is known to", f"{known_to:.1e}")
    for error in JUDGED_AT:
        times = {name: time_at(rows, error) for name, rows in methods.items()}
        for name in (*ours, *peers):
            if times.get(name) is not None and name != "extrapolation":
                report.line(f"error {error:.0e}: {name}", f"{times[name] * 1e3:.3f} ms")
        best = min(times[name] for name in ours if times[name] is not None)
        least = min(times[name] for name in peers if times.get(name) is not None)
        report.line("    the fastest of ours over the fastest peer", f"{best / least:.2f}", "<= 1",
                    best <= least)
    digits = methods.get("extrapolation")
    if digits:
        last = digits[-1]
        report.line(f"{last['digits']} digits asked for, error {last['error']:.1e}",
                    f"{last['seconds']:.2f} s")


def write_and_draw(folder, tables):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "work-precision.csv"), "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["flow", "method", "digits", "error", "seconds", "evaluations"])
        for flow, methods in tables.items():
            for name, rows in methods.items():
                for row in rows:
                    writer.writerow([flow, name, row["digits"], f"{row['error']:.3e}",
                                     f"{row['seconds']:.4e}", row["evaluations"]])
    # One block a method, in the order of the script.
    for flow, methods in tables.items():
        _, ours, peers = FLOWS[flow]
        with open(os.path.join(folder, f"work-precision-{flow}.csv"), "w", encoding="utf-8") as out:
            for name in (*ours, *peers):
                for row in methods[name]:
                    if row["error"] >= ROUNDING or name == "extrapolation":
                        out.write(f"{-math.log10(row['error']):.3f},{row['seconds']:.4e}\n")
                out.write("\n\n")
    subprocess.run(["gnuplot", "-e", f"name='{os.path.join(folder, 'work-precision')}'", STYLE,
                    SCRIPT], check=True)


def work_precision(report, program, tools, folder, scratch):
    """`tools`: benchmarks, seconds, peer and growth_instance of the report."""
    tables = {}
    for flow in FLOWS:
        methods, reference, known_to = measured(flow, tools.benchmarks, tools.seconds, program)
        if flow == "reduced":
            for method in ("DOP853", "Radau"):
                methods[f"SciPy {method}"] = of_scipy_reduced(tools.peer, method, reference)
        else:
            methods["SciPy DOP853"] = of_scipy_growth(tools.peer, scratch, tools.growth_instance,
                                                      reference)
        judge(report, flow, methods, known_to)
        tables[flow] = methods
    if folder:
        write_and_draw(folder, tables)
        print(f"  {os.path.join(folder, 'work-precision')}.svg, .png, .pdf, .csv")
