#!/usr/bin/env python3
"""Gradient descent from given matrices in plain NumPy: bigrams from V and A, scan and snap from Y, Z.

No gradient is written down. The objective is spelled out (for the bigrams summed over all sequences)
and differentiated by complex steps, which are exact to rounding. Writes instances, steps and where
they end; tests/rungs/given_start_test.cpp takes the same steps. Made by:
    python3 given_start.py --out data/given_start.json
"""

import argparse
import itertools
import json

import numpy as np

STEPS = 200
TINY = 1e-30  # of the complex step: its error is of second order


def slope(objective, x):
    """Derivatives of objective(x) by every entry of x."""
    out = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[place] += 1j * TINY
        out[place] = objective(moved).imag / TINY
    return out


def law(random, *shape):
    """Columns that sum to 1."""
    drawn = random.uniform(0.1, 1, shape)
    return drawn / drawn.sum(axis=0)


def stationary(kernel):
    values, vectors = np.linalg.eig(kernel)
    mu = vectors[:, np.argmax(values.real)].real
    return mu / mu.sum()


def bigrams(random, rate=0.05):
    n, length = 3, 5
    kernel, values, attention = law(random, n, n), law(random, n, n), law(random, length, n)
    picks = np.zeros((length, n))  # q, a column a query
    picks[[0, 3], 0] = 0.25, 0.75
    picks[1, 1] = 1
    picks[[1, 2, 4], 2] = 0.5, 0.125, 0.375
    instance = {"P": kernel.tolist(), "q": picks.T.tolist(), "V": values.tolist(),
                "A": attention.tolist()}
    mu = stationary(kernel)
    sequences = np.array(list(itertools.product(range(n), repeat=length)))  # all of them
    chance = mu[sequences].prod(axis=1)
    shown = np.eye(n)[sequences]  # (sequence, position, token)

    def loss(v, a):
        """E |e_y - V X a^k|^2/2 over all sequences, queries k and next tokens y."""
        total = 0
        for k in range(n):
            answer = np.einsum("st,it->si", np.einsum("xtj,t->xj", shown, a[:, k]), v)
            next_law = np.einsum("xtj,t->xj", shown, picks[:, k]) @ kernel.T
            for y in range(n):
                miss = np.eye(n)[y] - answer
                total = total + mu[k] * np.sum(chance * next_law[:, y] * (miss**2).sum(axis=1)) / 2
        return total

    v, a = values, attention
    for _ in range(STEPS):
        of_v = -slope(lambda u: loss(u, a), v) / mu
        of_a = -slope(lambda u: loss(v, u), a) / mu
        of_v = of_v - of_v.mean(axis=0)         # columns of V keep their sums,
        of_v = of_v - np.outer(of_v @ mu, np.ones(n))  # V mu stays
        of_a = of_a - of_a.mean(axis=0)
        v, a = v + rate * of_v, a + rate * of_a
    last = {f"V_{i}_{k}": v[i, k] for i in range(n) for k in range(n)}
    for k in range(n):  # one number stands for the rest where only one position is left
        last.update({f"a_{k}_{t}": a[t, k] for t in range(length) if picks[t, k] > 0})
    return {"model": "scb", "instance": instance, "eta": rate, "steps": STEPS, "last": last}


def scan_snap(random, rate=0.1):
    tokens, eta_y, eta_z = 6, 1.3, 0.4
    laws = law(random, tokens, 3).T
    query, following, weight = [5, 5, 4], [0, 2, 2], [0.5, 0.2, 0.3]
    decoder, logits = random.uniform(-1, 1, (2, tokens, tokens))
    instance = {"P": laws.tolist(), "psi": query, "next": following, "class_law": weight,
                "eta_Y": eta_y, "eta_Z": eta_z, "Y": decoder.tolist(), "Z": logits.tolist()}

    def likelihood(y, z):
        """sum_n w_n ln softmax(Y' f_n)(next token), f_n = P(.|n) e^z of unit length."""
        total = 0
        for n in range(3):
            f = laws[n] * np.exp(z[query[n]])
            f = f / np.sqrt((f**2).sum())
            scores = y.T @ f
            total = total + weight[n] * (scores[following[n]] - np.log(np.exp(scores).sum()))
        return total

    y, z = decoder, logits
    for _ in range(STEPS):
        of_y, of_z = slope(lambda u: likelihood(u, z), y), slope(lambda u: likelihood(y, u), z)
        y, z = y + rate * eta_y * of_y, z + rate * eta_z * of_z
    last = {f"y_{i}_{j}": y[i, j] for i in range(tokens) for j in range(tokens)}
    last.update({f"z_{m}_{j}": z[m, j] for m in sorted(set(query)) for j in range(tokens)})
    return {"model": "scan-snap", "instance": instance, "eta": rate, "steps": STEPS, "last": last}


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", required=True, help="JSON file to write")
chosen = parser.parse_args()
generator = np.random.default_rng(7)
runs = [bigrams(generator), scan_snap(generator)]
with open(chosen.out, "w", encoding="utf-8") as file:
    json.dump({"numpy": np.__version__, "runs": runs}, file)
    file.write("\n")
