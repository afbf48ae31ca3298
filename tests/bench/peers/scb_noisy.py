#!/usr/bin/env python3
"""One noisy step on a dense attention matrix of 500 x 100000 in PyTorch or NumPy.

    scb_noisy.py torch|numpy [--steps N] [--tokens N] [--positions T]

A <- rho A + shift + support + level (Z - mean of Z over positions), V likewise, in place, 2 threads
where the library uses them; c, d, <V,P>, <V,V> from the old state.
Prints the median seconds of a step, and of A *= x alone, as one line of JSON.
"""

import argparse
import json
import statistics
import time

import numpy
import torch


def instance(tokens, positions):
    random = numpy.random.default_rng(1)
    kernel = random.random((tokens, tokens))
    kernel /= kernel.sum(0)
    mu = numpy.linalg.matrix_power(kernel, 64)[:, 0]
    mu /= mu.sum()
    place = random.integers(0, positions, (tokens, 2))
    return kernel, mu, place, random.dirichlet([1, 1], tokens)


def numpy_step(kernel, mu, place, law, positions):
    random = numpy.random.default_rng(2)
    tokens = len(mu)
    A = numpy.full((tokens, positions), 1 / positions)
    V = mu[:, None] + 0.25 * (kernel - mu[:, None])
    noise = numpy.empty_like(A)
    rows = numpy.arange(tokens)[:, None]
    target = kernel - mu[:, None]

    def step(rate=0.01, level=0.01):
        moved = V - mu[:, None]
        product = numpy.einsum("ik,ik,k->", moved, target, mu)
        square = numpy.einsum("ik,ik,k->", moved, moved, mu)
        overlap = ((A[rows, place] * law).sum(1) * mu).sum()
        size = (numpy.einsum("kt,kt->k", A, A) * mu).sum()
        random.standard_normal(out=noise)
        noise_mean = noise.mean(1)
        noise_of_values = random.standard_normal(V.shape)
        noise_of_values -= noise_of_values.mean(0)
        noise_of_values -= (noise_of_values @ mu)[:, None]
        numpy.multiply(noise, rate * level, out=noise)
        numpy.multiply(A, 1 - rate * square, out=A)
        numpy.add(A, noise, out=A)
        A.__iadd__((-rate * (product - square) / positions - rate * level * noise_mean)[:, None])
        A[rows, place] += rate * product * law
        V.__iadd__(rate * (overlap * target - size * moved + level * noise_of_values))

    return step, lambda: numpy.multiply(A, 1.0000001, out=A)


def torch_step(kernel, mu, place, law, positions):
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    torch.manual_seed(2)
    kernel, mu, law = (torch.from_numpy(array) for array in (kernel, mu, law))
    place = torch.from_numpy(place)
    A = torch.full((len(mu), positions), 1 / positions)
    V = mu[:, None] + 0.25 * (kernel - mu[:, None])
    noise = torch.empty_like(A)
    target = kernel - mu[:, None]

    def step(rate=0.01, level=0.01):
        moved = V - mu[:, None]
        product = torch.einsum("ik,ik,k->", moved, target, mu)
        square = torch.einsum("ik,ik,k->", moved, moved, mu)
        overlap = ((A.gather(1, place) * law).sum(1) * mu).sum()
        size = (torch.linalg.vector_norm(A, dim=1) ** 2 * mu).sum()
        noise.normal_()
        noise_mean = noise.mean(1)
        noise_of_values = torch.randn_like(V)
        noise_of_values -= noise_of_values.mean(0)
        noise_of_values -= (noise_of_values @ mu)[:, None]
        A.mul_(1 - rate * square).add_(noise, alpha=rate * level)
        A.add_((-rate * (product - square) / positions - rate * level * noise_mean)[:, None])
        A.scatter_add_(1, place, rate * product * law)
        V.add_(overlap * target - size * moved + level * noise_of_values, alpha=rate)

    return step, lambda: A.mul_(1.0000001)


def median_time(work, count):
    work()
    times = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=("torch", "numpy"))
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--positions", type=int, default=100_000)
    options = parser.parse_args()
    make = torch_step if options.library == "torch" else numpy_step
    step, scale = make(*instance(options.tokens, options.positions), options.positions)
    module = torch if options.library == "torch" else numpy
    print(json.dumps({"seconds": median_time(step, options.steps),
                      "scaling": median_time(scale, 5), "version": module.__version__}))


if __name__ == "__main__":
    main()
