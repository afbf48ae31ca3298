#!/usr/bin/env python3
"""Full-batch gradient descent of JoMA's network with several layers in PyTorch, double precision.

Writes starts, losses of every step and some of the last weights; theorems/joma/tests/multilayer_test.cpp takes
the same steps from the same starts. Made by:  python3 multilayer.py --out data/multilayer.json
"""

import argparse
import json
import math

import torch

STEPS, RATE = 100, 0.1
TOKENS, LENGTH = 7, 6
INPUTS = [[0, 0, 1, 2, 3, 5], [0, 0, 0, 2, 4, 6], [1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 4]]
PHI = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh,
       "linear": lambda a: a}
CASES = [
    {"layers": 2, "attention": "softmax", "phi": "relu", "layer-norm": False},
    {"layers": 3, "attention": "softmax", "phi": "gelu", "layer-norm": True},
    {"layers": 1, "attention": "exp", "phi": "tanh", "layer-norm": False},
    {"layers": 2, "attention": "linear", "phi": "linear", "layer-norm": False},
]


def start(case, d, width):
    """Blocks by name, drawn as torch.nn draws them."""
    def uniform(inputs, *shape):
        return (2 * torch.rand(*shape) - 1) / math.sqrt(inputs)

    blocks = {"W_E": torch.randn(d, TOKENS)}
    for h in range(case["layers"]):
        for name in ("W_K", "W_Q", "W_V"):
            blocks[f"{name}_{h}"] = uniform(d, d, d)
        blocks[f"W_1_{h}"], blocks[f"b_1_{h}"] = uniform(d, width, d), uniform(d, width)
        blocks[f"W_2_{h}"], blocks[f"b_2_{h}"] = uniform(width, d, width), uniform(width, d)
        if case["layer-norm"]:
            for which in ("1", "2"):
                blocks[f"gain_{which}_{h}"], blocks[f"shift_{which}_{h}"] = torch.ones(d), torch.zeros(d)
    blocks["W_O"], blocks["b_O"] = uniform(d, len(INPUTS), d), uniform(d, len(INPUTS))
    return blocks


def logits(case, w, d):
    x = w["W_E"].T[torch.tensor(INPUTS)]  # (C, L, d)
    below = torch.tril(torch.ones(LENGTH, LENGTH, dtype=torch.bool))
    positions = torch.arange(1, LENGTH + 1)[:, None]

    def norm(u, which, h):
        if not case["layer-norm"]:
            return u
        return torch.nn.functional.layer_norm(u, (d,), w[f"gain_{which}_{h}"], w[f"shift_{which}_{h}"])

    for h in range(case["layers"]):
        query, key, value = (x @ w[f"{name}_{h}"].T for name in ("W_Q", "W_K", "W_V"))
        scores = query @ key.transpose(1, 2) / math.sqrt(d)
        if case["attention"] == "softmax":
            weights = torch.softmax(scores.masked_fill(~below, -math.inf), -1)
        else:
            gain = torch.exp(scores) if case["attention"] == "exp" else scores
            weights = (gain * below) / positions
        u = norm(x + weights @ value, "1", h)
        hidden = PHI[case["phi"]](u @ w[f"W_1_{h}"].T + w[f"b_1_{h}"])
        x = norm(u + hidden @ w[f"W_2_{h}"].T + w[f"b_2_{h}"], "2", h)
    return x[:, -1] @ w["W_O"].T + w["b_O"]


def flat(block):
    """By columns, as the state of the rung is."""
    return block.detach().T.flatten().tolist() if block.dim() == 2 else block.detach().tolist()


def record(case, seed, d=4, width=8):
    torch.manual_seed(seed)
    w = {name: block.requires_grad_() for name, block in start(case, d, width).items()}
    instance = {**case, "d": d, "width": width, "inputs": INPUTS,
                "state": {name: flat(block) for name, block in w.items()}}
    optimiser = torch.optim.SGD(w.values(), lr=RATE)
    labels = torch.arange(len(INPUTS))
    losses = []
    for step in range(STEPS + 1):
        loss = torch.nn.functional.cross_entropy(logits(case, w, d), labels)
        losses.append(loss.item())
        if step == STEPS:
            break
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    last = {name: flat(w[name]) for name in ("W_E", "W_K_0", "W_2_0", "b_1_0", "W_O")}
    return {"instance": instance, "eta": RATE, "loss": losses, "last": last}


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", required=True, help="JSON file to write")
chosen = parser.parse_args()
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
runs = [record(case, seed) for seed, case in enumerate(CASES, 1)]
with open(chosen.out, "w") as file:
    json.dump({"torch": torch.__version__, "runs": runs}, file)
    file.write("\n")
