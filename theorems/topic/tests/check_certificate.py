#!/usr/bin/env python3
"""Accepts or rejects a certificate that `popgrad landscape topic -o FILE.json` wrote.

Exact fractions, standard library only. The loss is made anew from the parameters and W_V; on every leaf
(L - level) N_0^2 N_1^2 must have Bernstein coefficients > 0 for level = upper ("above"), or >= 0 for
level = lower ("near"). Every other field is checked as well, or refused: names, types and forms are those of
landscape.schema.json, the law is one, the box has an inside, the box of minimisers is that of
the near leaves, W_V is what `value` names, top-level numbers are those of the certificate, points lie
on the surface. Only `command` and `version`, remarks, are taken as they are. Exit status 0: accepted, and what was
accepted is printed; 1: rejected; 2: not a certificate (no JSON, names twice, no numbers, another document).
"""
import json
import math
import re
import sys
from fractions import Fraction as F
from math import comb


def multiply(f, g):
    h = {}
    for (i, j), a in f.items():
        for (k, l), b in g.items():
            h[i + k, j + l] = h.get((i + k, j + l), 0) + a * b
    return h


def combine(*terms):
    h = {}
    for factor, f in terms:
        for key, a in f.items():
            h[key] = h.get(key, 0) + factor * a
    return h


def landscape(par, given):
    """Constant, and for x = 0, 1 the polynomials Q, P, N of L = c + sum Q/N^2 - P/N."""
    T, tau, v = par["T"], par["tau"], par["v"]
    pm, pc, pr, words = F(par["p_m"]), F(par["p_c"]), F(par["p_r"]), T * v
    topic = lambda word: (word - 1) // v
    if isinstance(given, dict):  # symmetric: one query stands for all
        w0, d, s, u = (F(given[k]) for k in ("w0", "diagonal", "same", "other"))
        entry = lambda i, j: w0 if j == 0 else d if i == j else s if topic(i) == topic(j) else u
        queries, W = [1], [[F(0)] * (words + 1)] + [[entry(i, j) for j in range(words + 1)] for i in range(1, words + 1)]
    else:
        queries, W = range(1, words + 1), [[F(x) for x in row] for row in given]
    b, p0 = pm * pr / words, pm * (1 - pc - pr)
    rise = (1 - (1 - pc) * pm) / (tau * v)
    blocks = [[sum(row[1 + t * v:1 + (t + 1) * v]) for row in W] for t in range(T)]
    dot = lambda f, g: sum(x * y for x, y in zip(f, g))
    gram = [[dot(f, g) for g in blocks] for f in blocks]
    onto = [[sum(f[1 + t * v:1 + (t + 1) * v]) for f in blocks] for t in range(T)]
    # [MASK] as query attends uniformly: E |W pt|^2 - 2 pt' W' p* + 1.
    e1, e2 = F(tau, T), F(tau * (tau - 1), T * (T - 1))
    base = [p0 * row[0] + b * sum(f[i] for f in blocks) for i, row in enumerate(W)]
    hidden = dot(base, base) + 1 - F(2, tau * v) * e1 * sum(base[1:])
    for t in range(T):
        hidden += 2 * rise * e1 * dot(base, blocks[t])
        for r in range(T):
            both = e1 if r == t else e2
            hidden += rise * rise * both * gram[t][r] - F(2, tau * v) * rise * both * onto[t][r]
    constant = pc + pr + (1 - pc - pr) * hidden
    parts = []
    for x in (0, 1):
        pi = b + rise * x
        m1 = F(tau - x, T - 1)
        m2 = m1 * F(tau - x - 1, T - 2) if T > 2 else F(0)
        correct, random = x * pc / len(queries), pr * (F(tau, T) if x else 1 - F(tau, T)) / len(queries)
        Q, P = {}, {}
        for i in queries:
            own, others = topic(i), [t for t in range(T) if t != topic(i)]
            rest = [sum(blocks[t][r] for t in others) for r in range(words + 1)]
            h = {(0, 0): [p0 * W[r][0] + b * rest[r] for r in range(words + 1)],
                 (1, 0): [pi * W[r][i] for r in range(words + 1)],
                 (0, 1): [pi * (blocks[own][r] - W[r][i]) for r in range(words + 1)]}
            square = {}
            for k1, f in h.items():
                square[k1] = square.get(k1, 0) + 2 * rise * m1 * dot(f, rest)
                for k2, g in h.items():
                    key = (k1[0] + k2[0], k1[1] + k2[1])
                    square[key] = square.get(key, 0) + dot(f, g)
            square[0, 0] += rise * rise * sum((m1 if t == r else m2) * gram[t][r] for t in others for r in others)
            Q = combine((1, Q), (correct + random, square))
            kept, hit = {key: f[i] for key, f in h.items()}, {}
            kept[0, 0] += rise * m1 * rest[i]
            for t in others + ([own] if x else []):
                weight = 1 if t == own else m1
                for key, f in h.items():
                    hit[key] = hit.get(key, 0) + weight * sum(f[1 + t * v:1 + (t + 1) * v])
                for r in others:
                    hit[0, 0] += rise * (m1 if t in (own, r) else m2) * onto[t][r]
            P = combine((1, P), (2 * correct, kept), (2 * random / (tau * v), hit))
        parts.append((Q, P, {(0, 0): 1 - v * pi, (1, 0): pi, (0, 1): (v - 1) * pi}))
    return constant, parts


def penalised_value(par, rise, b, p0):
    """W (C + lambda I) = c' for a row of W by its three numbers: column 0, its topic, other topics."""
    T, tau, v = par["T"], par["tau"], par["v"]
    e1, e2, target = F(tau, T), F(tau * (tau - 1), T * (T - 1)), F(1, tau * v)
    mean, of_pair = b + rise * e1, lambda e: b * b + 2 * b * rise * e1 + rise * rise * e
    rows = [[p0 * p0, v * p0 * mean, v * (T - 1) * p0 * mean, target * p0 * e1],
            [p0 * mean, v * of_pair(e1), v * (T - 1) * of_pair(e2), target * (b * e1 + rise * e1)],
            [p0 * mean, v * of_pair(e2), v * (of_pair(e1) + (T - 2) * of_pair(e2)), target * (b * e1 + rise * e2)]]
    for k in range(3):
        rows[k][k] += F(par["lambda"])
    for k in range(3):  # positive definite up to the scale of columns: pivots are not 0
        rows[k] = [x / rows[k][k] for x in rows[k]]
        rows = [row if row is rows[k] else [x - row[k] * y for x, y in zip(row, rows[k])] for row in rows]
    return dict(zip(("w0", "diagonal", "same", "other"), (rows[0][3], rows[1][3], rows[1][3], rows[2][3])))


def named_value(par, name):
    """W_V of a name, from its closed form; None for the name of a file."""
    T, v = par["T"], par["v"]
    pm, pc, pr = F(par["p_m"]), F(par["p_c"]), F(par["p_r"])
    a, b, p0 = 1 - (1 - pc) * pm, pm * pr / (T * v), pm * (1 - pc - pr)
    s = a / v + T * b
    if name == "block" and "lambda" in par:
        return penalised_value(par, a / (par["tau"] * v), b, p0)

    def member(u, spread):
        same = (1 / a + u - spread) / v
        return {"w0": -(b / a + u * s) / p0, "diagonal": same + spread, "same": same, "other": u / v}
    block = member(-(s * b / p0 ** 2 + F(1, v)) / (s ** 2 / p0 ** 2 + F(T, v)) / a, F(0))
    diagonal = member(F(0), 1 / a)
    if name == "block" or name == "diagonal":
        return block if name == "block" else diagonal
    if MIXTURE.fullmatch(name):
        theta = F(name[len("mixture:"):])
        return {k: (1 - theta) * block[k] + theta * diagonal[k] for k in block}
    return None


class Wrong(Exception):
    """A field that no certificate has; its text is the reason."""


MOST_WORDS, MOST_DIGITS, MOST_HALVINGS = 2000, 4000, 1000
FRACTION = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")
MIXTURE = re.compile(r"mixture:[-+]?([0-9]+/0*[1-9][0-9]*|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,2})?)")


def once(pairs):
    """An object without a name that occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)!r} occurs twice")
    return made


def finite(text):
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is no finite number")
    return float(text)


def load(path):
    with open(path, encoding="utf-8-sig") as file:
        data = json.load(file, object_pairs_hook=once, parse_float=finite, parse_constant=finite)
    if not isinstance(data, dict) or not str(data.get("schema")).startswith("popgrad/landscape/"):
        raise ValueError("no document of popgrad landscape")
    if "certificate" in data and data["certificate"] is None:
        raise ValueError("it was made without a certificate")
    return data


# Readers of one field each: a value that is not of the form raises Wrong. `at` is where the field stands.
def fields(**readers):
    def read(value, at):
        if not isinstance(value, dict):
            raise Wrong(f"{at or 'the document'} is no object")
        inside = f"{at}: " if at else ""
        for name in sorted(set(value) - set(readers)):
            raise Wrong(f"{inside}unknown field {name!r}")
        for name in sorted(set(readers) - set(value)):
            raise Wrong(f"{inside}no field {name!r}")
        for name, reader in readers.items():
            reader(value[name], f"{at}.{name}" if at else name)
    return read


def with_optional(name, reader, others):
    def read(value, at):
        if isinstance(value, dict) and name in value:
            reader(value[name], f"{at}.{name}")
            value = {k: x for k, x in value.items() if k != name}
        others(value, at)
    return read


def exactly(what):
    def read(value, at):
        if value != what or isinstance(value, bool):
            raise Wrong(f"{at} {value!r} is not {what!r}")
    return read


def of_type(*types):
    def read(value, at):
        if type(value) not in types:
            raise Wrong(f"{at} is not of the type {types[0].__name__}")
    return read


def form(pattern):
    def read(value, at):
        if not isinstance(value, str) or len(value) > MOST_DIGITS or not pattern.fullmatch(value):
            raise Wrong(f"{at} is not of its form")
    return read


def coordinate(value, at):
    if type(value) not in (int, float):
        fraction(value, at)
    elif abs(value) > 10 ** 50:
        raise Wrong(f"{at} is too large")


def many(reader, count=None):
    def read(value, at):
        if not isinstance(value, list) or not value or len(value) != (count or len(value)):
            raise Wrong(f"{at} is not a list of {count or 'some'} entries")
        for k, item in enumerate(value):
            reader(item, f"{at}[{k}]")
    return read


def leaf(value, at):
    many(of_type(str), 2)(value, at)
    if set(value[0]) - set("aAbB") or len(value[0]) > MOST_HALVINGS or value[1] not in ("above", "near"):
        raise Wrong(f"{at} is no leaf")


def table(value, at):
    if isinstance(value, dict):
        fields(w0=fraction, diagonal=fraction, same=fraction, other=fraction)(value, at)
    else:
        many(many(fraction, len(value) if isinstance(value, list) else None))(value, at)


fraction, whole, side = form(FRACTION), of_type(int), many(form(FRACTION), 2)
box = fields(alpha=side, beta=side)
document = fields(
    schema=exactly("popgrad/landscape/1"), version=of_type(str), command=of_type(str), value=of_type(str),
    parameters=with_optional("lambda", fraction, fields(
        T=whole, tau=whole, v=whole, p_m=fraction, p_c=fraction, p_r=fraction)),
    minimum=fields(alpha=coordinate, beta=coordinate, value=coordinate),
    certificate=fields(lower=fraction, upper=fraction, alpha=fraction, beta=fraction, box=box, on_line=of_type(bool),
                       minimisers=box, boxes=whole, evidence=exactly("exact"), leaves=many(leaf), W_V=table),
    points=lambda value, at: value == [] or many(fields(alpha=coordinate, beta=coordinate, value=coordinate))(value, at))


def read(data):
    """Raises Wrong unless every field has its form and the law is one."""
    document(data, "")
    par, c = data["parameters"], data["certificate"]
    pm, pc, pr = (F(par[k]) for k in ("p_m", "p_c", "p_r"))
    if not (1 <= par["tau"] < par["T"] and par["v"] >= 1):
        raise Wrong("parameters: T, tau, v are not 1 <= tau < T and v >= 1")
    if par["T"] * par["v"] > MOST_WORDS:
        raise Wrong(f"parameters: more than {MOST_WORDS} words, which is more than this program checks")
    if not (0 < pm <= 1 and pc >= 0 and pr >= 0 and pc + pr < 1):
        raise Wrong("parameters: p_m, p_c, p_r are not 0 < p_m <= 1, p_c, p_r >= 0 and p_c + p_r < 1")
    if not F(par.get("lambda", 1)) > 0 or "lambda" in par and data["value"] != "block":
        raise Wrong("parameters: lambda is not > 0, or not of W_V block")
    if not data["value"].isprintable():
        raise Wrong("value is no name of one line")
    if isinstance(c["W_V"], list) and len(c["W_V"]) != par["T"] * par["v"] + 1:
        raise Wrong("certificate.W_V has not a row and a column a word and [MASK]")
    for name in ("alpha", "beta"):
        low, high = (F(x) for x in c["box"][name])
        if not 0 <= low < high:
            raise Wrong(f"certificate.box.{name} is not 0 <= low < high")
        if F(c["minimisers"][name][0]) > F(c["minimisers"][name][1]):
            raise Wrong(f"certificate.minimisers.{name} is not low <= high")


def outside(data):
    """What is wrong beside the certificate's own inequalities, or None."""
    c, given = data["certificate"], data["certificate"]["W_V"]
    named = named_value(data["parameters"], data["value"])
    if isinstance(given, dict) != (named is not None) or named and named != {k: F(x) for k, x in given.items()}:
        return "W_V is not the one that `value` names"
    if c["boxes"] != 2 * len(c["leaves"]) - 1:
        return "number of boxes is not that of these leaves"
    for name, exact in (("alpha", "alpha"), ("beta", "beta"), ("value", "upper")):
        if abs(F(data["minimum"][name]) - F(c[exact])) > abs(F(c[exact])) / 10 ** 15:
            return f"minimum: {name} is not {exact} of the certificate"
    return None


def off_the_surface(points, constant, parts):
    """A point whose value is not the loss there, or None. Fractions exactly, decimals to 1e-9."""
    floats = [[{key: float(a) for key, a in f.items()} for f in part] for part in parts]
    for point in points:
        if len({isinstance(x, str) for x in point.values()}) > 1:
            return point
        exact = isinstance(point["value"], str)
        alpha, beta, value = ((F if exact else float)(point[k]) for k in ("alpha", "beta", "value"))
        at = lambda f: sum(a * alpha ** i * beta ** j for (i, j), a in f.items())
        loss = (constant if exact else float(constant)) + sum(
            at(Q) / at(N) ** 2 - at(P) / at(N) for Q, P, N in (parts if exact else floats))
        if loss != value if exact else not abs(loss - value) <= 1e-9 * abs(value):
            return point
    return None


def bernstein(f, box, degree=4):
    def one(c, low, high):  # by substitution
        shifted = [sum(c[i] * comb(i, k) * low ** (i - k) for i in range(k, degree + 1)) * (high - low) ** k
                   for k in range(degree + 1)]
        return [sum(shifted[k] * F(comb(i, k), comb(degree, k)) for k in range(i + 1)) for i in range(degree + 1)]
    table = [one([f.get((i, j), F(0)) for j in range(degree + 1)], *box[1]) for i in range(degree + 1)]
    return [x for column in zip(*table) for x in one(column, *box[0])]


def check(data):
    read(data)
    wrong = outside(data)
    if wrong:
        return wrong
    c = data["certificate"]
    lower, upper, alpha, beta = (F(c[k]) for k in ("lower", "upper", "alpha", "beta"))
    box = [[F(x) for x in c["box"][k]] for k in ("alpha", "beta")]
    constant, parts = landscape(data["parameters"], c["W_V"])
    value = lambda f: sum(a * alpha ** i * beta ** j for (i, j), a in f.items())
    if constant + sum(value(Q) / value(N) ** 2 - value(P) / value(N) for Q, P, N in parts) != upper:
        return "upper is not the loss at (alpha, beta)"
    if not (lower <= upper and box[0][0] <= alpha <= box[0][1] and box[1][0] <= beta <= box[1][1]):
        return "lower, upper or the point are out of order"
    if min(box[0][0], box[1][0]) < 0 or any(a < 0 for _, _, N in parts for a in N.values()):
        return "the box reaches weights below 0"
    wrong = off_the_surface(data["points"], constant, parts)
    if wrong:
        return f"the loss is another at the point {wrong}"
    if c["on_line"]:
        w, line = data["parameters"]["v"] - 1, lambda f: {(i, 0): f.get((i, 0), F(0)) for i in range(3)}
        if any(a != line(f)[i + j, 0] * comb(i + j, j) * w ** j
               for part in parts for f in part for (i, j), a in f.items()):
            return "the loss does not depend on alpha + (v - 1) beta alone"
        parts = [tuple(line(f) for f in part) for part in parts]
        box = [[box[0][k] + w * box[1][k] for k in (0, 1)], [F(0), F(0)]]
    (Q0, P0, N0), (Q1, P1, N1) = parts
    S0, S1 = multiply(N0, N0), multiply(N1, N1)
    bottom = multiply(S0, S1)
    top = combine((constant, bottom), (1, multiply(combine((1, Q0), (-1, multiply(P0, N0))), S1)),
                  (1, multiply(combine((1, Q1), (-1, multiply(P1, N1))), S0)))
    levels = {"above": combine((1, top), (-upper, bottom)), "near": combine((1, top), (-lower, bottom))}
    paths = sorted(path for path, _ in c["leaves"])
    # Halvings: leaves tile the box if none is part of another and their shares add up to 1.
    if any(b.startswith(a) for a, b in zip(paths, paths[1:])) or sum(F(1, 2 ** len(p)) for p in paths) != 1:
        return "the leaves do not tile the box"
    halvings, near = {}, []
    for path, kind in c["leaves"]:
        part = [list(side) for side in box]
        for depth, letter in enumerate(path):
            if halvings.setdefault(path[:depth], letter.lower()) != letter.lower():
                return "a box is halved in two ways"
            side = part["ab".index(letter.lower())]
            side[0 if letter.isupper() else 1] = sum(side) / 2
        c4 = bernstein(levels[kind], part)
        if min(c4) < 0 or (kind == "above" and min(c4) == 0):
            return f"leaf {path or '(whole)'} is not {kind}"
        if kind == "near":
            near.append(part)
    hull = [[min(p[k][0] for p in near), max(p[k][1] for p in near)] for k in (0, 1)]
    if hull != [[F(x) for x in c["minimisers"][k]] for k in ("alpha", "beta")]:
        return "the box of minimisers is not that of the near leaves"
    return None


def accepted(data):
    par, c = data["parameters"], data["certificate"]
    text = lambda side: f"[{float(F(side[0])):.6g}, {float(F(side[1])):.6g}]"
    lines = ["accepted", "law          " + ", ".join(f"{k} = {par[k]}" for k in ("T", "tau", "v", "p_m", "p_c", "p_r", "lambda") if k in par),
             f"W_V          {data['value']}",
             f"box          alpha in {text(c['box']['alpha'])}, beta in {text(c['box']['beta'])}",
             f"minimum      of the box in [{float(F(c['lower'])):.12g}, {float(F(c['upper'])):.12g}], "
             f"the upper end taken at ({float(F(c['alpha'])):.9g}, {float(F(c['beta'])):.9g})"]
    where = f"alpha in {text(c['minimisers']['alpha'])}, beta in {text(c['minimisers']['beta'])}"
    if c["on_line"]:
        where = f"on alpha + {par['v'] - 1} beta in {text(c['minimisers']['alpha'])}"
    return "\n".join([*lines, "minimisers   " + where])


def verdict(path):
    """What to print, and the exit status."""
    try:
        data = load(path)
    except (OSError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        return f"not a certificate: {reason}", 2
    try:
        reason = check(data)
    except Wrong as error:
        reason = str(error)
    except ArithmeticError:
        reason = "a number is too large, or a weight divides by 0"
    return (f"rejected: {' '.join(reason.split())}", 1) if reason else (accepted(data), 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check_certificate.py FILE.json")
    text, status = verdict(sys.argv[1])
    print(text)
    sys.exit(status)
