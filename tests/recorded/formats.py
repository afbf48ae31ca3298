#!/usr/bin/env python3
"""Runs of the JoMA model (joma.json, NumPy) in the formats that trainers log, into the folder formats.

    python3 tests/recorded/formats.py
    python3 tests/recorded/formats.py --trained-at 0.11 --into FOLDER --judge build/popgrad

The second has another learning rate than it logs, and judges each file by the command of README.md; it also writes and
judges downloads and tables that README.md has under Formats.
"""

import argparse
import csv
import json
import math
import pathlib
import re
import shlex
import struct
import subprocess

import numpy

HERE = pathlib.Path(__file__).parent
RATE, BATCH, STEPS, EVERY = 0.1, 8, 600, 10
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--trained-at", type=float, default=RATE, help="learning rate of the steps (0.1)")
parser.add_argument("--into", type=pathlib.Path, default=HERE / "formats", help="folder that is there")
parser.add_argument("--judge", metavar="POPGRAD", help="program that judges what was written")
options = parser.parse_args()


def run(seed):
    """For each step: loss of its minibatch and entropy of attention, both before the step."""
    draw = numpy.random.default_rng(seed)
    law, W, z = (numpy.array(json.loads((HERE / "joma.json").read_text())[k]) for k in ("X", "W0", "z0"))
    for _ in range(STEPS + 1):
        label = draw.integers(law.shape[1], size=BATCH)
        b = law[:, label] * numpy.exp(z)[:, None]
        features = numpy.vstack([b, numpy.ones(BATCH)])
        scores = features.T @ W
        p = numpy.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        attention = numpy.exp(z) / numpy.exp(z).sum()
        yield (-numpy.log(p[numpy.arange(BATCH), label]).mean(),
               -(attention * numpy.log(attention)).sum())
        error = (numpy.eye(law.shape[1])[label] - p) / BATCH
        W, z = (W + options.trained_at * features @ error,
                z + options.trained_at * (b * (W[:-1] @ error.T)).sum(1))


def lines(name, rows):
    (options.into / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def table(name, header, rows):
    with open(options.into / name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


log = [list(run(seed)) for seed in range(1, 4)]
saved = range(0, STEPS + 1, EVERY)
clock = 1790000000.25

# SummaryWriter: records of length, checksum, event and checksum; numbers of 32 bits.
def checksum(data):
    """CRC-32C, rotated and shifted, as TensorFlow's record_writer.h has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)


def message(field, content):
    assert len(content) < 128
    return bytes([field << 3 | 2, len(content)]) + content


def record(step, body):
    steps = bytes([step]) if step < 128 else bytes([step & 127 | 128, step >> 7])
    event = b"\x09" + struct.pack("<d", clock + step) + b"\x10" + steps + body
    size = struct.pack("<Q", len(event))
    return size + checksum(size) + event + checksum(event)


def scalar(tag, number):
    return message(5, message(1, message(1, tag) + b"\x15" + struct.pack("<f", number)))


(options.into / "tensorboard").mkdir(exist_ok=True)
(options.into / "tensorboard/events.out.tfevents.1790000000.host.1.0").write_bytes(
    record(0, message(3, b"brain.Event:2"))
    + b"".join(record(k, scalar(b"train/loss", log[0][k][0])) + record(k, scalar(b"attn_ent", log[0][k][1]))
               for k in saved))

# wandb.Api().run(...).scan_history(): a metric that was not logged at a step is missing or null.
lines("wandb.jsonl", [{"_step": k, "_timestamp": clock + k, "_runtime": k / 8, "train/loss": log[n][k][0],
                       "attn_ent": log[n][k][1], "optim/lr": RATE, "val/loss": None, "run": f"sweep-{n}"}
                      for n in range(3) for k in saved])

# CSVLogger: steps from 0, logged at 9, 19, ...; validation has rows of its own.
rows = []
for k in range(EVERY - 1, STEPS, EVERY):
    rows.append([log[0][k][1], k // 100, k, log[0][k][0], ""])
    if k % 100 == 99:
        rows.append(["", k // 100, k, "", 0.5])
table("metrics.csv", ["attn_ent", "epoch", "step", "train_loss", "val_loss"], rows)

# Trainer.save_state(): loss is the mean over the steps since the entry before, with four digits.
history = [{"attn_ent": log[0][k][1], "epoch": k / 100, "grad_norm": 1.0, "learning_rate": RATE,
            "loss": round(float(numpy.mean([row[0] for row in log[0][k - EVERY:k]])), 4), "step": k}
           for k in saved if k > 0]
history.insert(10, {"epoch": 1.0, "eval_loss": 0.5, "eval_runtime": 0.25, "step": 100})
history.append({"epoch": 6.0, "step": STEPS, "total_flos": 0.0, "train_loss": 0.5, "train_runtime": 60.0})
state = {"best_metric": None, "epoch": 6.0, "global_step": STEPS, "log_history": history,
         "logging_steps": EVERY, "max_steps": STEPS}
(options.into / "trainer_state.json").write_text(json.dumps(state, indent=2, sort_keys=True) + "\n")

# A loop of one's own that writes json.dumps of what it has.
lines("loop.jsonl", [{"step": k, "batch_loss": log[0][k][0], "attn_ent": log[0][k][1]} for k in saved])


def judged(words):
    made = subprocess.run([options.judge, *words, "-q"], capture_output=True, text=True)
    print(f"{words[words.index('--with') + 1]}: status {made.returncode}\n{made.stdout.split(chr(10) * 2)[0]}\n")


if options.judge:
    page = (HERE / "README.md").read_text().replace("\\\n", " ")
    for command in re.findall(r"^    \./run (compare .*tests/recorded/formats/.*)$", page, re.M):
        judged([word.replace("tests/recorded/formats", str(options.into)).replace("tests/recorded", str(HERE))
                for word in shlex.split(command)])

    # Of the rows that were logged: run, step, batch loss, attention entropy.
    rows = [[f"run-{n}", k, *log[n][k]] for n in range(3) for k in saved]
    first = [row for row in rows if row[0] == "run-0"]
    wanted = "--map attention_entropy=attn_ent,batch_loss=loss "
    # Name: header and rows as text, and what to add to the command.
    downloads = {}
    scalars = [[clock + k, k, entropy] for _, k, _, entropy in first]
    downloads["download.csv"] = (["Wall time", "Step", "Value"], scalars,
                                 "--map attention_entropy=Value --clock 0.1*Step")
    # Stopped after the row at 300, resumed from 200.
    downloads["resumed.csv"] = (["Wall time", "Step", "Value"], scalars[:31] + scalars[20:],
                                "--map attention_entropy=Value --clock 0.1*Step --restarts keep-last")
    downloads["table.csv"] = (["Name", "State", "step", "lr", "loss", "attn_ent", "Created"],
                              [[name, "finished", k, RATE, loss, entropy, "2026-09-01T03:17:05.000Z"]
                               for name, k, loss, entropy in rows], wanted + "--group Name --clock lr*step")
    shown = [f"run-{n} - attn_ent{end}" for n in range(3) for end in ("", "__MIN", "__MAX")]
    downloads["chart.csv"] = (["Step", *shown, "run-0 - val/loss"],
                              [[k, *(log[n][k][1] for n in range(3) for _ in range(3)), "" if k else "NaN"]
                               for k in saved],
                              "--runs-in-columns --map attention_entropy=attn_ent --clock 0.1*Step")
    downloads["blanks.csv"] = (["seed", "step", "lr", "loss", "attn_ent"],
                               [[name if k == 0 else "", k, RATE, loss, entropy] for name, k, loss, entropy in rows],
                               wanted + "--group seed --clock lr*step")
    downloads["semicolons.csv"] = (["step", "lr", "loss", "attn_ent"],
                                   [[k, *(str(x).replace(".", ",") for x in (RATE, loss, entropy))]
                                    for _, k, loss, entropy in first], wanted + "--clock lr*step")
    for name, (header, content, more) in downloads.items():
        kind = {"semicolons.csv": {"delimiter": ";"}, "table.csv": {"quoting": csv.QUOTE_ALL}}.get(name, {})
        encoding = "utf-8-sig" if name == "semicolons.csv" else "utf-8"
        with open(options.into / name, "w", newline="", encoding=encoding) as file:
            csv.writer(file, **kind).writerows([header, *content])
    late = [{"iter": k, "lr": RATE, **({"loss": loss, "attn_ent": entropy} if k >= 2 * EVERY else {})}
            for _, k, loss, entropy in first]
    late[4]["loss"], late[7]["attn_ent"] = math.nan, None
    lines("late.jsonl", late)
    downloads["late.jsonl"] = (None, None, wanted + "--clock lr*iter")
    for name, (_, _, more) in downloads.items():
        judged(["compare", "joma", "sgd", "--with", str(options.into / name), "--instance", str(HERE / "joma.json"),
                "--eta", str(RATE), "--batch", str(BATCH), *more.split()])
