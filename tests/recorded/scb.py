#!/usr/bin/env python3
"""Sparse contextual bigrams in PyTorch: linear attention, preconditioned and projected gradients."""

import json
import pathlib

import torch

import record

chosen = record.options(__doc__, eta=0.01, batch=64, steps=2000)
chosen.save = 4 * chosen.save
instance = json.loads((pathlib.Path(__file__).parent / "scb.json").read_text())


def make_model():
    kernel, context = torch.tensor(instance["P"]), torch.tensor(instance["q"])
    tokens, positions = context.shape
    mu = torch.linalg.matrix_power(kernel, 1024)[:, 0]
    values = mu[:, None].repeat(1, tokens)
    attention = torch.full((tokens, positions), 1 / positions)
    scale = 1 / chosen.temperature

    def step():
        rows = torch.arange(chosen.batch)
        sequence = torch.multinomial(mu, chosen.batch * positions, replacement=True)
        sequence = sequence.view(chosen.batch, positions)
        query = torch.multinomial(mu, chosen.batch, replacement=True)
        source = sequence[rows, torch.multinomial(context[query], 1).squeeze(1)]
        label = torch.multinomial(kernel.T[source], 1).squeeze(1)
        label = record.with_noise(label, tokens, chosen.label_noise)
        seen = torch.zeros(chosen.batch, tokens)
        seen.scatter_add_(1, sequence, scale * attention[query])
        error = -(seen @ values.T)
        error[rows, label] += 1
        of_values = (error.T @ seen) / chosen.batch / mu
        of_values -= of_values.mean(0)
        of_values -= (of_values @ mu)[:, None]
        pull = scale * (error @ values) / mu[query][:, None] / chosen.batch
        of_attention = torch.gather(pull, 1, sequence)
        of_attention -= of_attention.mean(1, keepdim=True)
        attention.index_add_(0, query, of_attention, alpha=chosen.eta)
        values.add_(of_values, alpha=chosen.eta)

    def observe():
        ground = mu[:, None]
        size = ((kernel - ground) ** 2 * mu).sum()
        share = 1 / positions
        along = ((attention * context).sum(1) - attention.sum(1) * share) * mu
        context_size = ((context ** 2).sum(1) * mu).sum()
        return {
            "alpha_V": ((values - ground) * (kernel - ground) * mu).sum() / size,
            "alpha_A": along.sum() / (context_size - share),
            "dist_P": ((values - kernel) ** 2 * mu).sum().sqrt(),
            "dist_Q": (((attention - context) ** 2).sum(1) * mu).sum().sqrt(),
        }

    return step, observe


record.record(chosen, make_model)
