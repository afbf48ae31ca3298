#!/usr/bin/env python3
"""JoMA in PyTorch: exp attention on sampled classes, linear units, cross entropy."""

import json
import pathlib

import torch

import record

chosen = record.options(__doc__, eta=0.1, batch=8, steps=600)
instance = json.loads((pathlib.Path(__file__).parent / "joma.json").read_text())


def make_model():
    law = torch.tensor(instance["X"])
    tokens, classes = law.shape
    weights = torch.tensor(instance["W0"], requires_grad=True)
    logits = torch.tensor(instance["z0"], requires_grad=True)

    def scores(columns):
        attended = columns * torch.exp(logits / chosen.temperature)[:, None]
        return torch.cat([attended, torch.ones(1, columns.shape[1])]).T @ weights

    optimiser = torch.optim.SGD([weights, logits], lr=chosen.eta)

    def step():
        label = torch.randint(classes, (chosen.batch,))
        target = record.with_noise(label, classes, chosen.label_noise)
        loss = torch.nn.functional.cross_entropy(scores(law[:, label]), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def observe():
        attention = torch.softmax(logits, 0)
        loss = torch.nn.functional.cross_entropy(scores(law), torch.arange(classes))
        return {"attn_ent": -(attention * attention.log()).sum(), "loss": loss}

    return step, observe


record.record(chosen, make_model)
