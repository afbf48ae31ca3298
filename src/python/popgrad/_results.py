"""What calls give back: arrays with names, documents with methods, all of which draw themselves."""

from __future__ import annotations

import csv
import decimal
import fractions
import html
import io
import json
import math
from typing import Any, Dict, Iterator, Optional, Sequence

import numpy as np

from . import _plots
from ._call import Array


def _numbers(value: Any) -> Any:
    """Parameters are kept as the texts they were given in; here as numbers where they are."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, str):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                pass
    return value


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("popgrad: to_pandas needs pandas (Debian: python3-pandas); the arrays are "
                          "there without it") from None
    return pandas


def _html_table(header: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> str:
    def cell(tag: str, value: Any) -> str:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        return f"<{tag}>{html.escape(text)}</{tag}>"

    head = "".join(cell("th", name) for name in header)
    body = "".join("<tr>" + "".join(cell("td", value) for value in row) + "</tr>" for row in rows)
    return (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            + (f"<p>{html.escape(note)}</p>" if note else ""))


class Result:
    """What every result has.

    ``text`` is what the command prints, ``notes`` what else it says, ``status`` its exit status,
    ``command`` the line that makes the result again (an instance given as a dictionary is the file
    ``instance`` there).
    """

    def __init__(self, answer: dict[str, Any], command: str) -> None:
        self.text: str = answer["output"]
        self.notes: str = answer["notes"]
        self.command: str = command
        self.status: int = answer["status"]

    def __repr__(self) -> str:
        return f"<popgrad.{type(self).__name__} of {self.command}>"

    def __str__(self) -> str:
        return self.text or repr(self)


class Run(Result):
    """One trajectory, or an ensemble of a random rung.

    ``run["loss"]`` is an array over the save points (times), of an ensemble (runs, times); ``t`` is
    (times). All columns are views of ``values`` (columns, runs, times), numbers that are not copied.
    Runs that stopped before others are NaN behind their end. ``states`` is (runs, times, n), or None
    without ``states=True``; ``state("V_0_1")`` one component.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        made = answer["run"]
        super().__init__(answer, made["command"])
        self.model: str = made["model"]
        self.rung: str = made["rung"]
        self.columns: list[str] = made["columns"]
        self.state_names: list[str] = made["state_names"]
        self.seed: int = made["seed"]
        self.parameters: dict[str, Any] = _numbers(json.loads(made["parameters"]))
        self.settings: dict[str, Any] = json.loads(made["settings"])
        self.events: list[dict[str, Any]] = made["events"]
        self.outcomes: list[dict[str, Any]] = made["outcomes"]
        self.ensemble: bool = made["ensemble"]
        if answer["digits"]:
            def exact(texts: list[str]) -> Array:
                return np.array([decimal.Decimal(x) for x in texts], dtype=object)

            self.t: Array = exact(made["t"])
            self.values: Array = np.empty((len(self.columns), 1, len(self.t)), dtype=object)
            for c, texts in enumerate(made["values"]):
                self.values[c, 0] = exact(texts)
            self.states: Optional[Array] = None
            if made["states"] is not None:
                self.states = np.stack([exact(state) for state in made["states"]])[np.newaxis]
        else:
            self.t, self.values, self.states = made["t"], made["values"], made["states"]

    def __getitem__(self, column: str) -> Array:
        """(times), of an ensemble (runs, times). KeyError with the columns that there are."""
        if column == "t":
            return self.t
        if column not in self.columns:
            raise KeyError(f"{column}; there are t, {', '.join(self.columns)}")
        values: Array = self.values[self.columns.index(column)]
        return values if self.ensemble else values[0]  # type: ignore[no-any-return]

    def state(self, name: str) -> Array:
        """One component of the state, shaped as a column."""
        if self.states is None:
            raise KeyError(f"{name}: no states were kept; run with states=True")
        if name not in self.state_names:
            raise KeyError(f"{name}; there are {', '.join(self.state_names[:12])}"
                           + (", ..." if len(self.state_names) > 12 else ""))
        values: Array = self.states[:, :, self.state_names.index(name)]
        return values if self.ensemble else values[0]  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        runs = f"{self.values.shape[1]} runs, " if self.ensemble else ""
        end = f" to t = {float(self.t[-1]):.6g}" if len(self.t) else ""
        return f"<popgrad.Run {self.model} {self.rung}: {runs}{len(self.t)} times{end}>"

    __str__ = __repr__

    def to_pandas(self) -> Any:
        """A DataFrame with the columns of the CSV of ``popgrad run``: run (ensembles), t, observables,
        states."""
        runs, times = self.values.shape[1:]
        data: dict[str, Any] = {}
        if self.ensemble:
            data["run"] = np.repeat(np.arange(runs), times)
        data["t"] = np.tile(self.t, runs)
        for c, column in enumerate(self.columns):
            data[column] = self.values[c].reshape(-1)
        if self.states is not None:
            for k, name in enumerate(self.state_names):
                data[name] = self.states[:, :, k].reshape(-1)
        frame = _pandas().DataFrame(data)
        if not self.ensemble:
            return frame
        # Rows that a run did not reach.
        return frame[~frame[self.columns].isna().all(axis=1)].reset_index(drop=True)

    def plot(self, columns: Optional[Sequence[str]] = None, axes: Any = None) -> Any:
        """A panel for each of the columns (default: the first six); of an ensemble the mean with a band
        of one standard deviation, of ``moments`` what it predicts of both. Returns the axes."""
        return _plots.run(self, columns, axes)

    def _repr_html_(self) -> str:
        values = [[float(self.t[-1]), *(float(np.mean(self.values[c, :, -1]))
                                        for c in range(len(self.columns)))]] if len(self.t) else []
        return _html_table(["t", *self.columns], values,
                           f"{self!r}: the last row{', mean of runs' if self.ensemble else ''}")


class Verdict(Dict[str, Any]):
    """One statement of the document of ``verify`` (src/presenting/verdicts.schema.json): a dictionary with
    ``id``, ``claim``, ``verdict``, ``hypotheses``, ``evidence``, ``margin``, ``controls``, ... that are
    attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def refuted(self) -> int:
        """How many controls came out as violated, as they have to; of a survey, on every instance."""
        return sum(control.get("verdict") == "violated" or control.get("power") == 1
                   for control in self.get("controls", []))

    def tightest(self) -> Optional[dict[str, Any]]:
        """The evidence nearest to failing: of the worst verdict, furthest off in units of what is allowed.
        None if nothing was compared within a bound."""
        worst = ["holds", "inconclusive", "violated"].index
        known: list[dict[str, Any]] = [e for e in self.get("evidence", [])
                                       if e["kind"] != "report" and (e["measured"], e["allowed"]) != (0, 0)]

        def share(e: dict[str, Any]) -> float:
            nothing_allowed = math.copysign(math.inf, e["measured"] or 0)
            return nothing_allowed if e["of_allowed"] is None else float(e["of_allowed"])

        return max(known, key=lambda e: (worst(e["verdict"]), share(e))) if known else None

    def __repr__(self) -> str:
        return f"<{self['id']}: {self['verdict']}>"


class Verdicts(Result):
    """Verdicts on statements, in their order: a sequence, and a mapping by id."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.document: dict[str, Any] = json.loads(answer["document"])
        super().__init__(answer, self.document["command"])
        self.statements = [Verdict(s) for s in self.document["statements"]]

    @property
    def summary(self) -> dict[str, int]:
        counts: dict[str, int] = self.document["summary"]
        return counts

    @property
    def holds(self) -> bool:
        """Whether the command would exit with 0: nothing violated, no control that was not refuted,
        nothing inconclusive."""
        return self.status == 0

    def __len__(self) -> int:
        return len(self.statements)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.statements)

    def __getitem__(self, key: Any) -> Verdict:
        if isinstance(key, int):
            return self.statements[key]
        for statement in self.statements:
            if statement["id"] == key:
                return statement
        raise KeyError(f"{key}; there are {', '.join(s['id'] for s in self.statements)}")

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.summary.items() if n)
        return f"<popgrad.Verdicts: {counts}>"

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        if any("instances" in s for s in self.statements):
            counts = ["examined", "holds", "violated", "inconclusive", "not-applicable"]
            return ["statement", "verdict", *counts, "refuted", "claim"], [
                [s["id"], s["verdict"], *(s.get("instances", {}).get(name, 0) for name in counts),
                 f"{s.refuted}/{len(s['controls'])}", s["claim"]] for s in self.statements]
        rows = []
        for s in self.statements:
            tight = s.tightest()
            kinds = ", ".join(dict.fromkeys(e["kind"] for e in s.get("evidence", [])))
            rows.append([s["id"], s["verdict"], kinds,
                         float(tight["of_allowed"]) if tight and tight["of_allowed"] is not None else math.nan,
                         tight["largest_part"] if tight else "",
                         f"{s.refuted}/{len(s.get('controls', []))}", s["claim"]])
        return ["statement", "verdict", "evidence", "of_allowed", "largest_part", "refuted", "claim"], rows

    def to_pandas(self) -> Any:
        """A row a statement: verdict, kinds of evidence, `of_allowed` and `largest_part` of the evidence nearest to
        failing, controls refuted; of a survey (seeds=N) counts of its instances."""
        header, rows = self._table()
        return _pandas().DataFrame(rows, columns=header)

    def plot(self, axes: Any = None) -> Any:
        """Off/allowed of every piece of evidence, a row a statement. Returns the axes."""
        return _plots.verdicts(self, axes)

    def _repr_html_(self) -> str:
        return _html_table(*self._table(), repr(self)[1:-1])


class Comparison(Result):
    """A rung against recorded runs, or against another rung.

    ``verdict`` is "consistent", "departs" or "inconclusive" (a fault of a tenth of the learning rate
    would not have been found), or None where nothing is judged: two rungs, or a clock that is fitted.
    ``settings`` has an entry for the learning rate and every suspect (assumed, estimate, smallest fault
    that would have been found), ``fits`` what would explain runs that depart. ``comparison[name]`` is
    a column (times) of the table: ``loss_expected``, ``loss_band``, ``loss_recorded_0``,
    ``loss_deviation_0``, ...; of two rungs ``loss_sgd``, ``loss_flow``.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        made = answer["run"]
        super().__init__(answer, made["command"] if made else "")
        self.columns: list[str] = made["columns"] if made else []
        self.t: Array = made["t"] if made else np.empty(0)
        self.values: Array = made["values"] if made else np.empty((0, 1, 0))
        self.title: str = (f"{made['model']} {made['rung']}" if made
                           else answer["output"].split(":")[0])
        judgement = json.loads(made["judgement"]) if made and made["judgement"] else {}
        self.judgement: dict[str, Any] = judgement
        self.verdict: Optional[str] = judgement.get("verdict")
        self.level: Optional[float] = judgement.get("level")
        self.settings: dict[str, dict[str, Any]] = {
            s["setting"]: s for s in judgement.get("settings", [])}
        self.fits: list[dict[str, Any]] = judgement.get("fits", [])

    @property
    def consistent(self) -> Optional[bool]:
        """False where the runs depart; None where nothing is judged."""
        return None if self.verdict is None else self.verdict != "departs"

    @property
    def first_outside(self) -> Optional[float]:
        """The first time at which an observable of a run leaves its band; None if none does (runs can
        depart as wholes all the same)."""
        times = [o["first_outside"] for run in self.judgement.get("runs", [])
                 for o in run["observables"] if o["first_outside"] is not None]
        return min(times) if times else None

    @property
    def observables(self) -> list[str]:
        """Names of what was compared."""
        return list(dict.fromkeys(o["observable"] for run in self.judgement.get("runs", [])
                                  for o in run["observables"]))

    def __getitem__(self, column: str) -> Array:
        if column == "t":
            return self.t
        if column not in self.columns:
            raise KeyError(f"{column}; there are t, {', '.join(self.columns)}")
        values: Array = self.values[self.columns.index(column), 0]
        return values

    def __repr__(self) -> str:
        return f"<popgrad.Comparison {self.title}: {self.verdict or 'not judged'}>"

    def to_pandas(self) -> Any:
        """The table as a DataFrame: t, then ``columns``."""
        return _pandas().DataFrame({"t": self.t, **{c: self[c] for c in self.columns}})

    def plot(self, axes: Any = None) -> Any:
        """A panel an observable: what is expected, its band, the recorded runs, where they first leave
        it. Returns the axes."""
        return _plots.comparison(self, axes)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Searches(Result):
    """Searches for counterexamples: ``searches`` is a list of dictionaries with ``id``, ``control``,
    ``falsified``, ``smallest``, ``counterexample``, ``shrunk`` and every trial
    (src/presenting/searches.schema.json)."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.document: dict[str, Any] = json.loads(answer["document"])
        super().__init__(answer, self.document["command"])
        self.searches: list[dict[str, Any]] = self.document["searches"]

    @property
    def falsified(self) -> list[dict[str, Any]]:
        return [s for s in self.searches if s["falsified"]]

    def __len__(self) -> int:
        return len(self.searches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.searches)

    def __getitem__(self, k: int) -> dict[str, Any]:
        return self.searches[k]

    def __repr__(self) -> str:
        return f"<popgrad.Searches: {len(self.falsified)} of {len(self)} falsified>"

    def to_pandas(self) -> Any:
        """A row a trial: id, control, seed, verdict, margin, of_allowed, what, and the knobs."""
        return _pandas().DataFrame([
            {"id": s["id"], "control": s["control"],
             **{k: v for k, v in trial.items() if k != "point"}, **trial["point"]}
            for s in self.searches for trial in s["trials"]])

    def plot(self, axes: Any = None) -> Any:
        """Off/allowed of every trial, and the largest so far. Returns the axes."""
        return _plots.searches(self, axes)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def _fraction(text: Any) -> Any:
    return fractions.Fraction(text) if isinstance(text, str) else text


class Landscape(Result):
    """Loss over two coordinates, such as two weights alpha and beta.

    ``minimum`` has alpha, beta and value; ``certificate`` bounds the minimum over the box, with exact
    numbers as ``fractions.Fraction``: lower, upper, alpha, beta. ``values[j, i]`` is the loss at
    ``(alphas[i], betas[j])``, with ``grid=n`` (n, n), else (0, 0). ``points`` are those of ``at``.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        self.document: dict[str, Any] = json.loads(answer["document"])
        super().__init__(answer, self.document["command"])
        self.minimum: Optional[dict[str, float]] = self.document["minimum"]
        self.certificate: Optional[dict[str, Any]] = None
        if self.document["certificate"] is not None:
            exact = ("lower", "upper", "alpha", "beta")
            self.certificate = {key: _fraction(value) if key in exact else value
                                for key, value in self.document["certificate"].items()}
        self.points: list[dict[str, Any]] = [
            {key: _fraction(value) for key, value in point.items()}
            for point in self.document["points"]]
        self.alphas: Array = answer["xs"]
        self.betas: Array = answer["ys"]
        self.title: str = answer["title"]
        self.values: Array = answer["values"].reshape(len(self.betas), len(self.alphas))

    def __repr__(self) -> str:
        least = f"minimum {self.minimum['value']:.6g}" if self.minimum else "no minimum asked for"
        return f"<popgrad.Landscape: {least}, grid {self.values.shape}>"

    def to_pandas(self) -> Any:
        """A row a grid point: alpha, beta, value."""
        alphas, betas = np.meshgrid(self.alphas, self.betas)
        return _pandas().DataFrame({"alpha": alphas.reshape(-1), "beta": betas.reshape(-1),
                                    "value": self.values.reshape(-1)})

    def plot(self, axes: Any = None) -> Any:
        """Contours of the grid with the certified minimum. Throws ValueError without a grid. Returns the
        axes."""
        return _plots.landscape(self, axes)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


class Table(Result):
    """A table of a sweep or of a slice: ``table[name]`` is an array (rows), of numbers where all of the
    column are numbers, of texts otherwise; an empty field is NaN."""

    def __init__(self, answer: dict[str, Any], command: str, axes: Sequence[str]) -> None:
        super().__init__(answer, command)
        rows = list(csv.reader(io.StringIO(answer["table"])))
        self.columns: list[str] = rows[0] if rows else []
        self.axes = [name for name in axes if name in self.columns]
        self.data: dict[str, Array] = {}
        for c, name in enumerate(self.columns):
            texts = [row[c] for row in rows[1:]]
            try:
                self.data[name] = np.array([float(x) if x else math.nan for x in texts])
            except ValueError:
                self.data[name] = np.array(texts)

    def __getitem__(self, column: str) -> Array:
        if column not in self.data:
            raise KeyError(f"{column}; there are {', '.join(self.columns)}")
        return self.data[column]

    def __len__(self) -> int:
        return len(next(iter(self.data.values()), []))

    def __repr__(self) -> str:
        return f"<popgrad.Table: {len(self)} rows of {', '.join(self.columns)}>"

    __str__ = __repr__

    def to_pandas(self) -> Any:
        """The same as a DataFrame."""
        return _pandas().DataFrame(self.data)

    def plot(self, column: Optional[str] = None, axes: Any = None) -> Any:
        """A column (default: the first that is no axis) over the first axis, a curve for every value of
        the others. Returns the axes."""
        return _plots.table(self, column, axes)

    def _repr_html_(self) -> str:
        rows = [[self.data[c][k].item() for c in self.columns] for k in range(min(len(self), 50))]
        return _html_table(self.columns, rows, f"{len(self)} rows" if len(self) > 50 else "")
