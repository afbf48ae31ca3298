# %% [markdown]
# # Is my SGD doing what the theory says, and from when on not?
#
# The training loop is one's own (here NumPy; watch_pytorch.py has it in PyTorch). A `Watch` takes the
# matrices of the state every few steps, computes the observables, and judges.

# %%
import numpy as np

import popgrad

instance = {"X": [[0.5, 0.05], [0.1, 0.55], [0.1, 0.1], [0.3, 0.3]],  # P(token | class), (M, K)
            "W0": [[0.02, -0.01], [-0.01, 0.03], [0.01, 0.02], [0.01, -0.02], [0.0, 0.01]],
            "z0": [0.01, -0.02, 0.0, 0.01]}


def train(watch, learning_rate, seed, run=0, batch=8, steps=600, every=20):
    """JoMA by hand: exp attention on the tokens of sampled classes, one linear unit a class, bias."""
    law, generator = np.array(instance["X"]), np.random.default_rng(seed)
    weights, logits = np.array(instance["W0"]), np.array(instance["z0"])
    for step in range(steps + 1):
        if step % every == 0:
            watch.log_state(step, run=run, W0=weights, z0=logits)
            if watch.departure:
                return
        label = generator.integers(law.shape[1], size=batch)
        attended = law[:, label] * np.exp(logits)[:, None]
        features = np.vstack([attended, np.ones(batch)])
        scores = features.T @ weights
        error = np.exp(scores - scores.max(1, keepdims=True))
        error /= error.sum(1, keepdims=True)
        error[np.arange(batch), label] -= 1
        pull = (weights[:-1] @ error.T * attended).mean(1)
        weights -= learning_rate * features @ error / batch
        logits -= learning_rate * pull


# %% Right: three seeds, a verdict at the end, and how small a fault would have been found.
right = popgrad.Watch("joma", instance, eta=0.1, batch=8,
                      on_departure=lambda comparison, step: print("departs at step", step))
for seed in (1, 2, 3):
    train(right, 0.1, seed, run=seed)
verdict = right.verdict()
print(verdict)
rate = verdict.settings["learning rate"]
print(f"a learning rate {rate['would_have_been_found'] / rate['assumed']:.2%} off would have been found")
assert right.departure is None and verdict.consistent
verdict.plot()

# %% Wrong: the learning rate is 5 % larger than is said. The callback comes while training goes on.
told = []
wrong = popgrad.Watch("joma", instance, eta=0.1, batch=8,
                      on_departure=lambda comparison, step: told.append(step))
train(wrong, 0.105, seed=1)
step, comparison = wrong.departure
print(f"called back at step {step} of 600, after {wrong.looks} looks: {comparison.verdict}")
verdict = wrong.verdict()
print(verdict)
for fit in verdict.fits:
    print(f"  {fit['setting']} {fit['value']:.6g} in place of {fit['assumed']:g}: "
          f"{'explains the run' if fit['explains'] else fit['why_not'] or 'does not explain it'}")
assert told == [step]
