#!/usr/bin/env python3
"""Columns of samples as `run MODEL sgd` has them, against runs made in NumPy: mean, deviation and correlation with
another column, for losses of the minibatch before its step, their averages, and losses of held-out draws.

    python3 tests/recorded/sampled_columns.py --runs 10000 --popgrad build/popgrad

A line has the largest difference over rows in standard errors, and the same of two wrong columns: of one step too many,
and of the loss after the step. Needs NumPy.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).parent
BATCH, HELD_OUT, CHUNK = 4, 20, 500


def given(name):
    return {key: np.array(value) for key, value in json.loads((HERE / f"{name}.json").read_text()).items()}


def choose(rng, law):
    """An index each, of laws along the last axis."""
    return (rng.random(law.shape[:-1] + (1,)) > law.cumsum(-1)[..., :-1]).sum(-1)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def add_at(shape, index, values):
    made = np.zeros(shape)
    np.add.at(made, index, values)
    return made


class Joma:
    words, eta, other, save = ["joma"], 0.1, "attention_entropy", [0, 10, 20, 40]

    def __init__(self, runs):
        of = given("joma")
        self.law = of["X"]
        self.w, self.z = (np.repeat(of[key][None], runs, 0) for key in ("W0", "z0"))

    def draw(self, rng, count):
        return rng.integers(self.law.shape[1], size=(len(self.z), count))

    def respond(self, label):
        b = self.law.T[label] * np.exp(self.z)[:, None]
        features = np.concatenate([b, np.ones_like(b[..., :1])], 2)
        return b, features, softmax(features @ self.w)

    def loss(self, label):
        p = self.respond(label)[2]
        return -np.log(np.take_along_axis(p, label[..., None], 2))[..., 0].mean(1)

    def step(self, label):
        b, features, p = self.respond(label)
        error = (np.eye(p.shape[-1])[label] - p) / label.shape[1]
        z = (b * (error @ self.w[:, :-1].transpose(0, 2, 1))).sum(1)
        self.w = self.w + self.eta * features.transpose(0, 2, 1) @ error
        self.z = self.z + self.eta * z

    def observe(self):
        p = softmax(self.z)
        return -(p * np.log(p)).sum(1)


class ScanSnap:
    words, eta, other, save = ["scan-snap", "--T", "32"], 0.5, "entropy_0", [0, 5, 10, 30]

    def __init__(self, runs):
        of = given("scan_snap")
        self.law, self.query = of["P"], of["psi"]
        tokens = self.law.shape[1]
        self.y, self.z = np.zeros((runs, tokens, tokens)), np.zeros((runs, tokens, tokens))
        self.each = np.arange(runs)[:, None, None]

    def draw(self, rng, count):
        label = rng.integers(len(self.law), size=(len(self.z), count))
        return label, choose(rng, np.repeat(self.law[label][:, :, None], 31, 2))

    def respond(self, sample):
        label, drawn = sample
        query = self.query[label][..., None]
        a = softmax(self.z[self.each, query, drawn])
        runs, count = label.shape
        f = add_at((runs, count, self.law.shape[1]), (self.each, np.arange(count)[:, None], drawn), a)
        size = np.sqrt((f * f).sum(-1, keepdims=True))
        return query, a, f / size, size, softmax(f / size @ self.y)

    def loss(self, sample):
        p = self.respond(sample)[-1]
        return -np.log(np.take_along_axis(p, sample[0][..., None], 2))[..., 0].mean(1)

    def step(self, sample):
        label, drawn = sample
        query, a, f, size, p = self.respond(sample)
        error = (np.eye(p.shape[-1])[label] - p) / label.shape[1]
        of_f = error @ self.y.transpose(0, 2, 1)
        of_f = (of_f - f * (f * of_f).sum(-1, keepdims=True)) / size
        of_a = np.take_along_axis(of_f, drawn, 2)
        of_a = a * (of_a - (a * of_a).sum(-1, keepdims=True))
        self.y = self.y + self.eta * f.transpose(0, 2, 1) @ error
        np.add.at(self.z, (self.each, query, drawn), self.eta * of_a)

    def observe(self):
        c = self.law[0] * np.exp(self.z[:, self.query[0]])
        c = c / c.sum(1, keepdims=True)
        return -np.where(c > 0, c * np.log(np.maximum(c, 1e-300)), 0).sum(1)


class Scb:
    words, eta, other, save = ["scb"], 1.0, "dist_P", [0, 1, 2, 3]

    def __init__(self, runs):
        of = given("scb")
        self.kernel, self.context = of["P"], of["q"]
        tokens, positions = self.context.shape
        self.mu = np.linalg.matrix_power(self.kernel, 1024)[:, 0]
        self.v = np.broadcast_to(self.mu[:, None], (runs, tokens, tokens)).copy()
        self.a = np.full((runs, tokens, positions), 1 / positions)
        self.each = np.arange(runs)[:, None]

    def draw(self, rng, count):
        tokens, positions = self.context.shape
        sequence = choose(rng, np.broadcast_to(self.mu, (len(self.v), count, positions, tokens)))
        query = choose(rng, np.broadcast_to(self.mu, (len(self.v), count, tokens)))
        place = choose(rng, self.context[query])
        source = np.take_along_axis(sequence, place[..., None], 2)[..., 0]
        return sequence, query, choose(rng, self.kernel.T[source])

    def respond(self, sample):
        sequence, query, label = sample
        weight = self.a[self.each, query]
        tokens = len(self.mu)
        seen = np.stack([(weight * (sequence == j)).sum(-1) for j in range(tokens)], -1)
        return seen, np.eye(tokens)[label] - seen @ self.v.transpose(0, 2, 1)

    def loss(self, sample):
        return (self.respond(sample)[1] ** 2).sum(-1).mean(1) / 2

    def step(self, sample):
        sequence, query, label = sample
        seen, error = self.respond(sample)
        count = label.shape[1]
        of_v = error.transpose(0, 2, 1) @ seen / count / self.mu
        of_v -= of_v.mean(1, keepdims=True)
        of_v -= (of_v @ self.mu)[..., None]
        pull = error @ self.v / self.mu[query][..., None] / count
        of_a = np.take_along_axis(pull, sequence, 2)
        of_a -= of_a.mean(-1, keepdims=True)
        np.add.at(self.a, (self.each, query), self.eta * of_a)
        self.v += self.eta * of_v

    def observe(self):
        return np.sqrt(((self.v - self.kernel) ** 2 * self.mu).sum((1, 2)))


class Topic:
    words, eta, other, save = ["topic"], 0.5, "norm_W_V", [0, 5, 10, 20]

    def __init__(self, runs):
        of = given("topic")
        self.topics, self.chosen, self.of_topic, self.length = (int(of[key]) for key in ("T", "tau", "v", "N"))
        self.k, self.q = (np.repeat(of[key][None], runs, 0) for key in ("W_K", "W_Q"))
        self.size = self.topics * self.of_topic + 1
        self.v = np.zeros((runs, self.size, self.size))
        self.each = np.arange(runs)[:, None, None, None]

    def draw(self, rng, count):
        runs = len(self.v)
        topics = rng.random((runs, count, self.topics)).argsort(-1)[..., :self.chosen]
        shape = (runs, count, self.length)
        own = np.take_along_axis(topics, rng.integers(self.chosen, size=shape), 2)
        words = 1 + own * self.of_topic + rng.integers(self.of_topic, size=shape)
        selected, kind = rng.random(shape) < 0.15, rng.random(shape)
        masked = np.where(selected & (kind >= 0.1), 0, words)
        replaced = selected & (kind >= 0.1) & (kind < 0.2)
        return words, np.where(replaced, rng.integers(1, self.size, size=shape), masked), selected

    def respond(self, sample):
        words, masked, selected = sample
        scores = self.k.transpose(0, 2, 1) @ self.q / np.sqrt(self.k.shape[1])
        a = softmax(scores[self.each, masked[..., :, None], masked[..., None, :]], 2)
        seen = self.v.transpose(0, 2, 1)[self.each[..., 0], masked]  # (runs, batch, position, word)
        error = a.transpose(0, 1, 3, 2) @ seen - np.eye(self.size)[words]
        return a, seen, error * selected[..., None] / (0.15 * self.length * words.shape[1])

    def loss(self, sample):
        error = self.respond(sample)[2]
        return (error ** 2).sum((1, 2, 3)) * 0.15 * self.length * sample[0].shape[1]

    def step(self, sample):
        masked = sample[1]
        a, seen, error = self.respond(sample)
        of_seen = 2 * a @ error
        of_v = add_at(self.v.shape, (self.each[..., 0], masked), of_seen).transpose(0, 2, 1)
        of_a = 2 * seen @ error.transpose(0, 1, 3, 2)
        of_a = a * (of_a - (a * of_a).sum(2, keepdims=True))
        of_s = add_at(self.v.shape, (self.each, masked[..., :, None], masked[..., None, :]), of_a)
        of_s /= np.sqrt(self.k.shape[1])
        of_k, of_q = self.q @ of_s.transpose(0, 2, 1), self.k @ of_s
        self.v = self.v - self.eta * of_v
        self.k, self.q = self.k - self.eta * of_k, self.q - self.eta * of_q

    def observe(self):
        return np.sqrt((self.v ** 2).sum((1, 2)))


def made_here(model, runs):
    """For each column (rows, runs): and of `after`, the loss of a minibatch after its step."""
    parts = []
    for first in range(0, runs, CHUNK):
        rng = np.random.default_rng(first)
        own = model(min(CHUNK, runs - first))
        held_out, since, later = own.draw(rng, HELD_OUT), [], None
        rows = {key: [] for key in ("other", "batch", "averaged", "held-out", "one step later", "after")}
        for k in range(model.save[-1] + 2):
            sample = own.draw(rng, BATCH)
            loss, at = own.loss(sample), k in model.save
            if k - 1 in model.save:
                rows["one step later"].append(loss)
            if at:
                rows["other"].append(own.observe())
                rows["batch"].append(loss)
                rows["averaged"].append(np.mean(since, 0) if since else loss)
                rows["held-out"].append(own.loss(held_out))
                since = []
            since.append(loss)
            own.step(sample)
            if at:
                rows["after"].append(own.loss(sample))
        parts.append({key: np.array(value) for key, value in rows.items()})
    return {key: np.concatenate([part[key] for part in parts], 1) for key in parts[0]}


def made_there(program, model, runs, how, column, folder):
    out = folder / "runs.npz"
    subprocess.run([program, "run", *model.words[:1], "sgd", *model.words[1:], "-q", "--no-events", "--instance",
                    str(HERE / f"{model.words[0].replace('-', '_')}.json"), "--eta", str(model.eta), "--batch",
                    str(BATCH), "--runs", str(runs), "--steps", str(model.save[-1]), "--save-at",
                    ",".join(f"{k * model.eta:.10g}" for k in model.save), "-o", str(out), *how], check=True)
    made = np.load(out)
    rows = len(model.save)
    return [made[name].reshape(runs, rows).T for name in (column, model.other)]


def summary(values, other):
    """Mean, logarithm of the deviation, correlation; each with its standard error."""
    n, deviation = len(values), values.std()
    if deviation < 1e-12:
        return [(values.mean(), 0)]
    u = (values - values.mean()) / deviation
    made = [(values.mean(), deviation / np.sqrt(n)), (np.log(deviation), (u * u).std() / 2 / np.sqrt(n))]
    if other.std() > 1e-9:
        w = (other - other.mean()) / other.std()
        r = (u * w).mean()
        made.append((r, (u * w - r * (u * u + w * w) / 2).std() / np.sqrt(n)))
    return made


def compared(ours, theirs):
    """Largest difference over rows, in standard errors: of means, deviations, correlations."""
    largest = [0.0, 0.0, 0.0]
    for a, b, c, d in zip(*ours, *theirs):
        for k, ((x, e), (y, f)) in enumerate(zip(summary(a, b), summary(c, d))):
            error = np.hypot(e, f)
            largest[k] = max(largest[k], abs(x - y) / error if error > 0 else abs(x - y) > 1e-9 * abs(y))
    return "".join(f"{x:9.1f}" for x in largest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--popgrad", default="build/popgrad")
    parser.add_argument("--runs", type=int, default=10_000)
    options = parser.parse_args()
    print(f"{'':44}{'mean':>9}{'deviation':>10}{'corr.':>8}    last row: mean, deviation, correlation here and there")
    with tempfile.TemporaryDirectory() as name:
        for model in (Joma, ScanSnap, Scb, Topic):
            ours = made_here(model, options.runs)
            for column, how, read in (("batch", ["--batch-loss"], "batch_loss"),
                                      ("averaged", ["--batch-loss", "--averaged"], "batch_loss"),
                                      ("held-out", ["--held-out", str(HELD_OUT)], "loss")):
                theirs = made_there(options.popgrad, model, options.runs, how, read, pathlib.Path(name))
                last = [[x for x, _ in summary(of[0][-1], of[1][-1])]
                        for of in ((ours[column], ours["other"]), theirs)]
                text = "; ".join(f"{m:.4f} {np.exp(s):.4f} {r:+.3f}" for m, s, r in last)
                print(f"{model.words[0] + ', ' + column:44}{compared((ours[column], ours['other']), theirs)}"
                      f"    {text}", flush=True)
                if column == "batch":
                    for wrong in ("one step later", "after"):
                        print(f"{'    wrong: ' + wrong:44}{compared((ours[wrong], ours['other']), theirs)}",
                              flush=True)


if __name__ == "__main__":
    main()
