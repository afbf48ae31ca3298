#!/usr/bin/env python3
"""Scan and snap in PyTorch: softmax attention by (query, token), normalised features, decoder."""

import json
import pathlib

import torch

import record

chosen = record.options(__doc__, eta=0.5, batch=16, steps=400)
instance = json.loads((pathlib.Path(__file__).parent / "scan_snap.json").read_text())
LENGTH = 31  # tokens a sequence, the query not counted


def make_model():
    laws = torch.tensor(instance["P"])
    classes, tokens = laws.shape
    queries = torch.tensor(instance["psi"])
    decoder = torch.zeros(tokens, tokens, requires_grad=True)
    logits = torch.zeros(tokens, tokens, requires_grad=True)
    optimiser = torch.optim.SGD([decoder, logits], lr=chosen.eta)

    def step():
        label = torch.randint(classes, (chosen.batch,))
        drawn = torch.multinomial(laws[label], LENGTH, replacement=True)
        attention = torch.softmax(
            logits[queries[label]].gather(1, drawn) / chosen.temperature, dim=1)
        features = torch.zeros(chosen.batch, tokens).scatter_add(1, drawn, attention)
        scores = torch.nn.functional.normalize(features, dim=1) @ decoder
        target = record.with_noise(label, classes, chosen.label_noise)
        loss = torch.nn.functional.cross_entropy(scores, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def observe():
        attention = laws * torch.exp(logits[queries])
        attention = attention / attention.sum(1, keepdim=True)
        scores = torch.nn.functional.normalize(attention, dim=1) @ decoder
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(classes))
        entropy = -torch.special.xlogy(attention, attention).sum(1)
        return {"loss": loss, **{f"entropy_{n}": entropy[n] for n in range(classes)}}

    return step, observe


record.record(chosen, make_model)
