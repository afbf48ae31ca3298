# %% [markdown]
# # A PyTorch loop that is watched
#
# `python3 watch_pytorch.py [FAULT]`: FAULT 0.05 makes the learning rate 5 % larger than the watch is told.

# %%
import sys

import torch

import popgrad

torch.set_default_dtype(torch.float64)
fault = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
instance = {"X": torch.tensor([[0.5, 0.05], [0.1, 0.55], [0.1, 0.1], [0.3, 0.3]]),  # P(token | class)
            "W0": torch.tensor([[0.02, -0.01], [-0.01, 0.03], [0.01, 0.02], [0.01, -0.02], [0.0, 0.01]]),
            "z0": torch.tensor([0.01, -0.02, 0.0, 0.01])}
law, lr, batch = instance["X"], 0.1, 8
watch = popgrad.Watch("joma", instance, eta=lr, batch=batch, on_departure=lambda found, step: print(
    f"departs: callback at step {step}, seed {seed}; first outside a band at t = "
    f"{found.first_outside}"))

for seed in (1, 2, 3):
    torch.manual_seed(seed)
    weights, logits = (instance[name].clone().requires_grad_() for name in ("W0", "z0"))
    optimiser = torch.optim.SGD([weights, logits], lr=lr * (1 + fault))
    for step in range(601):
        if step % 20 == 0:
            watch.log_state(step, run=seed, W0=weights, z0=logits)
        label = torch.randint(2, (batch,))
        attended = torch.cat([law[:, label] * torch.exp(logits)[:, None], torch.ones(1, batch)])
        loss = torch.nn.functional.cross_entropy(attended.T @ weights, label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

print(watch)
print(watch.verdict())
