"""Pictures of results, by matplotlib, which is asked for when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

if TYPE_CHECKING:
    from . import _results

_marks = {"holds": "tab:green", "violated": "tab:red", "inconclusive": "tab:orange"}


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("popgrad: plot needs matplotlib (Debian: python3-matplotlib)") from None
    return matplotlib.pyplot


def _panels(count: int, axes: Any, what: str) -> list[Any]:
    if axes is not None:
        given = list(np.ravel(np.array(axes, dtype=object)))
        if len(given) < count:
            raise ValueError(f"popgrad: {len(given)} axes are too few for {count} panels ({what}); "
                             "give more, or fewer columns")
        return given
    across = min(count, 3)
    down = -(-count // across)
    figure, grid = _pyplot().subplots(down, across, figsize=(4.5 * across, 3.2 * down),
                                      squeeze=False, constrained_layout=True)
    for spare in grid.flat[count:]:
        figure.delaxes(spare)
    return list(grid.flat[:count])


def _one(axes: Any) -> Any:
    return _panels(1, None, "")[0] if axes is None else axes


def run(made: "_results.Run", columns: Optional[Sequence[str]], axes: Any) -> Any:
    chosen = list(columns) if columns is not None else [
        c for c in made.columns if not c.endswith("_sd")][:6]
    panels = _panels(len(chosen), axes, ", ".join(chosen))
    t = made.t.astype(float)
    for column, panel in zip(chosen, panels):
        values = np.atleast_2d(made[column]).astype(float)
        mean = values.mean(axis=0)
        spread = None
        if f"{column}_sd" in made.columns:
            spread = np.atleast_2d(made[f"{column}_sd"]).astype(float)[0]
        elif len(values) > 1:
            spread = values.std(axis=0, ddof=1)
        panel.plot(t, mean, label=made.rung)
        if spread is not None:
            panel.fill_between(t, mean - spread, mean + spread, alpha=0.3)
        for event in made.events:
            if event["column"] == column and not made.ensemble:
                panel.axvline(event["t"], color="grey", linewidth=0.8, linestyle=":")
        panel.set(title=column, xlabel="t")
    return panels


def verdicts(made: "_results.Verdicts", axes: Any) -> Any:
    panel = _one(axes)
    if axes is None:
        panel.figure.set_size_inches(6, 1.2 + 0.22 * len(made))
    for row, statement in enumerate(made):
        for evidence in statement.get("evidence", []):
            share, margin = evidence.get("of_allowed"), evidence.get("margin")
            if margin is None:
                continue
            if share is None:  # an identity, or nothing is allowed
                share = 0.0 if margin >= 0 else 2.0
            # Violations may be by any factor: what counts is the side.
            panel.plot(min(max(share, -1.0), 2.0), row, "o",
                       color=_marks.get(evidence["verdict"], "tab:grey"), alpha=0.7)
    panel.axvline(1, color="black", linewidth=0.8)
    panel.set_yticks(range(len(made)), [s["id"] for s in made])
    panel.set(xlabel="off/allowed (above 1: violated)", xlim=(-1.1, 2.1))
    panel.invert_yaxis()
    return panel


def comparison(made: "_results.Comparison", axes: Any) -> Any:
    names = made.observables
    if not names:
        names = list(dict.fromkeys(c.rsplit("_", 1)[0] for c in made.columns
                                   if not c.endswith("_deviation")))
    panels = _panels(len(names), axes, ", ".join(names))
    for name, panel in zip(names, panels):
        if made.verdict is None:
            for column in made.columns:
                # X_normalised is another observable than X, a rung has no underscore.
                if column.rsplit("_", 1)[0] == name and not column.endswith("_deviation"):
                    panel.plot(made.t, made[column], label=column[len(name) + 1:])
        else:
            middle, half = made[f"{name}_expected"], made[f"{name}_band"]
            panel.fill_between(made.t, middle - half, middle + half, alpha=0.3, label="band")
            panel.plot(made.t, middle, label="expected")
            for k, recorded in enumerate(made.judgement["runs"]):
                panel.plot(made.t, made[f"{name}_recorded_{k}"], ".", markersize=4,
                           label=recorded["run"])
            times = [o["first_outside"] for r in made.judgement["runs"] for o in r["observables"]
                     if o["observable"] == name and o["first_outside"] is not None]
            if times:
                panel.axvline(min(times), color="tab:red", linewidth=0.8)
        panel.set(title=name, xlabel="t")
        panel.legend(fontsize="small")
    return panels


def searches(made: "_results.Searches", axes: Any) -> Any:
    panel = _one(axes)
    for search in made:
        shares = np.array([np.nan if trial.get("of_allowed") is None else trial["of_allowed"]
                           for trial in search["trials"]], dtype=float)
        name = search["id"] + (f" against {search['control']}" if search["control"] else "")
        points = panel.plot(shares, ".", markersize=3, alpha=0.5)[0]
        panel.plot(np.fmax.accumulate(shares) if len(shares) else shares,
                   color=points.get_color(), label=name)
    panel.axhline(1, color="black", linewidth=0.8)
    panel.set(xlabel="trial", ylabel="off/allowed (above 1: falsified)")
    panel.set_yscale("symlog", linthresh=1e-3)
    panel.legend(fontsize="small")
    return panel


def landscape(made: "_results.Landscape", axes: Any) -> Any:
    if made.values.size == 0:
        raise ValueError("popgrad: there is no grid to draw; call landscape(grid=n) with n >= 2")
    panel = _one(axes)
    drawn = panel.contourf(made.alphas, made.betas, made.values, levels=30)
    panel.figure.colorbar(drawn, ax=panel, label="loss")
    if made.minimum is not None:
        panel.plot(made.minimum["alpha"], made.minimum["beta"], "r*", markersize=12,
                   label=f"minimum {made.minimum['value']:.6g}")
        panel.legend(fontsize="small")
    panel.set(xlabel="alpha", ylabel="beta", title=made.title)
    return panel


def table(made: "_results.Table", column: Optional[str], axes: Any) -> Any:
    panel = _one(axes)
    if not made.axes:
        raise ValueError("popgrad: this table has no axis to draw over")
    first, rest = made.axes[0], made.axes[1:]
    known = [c for c in made.columns if c not in made.axes and c not in ("runs", "ended")]
    chosen = column if column is not None else known[0]
    made[chosen]  # KeyError with what there is
    for key in dict.fromkeys(zip(*(made[name] for name in rest))) if rest else [()]:
        rows = np.ones(len(made), dtype=bool)
        for name, value in zip(rest, key):
            rows &= made[name] == value
        panel.plot(made[first][rows], made[chosen][rows], "o-", markersize=3,
                   label=", ".join(f"{name} = {value}" for name, value in zip(rest, key)))
    panel.set(xlabel=first, ylabel=chosen)
    if rest:
        panel.legend(fontsize="small")
    return panel
