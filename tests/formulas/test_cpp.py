"""Formulas of all operations as the program prints them in C++: compiled against xtensor, their values are those that
the program has."""

import os
import subprocess

import numpy

from test_numpy import answers, array_line

arrays = {
    "A": [[1.5, -2.0, 0.25], [0.5, 3.0, -1.25]], "B": [[2.0, 0.5, 1.0], [0.5, 3.0, 0.25], [1.0, 0.25, 4.0]],
    "x": [0.5, -1.5, 2.0], "y": [0.25, 0.75], "c": 0.625,
}
wholes = {"n": 3, "m": 2, "i": [2, 0]}

formulas = [
    # signs and brackets
    "A - (x - c) / 2", "-(x**2) * (-x)**3 / (c * n)", "1 / 2 + n / 2 - m / n", "arange(n) % 2 + arange(n) // 2", "where(x > 0, x, A)",
    "(x < 1) * (x >= c) + (x == 2) - (x != 2)",
    # entry by entry
    "exp(x) + log(x**2) * sqrt(abs(x))", "sin(x) * cos(x) + tanh(x) - erf(x) * pi", "asin(x / 4) + atan2(x, A)",
    "sigmoid(x) + relu(x) * softplus(x) - gelu(x)", "sign(x) * stop_gradient(x)",
    # over axes
    "sum(A) * prod(x) + max(A) - norm(x)", "mean(A, axis=1) * prod(A, axis=1) + norm(A, axis=1)", "max(A, axis=0) - min(A, axis=0)",
    "argmax(A, axis=1)", "sum(A[None] * B[:, :2, None], axis=(0, 1))", "cumsum(A, axis=1)",
    "softmax(A, axis=0) + log_softmax(A, axis=0)", "logsumexp(A, axis=1) * logsumexp(x)",
    # places
    "A.T + y", "A[1, ::-1] + A[-1, 0]", "A[:, 1:] * y[:, None]", "B[i] @ x", "diag(x) + diag(B)", "concatenate([x, y]) * 2",
    "stack([x, x**2])", "one_hot(i, n) @ x", "ones((n, 2)) * y", "eye(n) + eye(n, 3)",
    # whole arrays
    "A @ B @ A.T", "A @ x + y", "x @ x * c", "outer(x, x)", "einsum('ij,ij->i', A, A)", "trace(B)", "inv(B) @ x", "solve(B, x)",
    "eigvalsh(B)",
]


def literal(value):
    if numpy.ndim(value) == 0:
        return repr(value.item())
    return "{" + ", ".join(map(literal, value)) + "}"


def test_formulas_in_cpp_have_the_values_of_the_program(tmp_path):
    names = {name: numpy.array(value, float) for name, value in arrays.items()}
    names |= {name: numpy.array(value, int) for name, value in wholes.items()}
    found = answers([array_line(name, value) for name, value in names.items()] + ["formula " + text for text in formulas])
    refused = [f"{text}: {answer}" for text, answer in zip(formulas, found) if isinstance(answer, str)]
    assert not refused
    source = ['#include <cstdio>', '#include "functions.hpp"']
    for name, value in names.items():
        kind = "double" if name in "nm" else "xt::xarray<int>" if value.dtype == int else "Array"
        source.append(f"const {kind} {name}{literal(value) if value.ndim else f'({value})'};")
    source.append('void show(const Array& a) { for (const double value : a) std::printf("%.17g ", value); std::puts(""); }')
    source.append("int main() {\n  using xt::pow;")
    source += [f"  show({cpp});" for *_, cpp in found]
    source.append("}")
    (tmp_path / "formulas.cpp").write_text("\n".join(source))
    program = tmp_path / "formulas"
    done = subprocess.run([os.environ["POPGRAD_COMPILER"], "-std=c++20", "-O0", "-w", "-I", os.path.dirname(__file__),
                           str(tmp_path / "formulas.cpp"), "-o", str(program), "-llapack", "-lblas"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(formulas)
    for text, (_, value, _, cpp), line in zip(formulas, found, lines):
        numbers = numpy.array([float(number) for number in line.split()])
        assert numbers.shape == (value.size,), (text, cpp, line)
        assert numpy.all(numpy.abs(numbers - value.ravel()) <= 1e-14 * max(1.0, numpy.max(numpy.abs(value)))), (text, cpp, line)
