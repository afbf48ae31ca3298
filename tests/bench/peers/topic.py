#!/usr/bin/env python3
"""The topic model in NumPy and PyTorch.

    topic.py grid          L(alpha, beta) on 1000 x 1000 points, NumPy's vectorised formula
    topic.py population    loss and gradient over all subsets of topics, PyTorch, two threads

T = 10, tau = 4, v = 10; prints seconds (median of runs) and results as one line of JSON.
"""

import itertools
import json
import math
import statistics
import sys
import time

T, TAU, V = 10, 4, 10
P_M, P_C, P_R = 0.15, 0.1, 0.1
B = P_M * P_R / (T * V)
P0 = P_M * (1 - P_C - P_R)
A = 1 - (1 - P_C) * P_M


def timed(work, rounds):
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def grid(np):
    """Diagonal W_V: w0 = -b/(a p0), d = 1/a."""
    w0, d = -B / (A * P0), 1 / A
    alpha = np.linspace(0, 200, 1000)[None, :]
    beta = np.linspace(0, 4, 1000)[:, None]

    def loss():
        value = 0
        for x in (0, 1):
            pi = A / (TAU * V) + B if x else B
            n = alpha * pi + beta * (V - 1) * pi + 1 - V * pi
            own = (w0 * P0 + d * alpha * pi) / n
            same = (w0 * P0 + d * beta * pi) / n
            there = (w0 * P0 + d * (A / (TAU * V) + B)) / n
            absent = (w0 * P0 + d * B) / n
            inside = TAU - x
            square = (own ** 2 + (V - 1) * same ** 2 + inside * V * there ** 2
                      + (T - 1 - inside) * V * absent ** 2 + 1)
            if x:
                hit = (own + (V - 1) * same) / (TAU * V) + (TAU - 1) / TAU * there
                value = value + P_C * (square - 2 * own) + P_R * TAU / T * (square - 2 * hit)
            else:
                value = value + P_R * (1 - TAU / T) * (square - 2 * there)
        return value + (1 - P_C - P_R) * (1 - 1 / (TAU * V))

    seconds, values = timed(loss, 9)
    return {"seconds": seconds, "least": float(values.min()), "version": np.__version__}


def population(torch):
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(2)
    size, width = T * V + 1, 100
    count = 2 * width * size + size * size
    x = 0.3 * torch.sin(1 + 0.7 * torch.arange(count, dtype=torch.float64))
    x.requires_grad_()
    subsets = list(itertools.combinations(range(T), TAU))
    frequency = torch.full((len(subsets), size), B)
    target = torch.zeros(len(subsets), size)
    for row, subset in enumerate(subsets):
        for t in subset:
            frequency[row, 1 + t * V:1 + (t + 1) * V] += A / (TAU * V)
            target[row, 1 + t * V:1 + (t + 1) * V] = 1 / (TAU * V)
    frequency[:, 0] = P0
    # Weight of a query; what its targets weigh, kept words on the diagonal.
    drawn = torch.full((size,), P_R / (T * V))
    drawn[0] = 1 - P_C - P_R
    kept = P_C * target

    def step():
        x.grad = None
        keys = x[:width * size].view(size, width)
        queries = x[width * size:2 * width * size].view(size, width)
        values = x[2 * width * size:].view(size, size).T
        logits = keys @ queries.T / math.sqrt(width)
        attention = torch.softmax(logits[None] + frequency.log()[:, :, None], dim=1)
        out = values @ attention
        square = (out ** 2).sum(1)
        hit = torch.einsum("sj,sji->si", target, out)
        own = torch.diagonal(out, dim1=1, dim2=2)
        loss = ((kept + drawn) * (square + 1) - 2 * drawn * hit - 2 * kept * own).sum(1).mean()
        loss.backward()
        return loss

    step()
    seconds, loss = timed(step, 7)
    return {"seconds": seconds, "loss": loss.item(), "slope": x.grad.norm().item(),
            "version": torch.__version__}


if __name__ == "__main__":
    if sys.argv[1] == "grid":
        import numpy
        print(json.dumps(grid(numpy)))
    else:
        import torch as pytorch
        print(json.dumps(population(pytorch)))
