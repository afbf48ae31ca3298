#!/usr/bin/env python3
"""SGD with momentum on Syn-Medium of scan and snap in PyTorch: the loop that one would write.

    scan_snap_sgd.py [--steps N] [--threads N] [--seed S]

Prints steps per second, loss, and the entropy of attention on distinct tokens as one line of JSON.
The first steps count for the loss and the entropy, but not for the time.
Setting: 10 last tokens, 20 next tokens, M = 240, T = 128, batch 128, momentum 0.9, eta_Y = 2,
eta_Z = 1, double precision.
"""

import argparse
import json
import time

import torch

QUERIES, CLASSES, COMMON, DISTINCT = 10, 20, 10, 10
CONTEXTUAL = COMMON + DISTINCT * CLASSES
TOKENS = CONTEXTUAL + QUERIES + CLASSES
LENGTH, BATCH, MOMENTUM = 127, 128, 0.9
WARM_UP = 5


def token_laws():
    """P(l|n), CLASSES x TOKENS."""
    laws = torch.zeros(CLASSES, TOKENS)
    laws[:, :COMMON] = 1.0
    weights = torch.linspace(0.1, 1.0, DISTINCT)
    for n in range(CLASSES):
        start = COMMON + n * DISTINCT
        laws[n, start:start + DISTINCT] = weights
    return laws / laws.sum(dim=1, keepdim=True)


class Attention(torch.nn.Module):
    """One layer: attention logits by (query, token), decoder by (token, next token)."""

    def __init__(self):
        super().__init__()
        half_width = TOKENS ** -0.5
        self.Y = torch.nn.Parameter((2 * torch.rand(TOKENS, TOKENS) - 1) * half_width)
        self.Z = torch.nn.Parameter((2 * torch.rand(TOKENS, TOKENS) - 1) * half_width)

    def forward(self, query, tokens):
        """Logits of the next token, batch x TOKENS."""
        weights = torch.softmax(self.Z[query].gather(1, tokens), dim=1)
        features = torch.zeros(len(query), TOKENS).scatter_add(1, tokens, weights)
        features = torch.nn.functional.normalize(features, dim=1)
        return features @ self.Y


def distinct_entropy(model, laws):
    """Mean over classes of the entropy of attention, expected laws, distinct tokens alone."""
    total = 0.0
    for n in range(CLASSES):
        start = COMMON + n * DISTINCT
        own = slice(start, start + DISTINCT)
        p = laws[n, own] * torch.exp(model.Z[CONTEXTUAL + n // 2, own])
        p = p / p.sum()
        total += -(p * p.log()).sum().item()
    return total / CLASSES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.steps <= WARM_UP:
        parser.error(f"--steps must be above {WARM_UP}, the steps that are not timed")
    torch.set_num_threads(options.threads)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(options.seed)
    laws = token_laws()
    model = Attention()
    optimiser = torch.optim.SGD([{"params": [model.Y], "lr": 2.0}, {"params": [model.Z], "lr": 1.0}],
                                momentum=MOMENTUM)
    for step in range(options.steps):
        if step == WARM_UP:
            began = time.perf_counter()
        classes = torch.randint(CLASSES, (BATCH,))
        tokens = torch.multinomial(laws[classes], LENGTH, replacement=True)
        logits = model(CONTEXTUAL + classes // 2, tokens)
        loss = torch.nn.functional.cross_entropy(logits, CONTEXTUAL + QUERIES + classes)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    seconds = time.perf_counter() - began
    with torch.no_grad():
        entropy = distinct_entropy(model, laws)
    print(json.dumps({"seconds": seconds, "steps_per_second": (options.steps - WARM_UP) / seconds,
                      "loss": loss.item(), "distinct_entropy": entropy,
                      "version": torch.__version__, "threads": options.threads}))


if __name__ == "__main__":
    main()
