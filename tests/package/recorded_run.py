#!/usr/bin/env python3
"""SGD of one weight on least squares, in plain Python: the run that `compare --with` judges."""

import csv
import random
import sys

RATE, BATCH, STEPS, SAVE = 0.1, 256, 60, 2

with open(sys.argv[1], "w", newline="") as file:
    log = csv.writer(file)
    log.writerow(["seed", "step", "loss"])
    for seed in (1, 2, 3):
        draw = random.Random(seed)
        weight = 0.0
        for step in range(STEPS + 1):
            if step % SAVE == 0:
                log.writerow([seed, step, repr((1 - weight) ** 2 / 2)])
            inputs = [draw.gauss(0, 1) for _ in range(BATCH)]
            weight += RATE * sum(x * (x - weight * x) for x in inputs) / BATCH
