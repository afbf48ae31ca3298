#!/usr/bin/env python3
"""The training loop of JoMA's invariant figure in plain PyTorch, to be timed beside popgrad.

    joma_invariant.py write FILE [--seed S]      draws X, W0, z0 and writes them
    joma_invariant.py train FILE [--steps N]     trains from them; prints one JSON object

One softmax attention layer over M_C = 20 contextual tokens, K = 20 classes, linear hidden units,
f = U_C b + u_q with orthonormal embeddings in 30 dimensions, mean cross-entropy, full batch: class i
is column i of X. Learning rate 0.1, temperature 0.5. Source: arXiv 2310.00535, figure on Theorem 1.
"""

import argparse
import json
import time

import numpy as np

TOKENS, CLASSES, DIMENSION = 20, 20, 30


def write(path, seed):
    """X: columns sum to one; rows 0..9 peak at a place that moves with the class, 10..19 noise."""
    random = np.random.default_rng(seed)
    x = np.empty((TOKENS, CLASSES))
    token = np.arange(10)[:, None]
    x[:10] = np.exp(-((token - 10 * np.arange(CLASSES) / CLASSES) ** 2) / 30)
    x[10:] = random.uniform(0, 0.5, (10, CLASSES))
    instance = {
        "X": (x / x.sum(axis=0)).tolist(),
        "W0": random.normal(0, 0.01, (DIMENSION, CLASSES)).tolist(),
        "z0": random.normal(0, 0.01, TOKENS).tolist(),
        "temperature": 0.5,
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(instance, file)


def train(path, steps):
    import torch
    import torch.nn.functional as F

    torch.set_default_dtype(torch.float64)
    with open(path, encoding="utf-8") as file:
        instance = json.load(file)
    x = torch.tensor(instance["X"])
    w = torch.tensor(instance["W0"], requires_grad=True)
    z = torch.tensor(instance["z0"], requires_grad=True)
    temperature = instance["temperature"]
    embedding = torch.eye(DIMENSION, TOKENS + 1)
    u_c, u_q = embedding[:, :TOKENS], embedding[:, TOKENS:]
    label = torch.arange(CLASSES)
    optimizer = torch.optim.SGD([w, z], lr=0.1)

    def loss():
        b = torch.exp(z / temperature)[:, None] * x
        b = b / b.sum(dim=0)
        f = u_c @ b + u_q
        return F.cross_entropy(f.T @ w, label)

    start = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    seconds = time.perf_counter() - start

    with torch.no_grad():
        attention = torch.softmax(z / temperature, dim=0)
        print(json.dumps({
            "seconds": seconds,
            "loss": loss().item(),
            "attention_entropy": -(attention * attention.log()).sum().item(),
            "version": torch.__version__,
            "threads": torch.get_num_threads(),
        }))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="draw X, W0, z0")
    writing.add_argument("file")
    writing.add_argument("--seed", type=int, default=1)
    training = commands.add_parser("train", help="train and print time, loss and entropy")
    training.add_argument("file")
    training.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    if options.command == "write":
        write(options.file, options.seed)
    else:
        train(options.file, options.steps)


if __name__ == "__main__":
    main()
