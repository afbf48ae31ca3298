#!/usr/bin/env python3
"""Population flow of scan and snap by SciPy's DOP853 on a right-hand side in NumPy.

    scan_snap_flow.py FILE.json                    solves; prints one JSON object
    scan_snap_flow.py --write-instance FILE.json   writes the growth instance
    scan_snap_flow.py --self-test                  checks Y' and z' against finite differences

FILE.json holds P (K rows, M columns), psi, eta_Y, eta_Z, t1, rtol, atol. Y is kept by its K live
columns and one that stands for the other M - K; rows of tokens without a law are left out. Prints
seconds, evaluations and z as one line of JSON.
"""

import argparse
import json
import time

import numpy
import scipy
from scipy.integrate import solve_ivp


class Flow:
    """Y' and Z' of the population gradient; one dense product a table."""

    def __init__(self, instance):
        law = numpy.array(instance["P"], dtype=float)
        self.used = numpy.flatnonzero(law.any(axis=0))
        self.classes, tokens = law.shape
        self.law = law[:, self.used]
        self.queries, self.query = numpy.unique(instance["psi"], return_inverse=True)
        self.holds = numpy.equal.outer(range(len(self.queries)), self.query).astype(float)
        self.multiplicity = numpy.append(numpy.ones(self.classes), tokens - self.classes)
        self.rate_y = instance["eta_Y"] / self.classes
        self.rate_z = instance["eta_Z"] / self.classes
        self.labels = numpy.eye(self.classes, self.classes + 1)
        self.table = len(self.used) * (self.classes + 1)

    def initial(self):
        return numpy.zeros(self.table + len(self.queries) * len(self.used))

    def split(self, x):
        return (x[:self.table].reshape(len(self.used), -1),
                x[self.table:].reshape(len(self.queries), -1))

    def __call__(self, t, x):
        y, z = self.split(x)
        features = self.law * numpy.exp(z[self.query])
        features /= numpy.linalg.norm(features, axis=1, keepdims=True)
        logits = features @ y
        answer = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        answer /= answer @ self.multiplicity[:, None]
        error = self.labels - answer
        dx = numpy.empty_like(x)
        dy, dz = self.split(dx)
        numpy.matmul(self.rate_y * features.T, error, out=dy)
        pull = (error * self.multiplicity) @ y.T
        along = numpy.einsum("nl,nl->n", features, pull)
        pull -= features * along[:, None]
        numpy.matmul(self.rate_z * self.holds, features * pull, out=dz)
        return dx


def growth_instance():
    """K = 10, M = 1000, one query: a common token of weight 0.7, 99 distinct ones a class."""
    classes, distinct, tokens = 10, 99, 1000
    law = numpy.zeros((classes, tokens))
    law[:, 0] = 0.7
    for n in range(classes):
        law[n, 1 + distinct * n:1 + distinct * (n + 1)] = numpy.linspace(0.1, 1, distinct)
    law /= law.sum(axis=1, keepdims=True)
    return {"P": law.tolist(), "psi": [0] * classes, "eta_Y": 1.0, "eta_Z": 0.5, "t1": 700,
            "rtol": 1e-8, "atol": 1e-10}


def log_likelihood(instance, y, z):
    """Mean over classes of ln alpha_n(n), from the definitions: Y is M x M, Z has a row a query."""
    law = numpy.array(instance["P"])
    total = 0.0
    for n, row in enumerate(law):
        attention = row * numpy.exp(z[instance["psi"][n]])
        attention /= attention.sum()
        logits = y.T @ (attention / numpy.linalg.norm(attention))
        total += logits[n] - numpy.log(numpy.exp(logits).sum())
    return total / len(law)


def self_test():
    """Y' and z' are the gradient of the likelihood times the rates, for tables without symmetry."""
    random = numpy.random.default_rng(1)
    tokens, classes = 9, 4
    law = random.uniform(0.1, 1, (classes, tokens)) * (random.uniform(size=(classes, tokens)) < 0.6)
    law[:, 0], law[:, 7] = 0.5, 0
    law /= law.sum(axis=1, keepdims=True)
    rates = {"eta_Y": 1.5, "eta_Z": 0.25}
    instance = {"P": law.tolist(), "psi": [6, 2, 6, 2], **rates}
    flow = Flow(instance)
    x = random.normal(size=flow.initial().shape)

    def value(state):
        y, z = numpy.zeros((tokens, tokens)), numpy.zeros((tokens, tokens))
        live, logits = flow.split(state)
        y[flow.used, :classes] = live[:, :classes]
        y[flow.used, classes:] = live[:, classes:]
        z[numpy.ix_(flow.queries, flow.used)] = logits
        return log_likelihood(instance, y, z)

    step = 1e-5
    slope = numpy.array([(value(x + step * e) - value(x - step * e)) / (2 * step)
                         for e in numpy.eye(len(x))])
    y, z = flow.split(slope)
    expected = numpy.append(rates["eta_Y"] * y / flow.multiplicity, rates["eta_Z"] * z)
    apart = numpy.abs(flow(0.0, x) - expected).max()
    assert numpy.abs(expected).max() > 1e-2, "nothing to compare"
    assert apart < 1e-9, f"apart by {apart:.1e}"


def solve(instance):
    flow = Flow(instance)
    began = time.perf_counter()
    solved = solve_ivp(flow, (0, instance["t1"]), flow.initial(), method="DOP853",
                       rtol=instance["rtol"], atol=instance["atol"])
    seconds = time.perf_counter() - began
    if not solved.success:
        raise SystemExit(solved.message)
    print(json.dumps({"seconds": seconds, "evaluations": int(solved.nfev),
                      "steps": len(solved.t) - 1, "version": scipy.__version__,
                      "z": flow.split(solved.y[:, -1])[1][0].tolist()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("file", nargs="?", help="instance to solve")
    job.add_argument("--write-instance", metavar="FILE", help="write the growth instance")
    job.add_argument("--self-test", action="store_true", help="check against finite differences")
    options = parser.parse_args()
    if options.self_test:
        self_test()
    elif options.write_instance:
        with open(options.write_instance, "w", encoding="utf-8") as out:
            json.dump(growth_instance(), out)
    else:
        with open(options.file, encoding="utf-8") as source:
            solve(json.load(source))


if __name__ == "__main__":
    main()
