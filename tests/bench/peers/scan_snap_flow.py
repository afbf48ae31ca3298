#!/usr/bin/env python3
"""Population flow of scan and snap by SciPy's DOP853 on a right-hand side in NumPy.

    scan_snap_flow.py FILE.json

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as source:
        instance = json.load(source)
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


if __name__ == "__main__":
    main()
