#!/usr/bin/env python3
"""SGD on sparse contextual bigrams in PyTorch: gather and scatter_add, no one-hot matrix.

    scb_sgd.py [--steps N] [--threads N] [--seed S]
    scb_sgd.py --self-test

Linear attention, projected, N = 20, T = 5000, Q = 2, batch 64, double precision. Tokens are drawn
by searchsorted on uniforms, which is twice as fast as multinomial. Prints steps per second and the
loss as one line of JSON; the first steps do not count for the time.
"""

import argparse
import json
import time

import torch

WARM_UP = 5


class Bigrams:
    """P, mu, q and the state: A (N x T, a row a token), V (N x N)."""

    def __init__(self, tokens, positions, support, seed):
        generator = torch.Generator().manual_seed(seed)
        kernel = torch.rand(tokens, tokens, generator=generator)
        self.P = kernel / kernel.sum(0)
        self.mu = torch.linalg.matrix_power(self.P, 1024)[:, 0]
        self.mu /= self.mu.sum()
        self.place = torch.stack([torch.randperm(positions, generator=generator)[:support]
                                  for _ in range(tokens)])
        law = torch.rand(tokens, support, generator=generator)
        self.law = law / law.sum(1, keepdim=True)
        self.mu_up_to = self.up_to(self.mu)
        self.law_up_to = self.up_to(self.law)
        self.next_up_to = self.up_to(self.P.T.contiguous())
        self.A = torch.full((tokens, positions), 1 / positions)
        self.V = self.mu[:, None].repeat(1, tokens)
        self.tokens, self.positions = tokens, positions

    @staticmethod
    def up_to(law):
        sums = torch.cumsum(law, -1)
        sums[..., -1] = 1
        return sums.contiguous()

    def sample(self, batch):
        """Sequences (batch x T), query tokens, labels."""
        rows = torch.arange(batch)
        sequences = torch.searchsorted(self.mu_up_to, torch.rand(batch, self.positions))
        query = torch.searchsorted(self.mu_up_to, torch.rand(batch))
        entry = torch.searchsorted(self.law_up_to[query], torch.rand(batch, 1)).squeeze(1)
        source = sequences[rows, self.place[query, entry]]
        label = torch.searchsorted(self.next_up_to[source], torch.rand(batch, 1)).squeeze(1)
        return sequences, query, label

    def direction(self, batch):
        """Of V (N x N); of the attention of every sample (batch x T) and its query."""
        sequences, query, label = self.sample(batch)
        seen = torch.zeros(batch, self.tokens).scatter_add_(1, sequences, self.A[query])
        error = -(seen @ self.V.T)
        error[torch.arange(batch), label] += 1
        of_values = (error.T @ seen) / batch / self.mu
        of_values -= of_values.mean(0)
        of_values -= (of_values @ self.mu)[:, None]
        pull = (error @ self.V) / self.mu[query][:, None] / batch
        of_attention = torch.gather(pull, 1, sequences)
        of_attention -= of_attention.mean(1, keepdim=True)
        return of_values, of_attention, query

    def step(self, batch, rate):
        of_values, of_attention, query = self.direction(batch)
        self.A.index_add_(0, query, of_attention, alpha=rate)
        self.V.add_(of_values, alpha=rate)

    def expected(self):
        """Directions of V and A (N x T), in expectation."""
        mean = self.mu[:, None]
        target, moved = self.P - mean, self.V - mean
        product = torch.einsum("ik,ik,k->", moved, target, self.mu)
        square = torch.einsum("ik,ik,k->", moved, moved, self.mu)
        context = torch.zeros_like(self.A).scatter_(1, self.place, self.law)
        overlap = ((self.A * context).sum(1) * self.mu).sum()
        size = ((self.A ** 2).sum(1) * self.mu).sum()
        share = 1 / self.positions
        return (overlap * target - size * moved,
                product * (context - share) - square * (self.A - share))


def self_test():
    """The mean of sampled directions is the expected one, within five standard errors."""
    torch.manual_seed(3)
    bigrams = Bigrams(3, 12, 2, 1)
    bigrams.V = bigrams.V + 0.5 * (bigrams.P - bigrams.mu[:, None])
    bigrams.A += 0.3 * (torch.zeros_like(bigrams.A).scatter_(1, bigrams.place, bigrams.law) - 1 / 12)
    parts = []
    for _ in range(200):
        of_values, of_attention, query = bigrams.direction(2000)
        attention = torch.zeros_like(bigrams.A).index_add_(0, query, of_attention)
        parts.append(torch.cat([of_values.flatten(), attention.flatten()]))
    parts = torch.stack(parts)
    expected = torch.cat([part.flatten() for part in bigrams.expected()])
    error = parts.std(0) / len(parts) ** 0.5
    worst = ((parts.mean(0) - expected).abs() / error).max().item()
    assert worst < 5, f"{worst:.1f} standard errors apart"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(options.threads)
    if options.self_test:
        self_test()
        return
    torch.manual_seed(options.seed)
    bigrams = Bigrams(20, 5000, 2, options.seed)
    with torch.no_grad():
        for step in range(options.steps + WARM_UP):
            if step == WARM_UP:
                began = time.perf_counter()
            bigrams.step(64, 0.01)
    print(json.dumps({"steps_per_second": options.steps / (time.perf_counter() - began),
                      "version": torch.__version__, "threads": options.threads}))


if __name__ == "__main__":
    main()
