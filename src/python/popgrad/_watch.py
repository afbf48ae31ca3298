"""A training loop that is watched: is it doing what the theory says, and from when on not?"""

from __future__ import annotations

import csv
import difflib
import math
from typing import Any, Callable, Iterable, Optional, Union

import numpy as np

from ._call import Array, Path, Progress, plain
from ._errors import Error
from ._results import Comparison, _pandas
from ._theory import Instance, Observer, Theory


def _nearest(name: str, known: Iterable[str]) -> str:
    """"; did you mean 'NAME'?", or nothing."""
    for other in known:
        if other.casefold() == name.casefold():
            return f"; did you mean '{other}'?"
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


class Watch:
    """Records a training run and judges it against SGD of the theory, while it goes on.

        watch = popgrad.Watch(name, instance, eta=0.01, batch=64, on_departure=report)
        for step in range(2001):
            if step % 40 == 0:
                watch.log_state(step, A=A, B=B)    # or watch.log(step, loss=...)
            ...
        print(watch.verdict())

    ``model`` and ``instance`` are as for popgrad.theory (or a Theory), ``eta`` and ``batch`` how the run
    is meant to be made; time is eta * step. ``rung`` is what it is judged against. Further keywords are
    options of ``popgrad compare`` (optimiser, momentum, suspect, fresh_starts, ...), which also makes
    every judgement: this class keeps rows and asks.

    ``on_departure(comparison, step)`` is called once, at the first check that finds the rows logged so
    far to depart; it may raise to end the training. Looks are taken when ``first_look`` rows are there and
    whenever their number has grown by the factor ``growth``. Look k has the share 6/(pi k)^2 of
    ``level``, so that a run of the theory is called departing with probability at most ``level``, however
    many looks there are. Without a callback none are taken. A look costs a little more than ``runs``
    runs to the step reached; with a growth of 1.25 all looks together cost five times the last.
    """

    def __init__(self, model: Union[str, Theory], instance: Instance = None, eta: Optional[float] = None,
                 batch: Optional[int] = None, *, rung: str = "sgd",
                 on_departure: Optional[Callable[[Comparison, int], Any]] = None,
                 level: float = 1e-3, first_look: int = 8, growth: float = 1.25, **options: Any) -> None:
        if isinstance(model, Theory):
            if instance is not None:
                raise Error("popgrad watch: instance: the theory has one already; give one of them")
            self.theory = model
        else:
            self.theory = Theory(model, instance)
        if eta is None or batch is None:
            raise Error("popgrad watch: give eta, the learning rate, and batch, the samples a step, that "
                        "the run is made with")
        if not (isinstance(eta, (int, float)) and 0 < eta < math.inf):
            raise Error(f"popgrad watch: eta {eta} must be > 0 and finite")
        if not 0 < level < 1:
            raise Error(f"popgrad watch: level {level} must be > 0 and < 1")
        if first_look < 2:
            raise Error(f"popgrad watch: first_look {first_look} must be >= 2 rows")
        if not growth > 1:
            raise Error(f"popgrad watch: growth {growth} must be > 1")
        if on_departure is not None and not callable(on_departure):
            raise Error(f"popgrad watch: on_departure {on_departure!r} must be a function of a comparison "
                        "and a step")
        self.eta, self.batch, self.rung, self.level = float(eta), batch, rung, level
        self.options = options
        self.on_departure = on_departure
        #: (step, comparison) of the first look at which the rows departed; None until then.
        self.departure: Optional[tuple[int, Comparison]] = None
        #: Looks taken so far.
        self.looks = 0
        self._growth = growth
        self._next_look = first_look
        self._observer: Optional[Observer] = None
        self._known = self._columns()
        self._rows: list[dict[str, float]] = []
        self._last: dict[int, int] = {}

    def _columns(self) -> list[str]:
        rungs = self.theory.rungs
        if self.rung not in rungs:
            raise Error(f"popgrad watch: rung '{self.rung}' is not one of {', '.join(rungs)}"
                        + _nearest(self.rung, rungs))
        # Columns that an instance adds (one a class, a layer) are made when the rung is.
        return self.observer.columns

    @property
    def observer(self) -> Observer:
        """Of the rung that the run is judged against."""
        if self._observer is None:
            self._observer = Observer(self.theory, self.rung)
        return self._observer

    def __len__(self) -> int:
        """Rows logged."""
        return len(self._rows)

    def __repr__(self) -> str:
        state = f"departed at step {self.departure[0]}" if self.departure else "no departure"
        return (f"<popgrad.Watch {self.theory.name} {self.rung}: {len(self)} rows, {self.looks} looks, "
                f"{state}>")

    def log(self, step: int, *, run: int = 0, **observables: Any) -> None:
        """A row: observables by name, numbers or tensors of one number, after ``step`` steps (0: before
        the first). Steps of a run ascend; ``run`` numbers runs of several seeds."""
        if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
            raise Error(f"popgrad watch: step {step!r} must be a whole number >= 0")
        if step <= self._last.get(run, -1):
            raise Error(f"popgrad watch: step {step} does not come after step {self._last[run]} of run "
                        f"{run}; number the runs of several seeds with run=")
        if not observables:
            raise Error("popgrad watch: no observable is given; " + self._allowed())
        row = {}
        for name, value in observables.items():
            if name not in self._known:
                raise Error(f"popgrad watch: '{name}' is not an observable of {self.rung}"
                            + (_nearest(name, self._known) or "; " + self._allowed()))
            number = np.asarray(plain(value), dtype=float)
            if number.size != 1:
                raise Error(f"popgrad watch: {name} of shape {number.shape} must be one number")
            row[name] = float(number.reshape(()))
        self._last[run] = int(step)
        self._rows.append({"run": run, "step": int(step), "lr": self.eta, **row})
        self._look_if_due(int(step))

    def log_state(self, step: int, *, run: int = 0, **state: Any) -> dict[str, float]:
        """A row with all observables of the state, which is given by the names of its matrices, arrays
        or tensors, such as ``A=..., B=...`` (see Observer). Returns the observables."""
        made = self.observer(t=self.eta * step, **state)
        self.log(step, run=run, **made)
        return made

    def _allowed(self) -> str:
        return f"{self.rung} has {', '.join(self._known)}"

    def columns(self) -> dict[str, Array]:
        """What was logged, as columns (rows): run, step, lr, observables; NaN where none was given."""
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        return {name: np.array([row.get(name, math.nan) for row in self._rows], dtype=float)
                for name in names}

    def _table(self) -> dict[str, Array]:
        # A number that was logged and is not finite is no number that was left out, which is NaN.
        return {name: np.array([math.inf if not math.isfinite(row.get(name, 0.0)) else row.get(name, math.nan)
                                for row in self._rows], dtype=float) for name in self.columns()}

    def to_pandas(self) -> Any:
        """The same as a DataFrame."""
        return _pandas().DataFrame(self.columns())

    def to_csv(self, path: Path) -> None:
        """A table for ``popgrad compare MODEL RUNG --with FILE --clock 'lr*step' --group run``."""
        names = list(self.columns())
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([[repr(row[name]) if name in row else "" for name in names]
                              for row in self._rows])

    def verdict(self, *, level: Optional[float] = None, progress: Progress = None,
                **options: Any) -> Comparison:
        """The judgement on all rows so far, at ``level`` by itself: what ``popgrad compare --with`` says
        of the CSV. Asking again and again while rows come in raises the chance of a false alarm; looks
        for ``on_departure`` are corrected for that."""
        if not any(row["step"] > 0 for row in self._rows):
            raise Error("popgrad watch: no row after step 0 is there; log some before asking")
        return self.theory._compare(self.rung, None, self._table(), "watch", progress, {
            "eta": self.eta, "batch": self.batch, "clock": "lr*step", "group": ["run"],
            "level": self.level if level is None else level, "no_ladder": True, "no_events": True,
            **self.options, **options})

    def _look_if_due(self, step: int) -> None:
        if self.on_departure is None or self.departure or len(self) < self._next_look:
            return
        if not any(row["step"] > 0 for row in self._rows):
            return
        self.looks += 1
        self._next_look = max(len(self) + 1, math.ceil(len(self) * self._growth))
        made = self.verdict(level=self.level * 6 / (math.pi * self.looks) ** 2)
        if made.consistent is False:
            self.departure = (step, made)
            self.on_departure(made, step)
