"""Theories by name, with an instance, and what can be asked of them."""

from __future__ import annotations

import decimal
import fractions
import functools
import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _popgrad
from ._call import (Array, Path, Progress, call, check_names, csv_of, document, instance_text, plain,
                    table_of, words_of)
from ._errors import Error
from ._results import Comparison, Landscape, Result, Run, Searches, Table, Verdicts
from ._toml import toml_of
from .formulas import recorded

Number = Union[int, float, str, fractions.Fraction, decimal.Decimal, None]
Numbers = Union[Sequence[Any], Array, str, None]
Instance = Union[None, Path, Mapping[str, Any]]


def _described(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = call(["list", name], lambda answer: json.loads(answer["document"]),
                                texts=texts)["models"][0]
    return made


@functools.lru_cache(maxsize=None)
def _catalogue(name: str) -> dict[str, Any]:
    return _described(name, {})


def _chosen(arguments: dict[str, Any], *others: str) -> dict[str, Any]:
    """Of the local names of a method those that are options of its command."""
    further = arguments.pop("options")
    return {**{name: value for name, value in arguments.items()
               if name not in ("self", "progress", *others)}, **further}


def _merged(instance: Instance, parameters: Mapping[str, Any]) -> Instance:
    if not parameters:
        return dict(instance) if isinstance(instance, Mapping) else instance
    if instance is None:
        return dict(parameters)
    if not isinstance(instance, Mapping):
        path = os.fspath(instance)
        try:
            with open(path, encoding="utf-8") as file:
                instance = dict(json.load(file, parse_float=decimal.Decimal))
        except OSError as error:
            raise Error(f"{path}: cannot be read ({error.strerror}); give a file that "
                        "exists") from None
        except ValueError as error:
            raise Error(f"{path}: is no instance file: {error}") from None
    return {**instance, **parameters}


class Theory:
    """A model with its statements, on one instance.

    ``name`` is one of ``theories()``, the path of a theory file (.toml), the text of one, or a dictionary of its
    sections, whose values may be arrays, and whose formulas may be functions (``popgrad.formulas``); ``to_toml()``
    gives the text.
    ``instance`` is a dictionary with the names of an instance file (numbers, texts, lists, NumPy
    arrays, tensors; ``fractions.Fraction`` and ``decimal.Decimal`` are exact), the path of such a file,
    or None for the defaults of the model. Parameters can be given as keywords as well.
    ``parameters`` has all of them, with their meaning, for every model. What is given is checked when it
    is used, by the rung that reads it.
    """

    def __init__(self, name: Union[Path, Mapping[str, Any]], instance: Instance = None,
                 **parameters: Any) -> None:
        given = toml_of(recorded(name)) if isinstance(name, Mapping) else name
        given = os.fspath(given) if isinstance(given, os.PathLike) else given
        is_text = isinstance(given, str) and "\n" in given
        #: Files in memory, by name, that commands of this theory read.
        self.texts: dict[str, str] = {"theory.toml": str(given)} if is_text else {}
        #: The word of commands for it.
        self.model_word = "theory.toml" if is_text else check_names("theory", [given])[0]
        self.is_file = self.model_word.endswith(".toml")
        # A file may change while the program runs.
        self._catalogue = (_described(self.model_word, self.texts) if self.is_file
                           else _catalogue(self.model_word))
        if not (instance is None or isinstance(instance, (str, os.PathLike, Mapping))):
            raise Error(f"popgrad theory: an instance of type {type(instance).__name__} must be a "
                        "dictionary or the path of an instance file")
        self.name: str = self._catalogue["name"]
        self.paper: str = self._catalogue["paper"]
        self.instance: Instance = _merged(instance, parameters)

    def to_toml(self) -> str:
        """The text of the theory's file; its parameters have the values that stand there. Throws Error for a theory
        that is none of a file."""
        if self.texts:
            return self.texts["theory.toml"]
        if not self.is_file:
            raise Error(f"popgrad theory: {self.name} is written in C++ and has no file")
        try:
            with open(self.model_word, encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            raise Error(f"{self.model_word}: cannot be read ({error.strerror})") from None

    def _repr_latex_(self) -> Optional[str]:
        """The field of ``flow``, for notebooks; None where it is no formula."""
        if not self.is_file:
            return None
        try:
            lines = self.equations("flow", format="latex")
        except Error:
            return None
        return "$$" + lines.replace("{align}", "{aligned}").strip() + "$$"

    @property
    def rungs(self) -> dict[str, dict[str, Any]]:
        """By name: kind, summary, cost, columns, defaults."""
        return {rung["name"]: rung for rung in self._catalogue["rungs"]}

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """By name: kind, default, meaning, and the rungs that read it."""
        return {p["name"]: p for p in self._catalogue["parameters"]}

    @property
    def statements(self) -> dict[str, dict[str, Any]]:
        """By id: claim, hypotheses, controls, knobs."""
        return {s["id"]: s for s in self._catalogue["statements"]}

    def __repr__(self) -> str:
        if self.instance is None:
            return f"popgrad.theory('{self.name if self.texts else self.model_word}')"
        what = (", ".join(self.instance) if isinstance(self.instance, Mapping)
                else os.fspath(self.instance))
        return f"<popgrad.Theory {self.name}: {what}>"

    def _words(self, command: str, positional: Sequence[str], options: Mapping[str, Any]) -> list[str]:
        return [command, self.model_word, *check_names(command, positional),
                *words_of(options, self.parameters)]

    def run(self, rung: str, *, t1: Number = None, steps: Number = None, eta: Number = None,
            batch: Optional[int] = None, runs: Optional[int] = None, optimiser: Optional[str] = None,
            momentum: Number = None, save: Optional[int] = None, save_at: Numbers = None,
            method: Optional[str] = None, rtol: Number = None, atol: Number = None,
            digits: Optional[int] = None, seed: Optional[int] = None, jobs: Optional[int] = None,
            states: bool = False, no_events: bool = False, output: Optional[Path] = None,
            progress: Progress = None, **options: Any) -> Run:
        """One trajectory of a rung, or with ``runs=R`` an ensemble of a random one.

        Keywords are the options of ``popgrad run`` and parameters of the model: t1 (time) or steps
        (where it ends), eta (learning rate), batch, runs, optimiser ("plain", "momentum", "adam"),
        momentum for walks; save=N equally spaced save points or save_at=[...] (times); method, rtol,
        atol, digits for flows; seed; jobs (threads); states=True keeps states, no_events=True looks for
        no events, output="run.npz" writes a file as well (.csv, .json, .npz).

        ``progress`` is True for a bar, or a function of the share done and a text; Ctrl-C ends the run
        and leaves what was computed in the ``partial`` of the KeyboardInterrupt. Other Python threads
        run meanwhile.

        Throws Error for bad input, NumericalError (with ``partial``) where the run is not usable.
        """
        options = _chosen(locals(), "rung")
        return call(self._words("run", [rung], options), Run, instance=self.instance,
                    texts=self.texts, progress=progress)

    def moments(self, *, progress: Progress = None, **options: Any) -> Run:
        """Mean and standard deviation (columns ``NAME`` and ``NAME_sd``, (times)) of the observables of
        SGD, predicted without an ensemble, for states of up to 512 numbers: eta, batch, t1 or steps;
        t1="inf" gives them at rest."""
        return self.run("moments", progress=progress, **options)

    def compare(self, rung: str, other: Optional[str] = None, *, run: Any = None, eta: Number = None,
                batch: Optional[int] = None, clock: Union[str, float, None] = None,
                group: Union[Sequence[str], str, None] = None,
                map: Union[Mapping[str, str], str, None] = None, level: Number = None,
                resolution: Number = None, suspect: Union[Sequence[str], str, None] = None,
                runs: Optional[int] = None, fresh_starts: bool = False, no_ladder: bool = False,
                t1: Number = None, steps: Number = None, optimiser: Optional[str] = None,
                momentum: Number = None, seed: Optional[int] = None, jobs: Optional[int] = None,
                output: Optional[Path] = None, progress: Progress = None,
                **options: Any) -> Comparison:
        """A rung against recorded runs, or against another rung.

        ``run`` is a DataFrame, a dictionary of arrays of one length (rows), the path of a .csv, .npz or
        .jsonl file, or a list of these; columns with the names of observables are compared. How the
        runs were made has to be said: eta, batch, clock (time as a formula over the columns, such as
        "lr*step"); group=["seed"] distinguishes runs in one table, map={"loss": "train_loss"} names
        columns, and only these observables are compared then. Further: restarts ("keep-last", ...),
        runs_in_columns, averaged, held_out, smoothed (how columns of samples were made), level,
        resolution, suspect, runs (of the ensemble, default 64), fresh_starts.
        details=True adds every test, run and observable, regimes and the other rungs to ``text``;
        no_ladder=True leaves out the other rungs. Without ``clock`` the clock is fitted and nothing is judged: ``verdict`` is None and
        ``text`` has the deviations.

        Throws Error for bad input, NumericalError where the rung cannot be run.
        """
        options = _chosen(locals(), "rung", "other", "run")
        return self._compare(rung, other, run, "run", progress, options)

    def _compare(self, rung: str, other: Optional[str], run: Any, name: str, progress: Progress,
                 options: Mapping[str, Any]) -> Comparison:
        """Tables in memory are files with that name, a number behind it if there are several."""
        tables, texts = {}, dict(self.texts)
        group = options.get("group") or []
        labels = [group] if isinstance(group, str) else list(group)
        if run is not None:
            given = run if isinstance(run, (list, tuple)) else [run]
            names = []
            for k, one in enumerate(given):
                if isinstance(one, (str, os.PathLike)):
                    names.append(os.fspath(one))
                    continue
                names.append(name if len(given) == 1 else f"{name}{k}")
                table = table_of(one, names[-1], labels)
                if any(column.dtype == object for column in table.values()):
                    texts[names[-1]] = csv_of(table)
                else:
                    tables[names[-1]] = table
            options = {**options, "with": names}
        return call(self._words("compare", [rung] if other is None else [rung, other], options),
                    Comparison, instance=self.instance, tables=tables, texts=texts, progress=progress)

    def _patterns(self, command: str, statements: Sequence[str]) -> list[str]:
        """Ids or globs of statements of this theory, after its file if it has one."""
        patterns = [s if s.startswith(self.name + ".") else f"{self.name}.{s}"
                    for s in check_names(command, statements)]
        return [self.model_word, *patterns] if self.is_file else patterns

    def verify(self, *statements: str, set: Union[Mapping[str, Number], Sequence[str], None] = None,
               seeds: Optional[int] = None, seed: Optional[int] = None, data: Optional[Path] = None,
               full: bool = False, jobs: Optional[int] = None, progress: Progress = None,
               **options: Any) -> Verdicts:
        """Verdicts on statements of this theory (names or globs such as "conv*"; default: all), each
        with its controls. With an instance they are examined on it, and those of a glob that take none
        are listed with the reason; without, on their default instances, or with seeds=N on drawn ones. set={"tau": 5} turns knobs.

        A statement that is violated is a verdict, no exception.
        """
        options = _chosen(locals(), "statements")
        return _verify(self._patterns("verify", statements or ("*",)), self.instance, progress, options, self.texts)

    def falsify(self, *statements: str, seconds: Number = None, evaluations: Optional[int] = None,
                control: Optional[str] = None, controls: bool = False, seed: Optional[int] = None,
                jobs: Optional[int] = None, output: Optional[Path] = None, progress: Progress = None,
                **options: Any) -> Searches:
        """Searches for counterexamples within the hypotheses of statements: seconds (default 60) and
        evaluations bound each search, control="NAME" or controls=True search against wrong versions. The
        space searched is that of the knobs; the instance of this object plays no part in it."""
        options = _chosen(locals(), "statements")
        return _falsify(self._patterns("falsify", statements), progress, options, self.texts)

    def landscape(self, name: Optional[str] = None, *, value: Optional[str] = None, grid: Optional[int] = None,
                  at: Optional[Sequence[Any]] = None, alpha: Numbers = None, beta: Numbers = None,
                  tolerance: Number = None, no_certificate: bool = False, around: Optional[str] = None,
                  slice: Optional[int] = None, span: Number = None, points: Optional[int] = None,
                  jobs: Optional[int] = None, output: Optional[Path] = None,
                  progress: Progress = None, **options: Any) -> Union[Landscape, Table]:
        """The loss over two coordinates (alpha, beta), for a theory that offers it; ``name`` is that of
        one of several, value what it is of: grid=n for (n, n) values, alpha=(low, high),
        beta=(low, high), at=[(alpha, beta), ...] for points, tolerance of the certificate,
        no_certificate=True. With around="RUNG" a slice of the whole loss around what training ends at,
        as a table."""
        options = _chosen(locals(), "name")

        def make(answer: dict[str, Any]) -> Union[Landscape, Table]:
            if answer["document"]:
                return Landscape(answer)
            return Table(answer, "popgrad " + " ".join(words), ["first", "second"])

        words = self._words("landscape", [] if name is None else [name], options)
        return call(words, make, instance=self.instance, texts=self.texts, progress=progress)

    def sweep(self, rung: str, over: Mapping[str, Any], *,
              success: Union[Sequence[str], str, None] = None,
              first: Union[Sequence[str], str, None] = None, t1: Number = None, steps: Number = None,
              eta: Number = None, batch: Optional[int] = None, runs: Optional[int] = None,
              seed: Optional[int] = None, jobs: Optional[int] = None, output: Optional[Path] = None,
              progress: Progress = None, **options: Any) -> Table:
        """A rung over a grid of parameters: over={"tau": [2, 4, 8], "eta": "0.01:1:5"}, a list of values
        or LOW:HIGH:COUNT, equally spaced in the logarithm. success=["loss<=0.1"] adds shares of runs,
        first=["loss<=0.1"] times; output="sweep.csv" makes it resumable. A row a cell."""
        options = _chosen(locals(), "rung", "over")
        words = self._words("sweep", [rung], {**options, "over": dict(over)})
        return call(words, lambda answer: Table(answer, "popgrad " + " ".join(words), list(over)),
                    instance=self.instance, texts=self.texts, progress=progress)

    def equations(self, rung: str, *, format: str = "text", **options: Any) -> str:
        """The right-hand side that is integrated, from the rung's own code: text, latex, cpp or
        python."""
        return call(self._words("equations", [rung], {**options, "format": format}),
                    lambda answer: str(answer["output"]), instance=self.instance, texts=self.texts)

    def observer(self, rung: str = "sgd", *, seed: int = 1) -> "Observer":
        """Computes observables of states that are given as matrices; see Observer."""
        return Observer(self, rung, seed)

    def observe(self, *, rung: str = "sgd", t: float = 0.0, **state: Any) -> dict[str, float]:
        """The observables of one state: ``theory.observe(A=A, B=B)``; see Observer."""
        return Observer(self, rung)(t=t, **state)


class Observer:
    """Observables of a rung at states that are given by the names of their matrices: arrays or tensors
    with the names and shapes that an instance file has for a start; ``theory.parameters`` lists them. Of a theory
    file these are its states. A matrix that is not given is that of the instance.

    The very code that reports the observables of the rung computes them. Observables that refer to the
    start of training (invariants) refer to that of the instance.
    """

    def __init__(self, theory: Theory, rung: str = "sgd", seed: int = 1) -> None:
        instance = theory.instance
        if instance is None:
            text = "{}"
        elif isinstance(instance, Mapping):
            text = instance_text(instance)
        else:
            try:
                with open(instance, encoding="utf-8") as file:
                    text = file.read()
            except OSError as error:
                raise Error(f"{os.fspath(instance)}: cannot be read ({error.strerror}); give a file "
                            "that exists") from None
        try:
            self._made = _popgrad.Observer(theory.model_word, rung, text, seed, theory.texts)
        except ValueError as error:
            raise Error(str(error)) from None

    @property
    def columns(self) -> list[str]:
        return self._made.columns

    def __call__(self, *, t: float = 0.0, **state: Any) -> dict[str, float]:
        """Observables by name, at time ``t`` of the clock."""
        arrays = {name: np.asarray(plain(value), dtype=float) for name, value in state.items()}
        try:
            return self._made.observe(arrays, t)
        except ValueError as error:
            raise Error(str(error)) from None


def _verify(patterns: Sequence[str], instance: Instance, progress: Progress,
            options: Mapping[str, Any], texts: Optional[Mapping[str, str]] = None) -> Verdicts:
    return call(["verify", *check_names("verify", patterns), *words_of(options)], Verdicts, instance=instance,
                texts=texts, progress=progress)


def verify(*patterns: str, instance: Instance = None,
           set: Union[Mapping[str, Number], Sequence[str], None] = None, seeds: Optional[int] = None,
           seed: Optional[int] = None, data: Optional[Path] = None, full: bool = False,
           jobs: Optional[int] = None, progress: Progress = None, **options: Any) -> Verdicts:
    """Verdicts on statements by id or glob ("MODEL.*"), of any theory; without one on all. Keywords are
    the options of ``popgrad verify``: set={"tau": 5} turns knobs, seeds=N draws instances."""
    options = _chosen(locals(), "patterns", "instance")
    return _verify(patterns, instance, progress, options)


def falsify(*patterns: str, seconds: Number = None, evaluations: Optional[int] = None,
            control: Optional[str] = None, controls: bool = False, seed: Optional[int] = None,
            jobs: Optional[int] = None, output: Optional[Path] = None, progress: Progress = None,
            **options: Any) -> Searches:
    """Searches for counterexamples to statements by id or glob; see Theory.falsify."""
    return _falsify(patterns, progress, _chosen(locals(), "patterns"))


def _falsify(patterns: Sequence[str], progress: Progress, options: Mapping[str, Any],
             texts: Optional[Mapping[str, str]] = None) -> Searches:
    return call(["falsify", *check_names("falsify", patterns), *words_of(options)], Searches, texts=texts,
                progress=progress)


def command(*words: str, progress: Progress = None) -> Result:
    """Any command by its words, as in a shell: ``command("ladder", name).text``, for those that have
    no method (ladder, frontier, figure, report). ``status`` is its exit status; Error for bad input."""
    return call([str(word) for word in words], lambda answer: Result(answer, " ".join(("popgrad",
                                                                                      *words))),
                progress=progress)


def theory(name: Union[Path, Mapping[str, Any]], instance: Instance = None, **parameters: Any) -> Theory:
    """A theory by name (see ``theories()``), by the path of its file, by its text or as a dictionary, on an instance;
    see Theory."""
    return Theory(name, instance, **parameters)


def theories() -> list[str]:
    """Names of all theories."""
    return [model["name"] for model in document(["list"])["models"]]
