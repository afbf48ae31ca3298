"""The compiled part; the package is its only user."""

from typing import Any, Callable, Mapping, Optional, Sequence

import numpy.typing as npt

__version__: str

def call(
    words: Sequence[str],
    texts: Mapping[str, str],
    tables: Mapping[str, Mapping[str, npt.NDArray[Any]]],
    progress: Optional[Callable[[float, str], Any]],
    main_thread: bool,
) -> dict[str, Any]: ...
def pending_interrupt() -> Optional[BaseException]: ...

class Observer:
    def __init__(self, model: str, rung: str, instance: str, seed: int,
                 texts: Mapping[str, str]) -> None: ...
    @property
    def columns(self) -> list[str]: ...
    def observe(self, state: Mapping[str, npt.NDArray[Any]], t: float) -> dict[str, float]: ...
