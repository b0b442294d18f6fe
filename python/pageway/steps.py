"""`build_step`: one step of a build whose segments are built by processes of their own."""

from __future__ import annotations

import json
from inspect import signature
from typing import Any, Union, cast

from . import _native
from ._build import carry_out
from ._paths import PathLike, as_path
from .building import build
from .errors import InvalidInputError
from .reports import StepReport

__all__ = ["build_step"]


def build_step(
    path: PathLike, data: Any, *, work: PathLike, step: Union[str, int], **settings: Any
) -> StepReport:
    """Does one step of a build, in this process; others do the others, on any machine that sees `work`.

    All are given the same data and settings: ``"prepare"`` first; then every segment by its number,
    in any order and at the same time; then ``"join"``, which makes the index at `path`. Its bytes
    are those that `build` makes. Each step keeps within `build_memory`. A step that was finished is
    not done again, so a build that lost processes goes on when its steps are asked for again.

    Parameters
    ----------
    path, data
        As for `build`.
    work : path
        Directory where what steps finish waits for the last. Yours to remove once the index is there.
    step : "prepare", int or "join"
        Which step.
    **settings
        As for `build`; `segments` says how many there are. An index at `path` is replaced.

    Returns
    -------
    StepReport
        A dict: what was done, and by ``"join"`` the report of the index.

    Raises
    ------
    NotFoundError
        A step that must come before has not ended.
    BusyError
        Another process does the same step.
    PagewayError
        As `build` does.

    Examples
    --------
    >>> apart = {"segments": 2, "cut": "space", "memory": "2MB"}
    >>> for step in ["prepare", 0, 1, "join"]:
    ...     done = pageway.build_step("apart.index", vectors, work="apart", step=step, **apart)
    >>> done["nodes"] == len(vectors)
    True
    """
    try:
        bound = signature(build).bind(path, data, **settings)
    except TypeError as error:
        raise InvalidInputError(f"build_step: {error}") from error
    bound.apply_defaults()
    own = (as_path(work, "work"), str(step))

    def act(place: str, rows: Any, options: Any, callback: Any) -> Any:
        return _native.build_step(place, rows, options, own, callback)

    text, beside = carry_out(bound.arguments, act)
    return cast(StepReport, {**json.loads(text), **beside})
