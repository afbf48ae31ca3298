#!/usr/bin/env python3
"""The topic model in PyTorch: masked words of sampled documents, squared loss, W_V, W_K and W_Q."""

import json
import pathlib

import torch

import record

chosen = record.options(__doc__, eta=0.5, batch=16, steps=800)
chosen.save //= 4
instance = json.loads((pathlib.Path(__file__).parent / "topic.json").read_text())
T, TAU, V, LENGTH, WIDTH = (instance[name] for name in ("T", "tau", "v", "N", "d_a"))
P_M, P_C, P_R = 0.15, 0.1, 0.1


def make_model():
    size = T * V + 1
    keys = torch.tensor(instance["W_K"], requires_grad=True)
    queries = torch.tensor(instance["W_Q"], requires_grad=True)
    values = torch.zeros(size, size, requires_grad=True)
    optimiser = torch.optim.SGD([keys, queries, values], lr=chosen.eta)
    topic = (torch.arange(size) - 1) // V
    topic[0] = -1
    same_word = torch.eye(size, dtype=torch.bool)
    same_topic = (topic[:, None] == topic[None, :]) & ~same_word
    other_topic = topic[:, None] != topic[None, :]
    for pairs in (same_word, same_topic, other_topic):
        pairs[0, :] = pairs[:, 0] = False

    def sample():
        topics = torch.rand(chosen.batch, T).argsort(1)[:, :TAU]
        own = topics.gather(1, torch.randint(TAU, (chosen.batch, LENGTH)))
        words = 1 + own * V + torch.randint(V, (chosen.batch, LENGTH))
        selected = torch.rand(words.shape) < P_M
        kind = torch.rand(words.shape)
        masked = torch.where(selected & (kind >= P_C), torch.zeros_like(words), words)
        replaced = selected & (kind >= P_C) & (kind < P_C + P_R)
        masked = torch.where(replaced, torch.randint(1, size, words.shape), masked)
        noisy = torch.rand(words.shape) < chosen.label_noise
        labels = torch.where(noisy, torch.randint(1, size, words.shape), words)
        return labels, masked, selected

    def step():
        words, masked, selected = sample()
        scores = keys.T @ queries / WIDTH ** 0.5 / chosen.temperature
        # Of key position i for query position j.
        attention = torch.softmax(scores[masked[:, :, None], masked[:, None, :]], dim=1)
        output = torch.einsum("cbi,bij->bjc", values[:, masked], attention)
        target = torch.nn.functional.one_hot(words, size).to(output)
        loss = ((output - target) ** 2).sum(2)[selected].sum() / (P_M * LENGTH * chosen.batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def observe():
        return {"norm_W_V": values.norm(), "norm_W_K": keys.norm(), "norm_W_Q": queries.norm(),
                "value_diagonal": values[same_word].mean(),
                "value_same_topic": values[same_topic].mean(),
                "value_other_topic": values[other_topic].mean()}

    return step, observe


record.record(chosen, make_model)
