"""popgrad: checks theorems about how transformers train, on your own instance and your own runs.

    theory = popgrad.theory(name, instance)                              # names: popgrad.theories()
    run = theory.run("sgd", eta=0.01, batch=64, steps=2000, runs=16)     # run["loss"]: (runs, times)
    theory.verify()                                                      # verdicts
    theory.compare("sgd", run=frame, eta=0.01, batch=64, clock="lr*step")  # is my SGD right?
    watch = popgrad.Watch(name, instance, eta=0.01, batch=64)            # the same in a training loop

Every method is a command of the program; its keywords are the command's options, with underscores for
dashes. The texts of errors and verdicts are the command's own.
"""

try:
    from . import _popgrad
except ImportError as error:
    raise ImportError(f"popgrad: the compiled part cannot be loaded ({error}); install with 'pip install .' "
                      "by this very Python, or put build/python into PYTHONPATH after a build with "
                      "-DPOPGRAD_PYTHON=ON") from error
from . import formulas
from ._errors import Error, NumericalError
from ._results import (Comparison, Landscape, Result, Run, Searches, Table, Verdict, Verdicts)
from ._theory import Observer, Theory, command, falsify, theories, theory, verify
from ._watch import Watch

__version__ = _popgrad.__version__
__all__ = ["Comparison", "Error", "Landscape", "NumericalError", "Observer", "Result", "Run",
           "Searches", "Table", "Theory", "Verdict", "Verdicts", "Watch", "__version__", "command", "falsify",
           "formulas", "theories", "theory", "verify"]
