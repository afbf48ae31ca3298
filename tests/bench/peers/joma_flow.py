#!/usr/bin/env python3
"""The reduced JoMA flow by SciPy: v' = (mu - v) o exp(v^2/3), 20 weights, to t = 1.

    joma_flow.py METHOD DIGITS [DIGITS ...]   solves to rtol 10^-DIGITS each; prints one JSON array
    joma_flow.py --self-test                  checks one weight against quadrature of dv/v'

METHOD is one of SciPy's solve_ivp. A row has digits, seconds (the best of three), evaluations, v.
"""

import json
import sys
import time

import numpy
from scipy.integrate import quad, solve_ivp

TAU = 3
TARGET = 1 + 3 * numpy.arange(20) / 19
START = numpy.full(20, 0.05)
END = 1.0


def slope(_, v):
    # A trial step that overflows is rejected by the solver.
    with numpy.errstate(over="ignore", invalid="ignore"):
        return (TARGET - v) * numpy.exp(v * v / TAU)


def jacobian(_, v):
    gain = numpy.exp(v * v / TAU)
    return numpy.diag(gain * ((TARGET - v) * 2 * v / TAU - 1))


def solved(method, digits):
    options = {"jac": jacobian} if method in ("Radau", "BDF", "LSODA") else {}
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        run = solve_ivp(slope, (0, END), START, method=method, rtol=max(10.0 ** -digits, 3e-14),
                        atol=10.0 ** -(digits + 2), **options)
        seconds.append(time.perf_counter() - began)
    if not run.success:
        raise SystemExit(run.message)
    return {"digits": digits, "seconds": min(seconds), "evaluations": int(run.nfev),
            "v": run.y[:, -1].tolist()}


def self_test():
    """The time that quadrature gives a weight to reach where DOP853 has it is the end."""
    v = solved("DOP853", 12)["v"]
    for at, target in ((0, TARGET[0]), (7, TARGET[7])):
        took, _ = quad(lambda x: numpy.exp(-x * x / TAU) / (target - x), START[at], v[at],
                       epsabs=1e-13, epsrel=1e-13)
        assert abs(took - END) < 1e-10, f"weight {at}: {took}"


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        print(json.dumps([solved(sys.argv[1], int(digits)) for digits in sys.argv[2:]]))


if __name__ == "__main__":
    main()
