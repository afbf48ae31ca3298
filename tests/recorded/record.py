"""What the recorded runs share: options, the loop over seeds and steps, the CSV."""

import argparse
import csv

import torch


def options(description, eta, batch, steps):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", required=True, help="CSV file to write")
    parser.add_argument("--eta", type=float, default=eta, help="learning rate")
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seeds", type=int, default=2, help="runs, with seeds 1, 2, ...")
    parser.add_argument("--save", type=int, default=40, help="log every so many steps")
    parser.add_argument("--label-noise", type=float, default=0.0,
                        help="probability that a label is replaced by a random one")
    parser.add_argument("--temperature", type=float, default=1.0, help="of the attention logits")
    return parser.parse_args()


def with_noise(labels, classes, probability):
    """Each label replaced, with this probability, by one drawn uniformly."""
    noisy = torch.rand(labels.shape) < probability
    return torch.where(noisy, torch.randint(classes, labels.shape), labels)


def record(chosen, make_model):
    """make_model() -> (step(), observe() -> {name: number}); a row every chosen.save steps."""
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    rows = []
    for seed in range(1, chosen.seeds + 1):
        torch.manual_seed(seed)
        step, observe = make_model()
        for k in range(chosen.steps + 1):
            if k % chosen.save == 0:
                with torch.no_grad():
                    numbers = {name: f"{float(value):.9g}" for name, value in observe().items()}
                rows.append({"seed": seed, "step": k, "lr": chosen.eta, **numbers})
            step()
    with open(chosen.out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
