#!/usr/bin/env python3
"""The trainings and fields of ../formulas.cpp in PyTorch, double precision.

    formulas.py regression|two-layers|weights|factors|overlaps [--threads N] [--steps N]

Prints the time of a step or of an evaluation in seconds, and the mean loss of the steps, as one line of JSON; the first
steps do not count for the time. Draws are part of a step.
"""

import argparse
import json
import math
import time

import torch

WARM_UP = 10


def start(*shape):
    """Between 0 and 1, without a pattern."""
    count = math.prod(shape)
    return (torch.arange(1, count + 1) * 0.6180339887498949 % 1).reshape(shape)


def regression():
    n, d, batch = 40, 20, 256
    weights = torch.zeros(d, d, requires_grad=True)

    def loss():
        rows, query, target = torch.randn(batch, n, d), torch.randn(batch, d), torch.randn(batch, d)
        scores = (rows @ weights @ query[:, :, None])[:, :, 0] / d ** 0.5
        answers = (rows @ target[:, :, None])[:, :, 0]
        predicted = (torch.softmax(scores, 1) * answers).sum(1)
        return ((predicted - (query * target).sum(1)) ** 2 / 2).mean()
    return [weights], loss


def two_layers():
    units, size, batch = 100, 100, 1000
    first, second = start(units, size).requires_grad_(), start(units).requires_grad_()

    def loss():
        x = torch.randn(batch, size)
        predicted = torch.tanh(x @ first.T / size ** 0.5) @ second / units
        return ((predicted - x[:, 0]) ** 2 / 2).mean()
    return [first, second], loss


def weights_field():
    weights, target = start(100), torch.arange(100) / 100
    return lambda: (target - weights) * torch.exp(weights ** 2 / 2)


def descent(states, loss):
    """The field that autograd derives of a loss, as the formulas do."""
    for state in states:
        state.requires_grad_()
    return lambda: [-slope for slope in torch.autograd.grad(loss(*states), states)]


def factors_field():
    unit = torch.eye(6)
    return descent([start(6, 5), start(5, 6)],
                   lambda left, right: ((unit - left @ right) ** 2).sum() / 2)


def overlaps_field():
    both, unit = 0.1 * start(32), torch.eye(4)

    def error(teacher, own):
        overlap = own + unit
        size = 1 + overlap.diagonal()
        return (torch.asin(overlap / torch.sqrt(torch.outer(size, size))).sum()
                - 2 * torch.asin(teacher / torch.sqrt(2 * size[:, None])).sum()) / math.pi
    return descent([both[:16].reshape(4, 4), both[16:].reshape(4, 4)], error)


TRAININGS = {"regression": regression, "two-layers": two_layers}
FIELDS = {"weights": weights_field, "factors": factors_field, "overlaps": overlaps_field}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*TRAININGS, *FIELDS])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    result = {"version": torch.__version__, "threads": options.threads}
    losses = []
    if options.what in TRAININGS:
        states, loss = TRAININGS[options.what]()

        def step():
            value = loss()
            slopes = torch.autograd.grad(value, states)
            with torch.no_grad():
                # A rate of 0: the loss stays comparable, the cost is that of any other.
                for state, slope in zip(states, slopes):
                    state -= 0.0 * slope
            losses.append(value.item())
    else:
        step = FIELDS[options.what]()
    for _ in range(WARM_UP):
        step()
    began = time.perf_counter()
    for _ in range(options.steps):
        step()
    result["seconds"] = (time.perf_counter() - began) / options.steps
    if losses:
        result["loss"] = sum(losses) / len(losses)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
