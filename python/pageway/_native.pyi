"""The compiled half of the package. Private: `pageway` is the interface."""

from typing import Callable, Dict, List, Optional, Tuple, TypedDict, Union, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Answers",
    "Index",
    "__version__",
    "build",
    "create",
    "defaults",
    "ground_truth",
    "presets",
    "publish",
    "verify",
]

__version__: str

# Types that only annotations use; the module does not hold them at run time.
_Rows = Tuple[npt.NDArray[np.uint8], int, str]
_Source = Union[str, Tuple[str, str], Tuple[str, str, str], _Rows]
_Keys = Union[npt.NDArray[np.uint64], List[str]]
_Ids = Union[None, str, _Keys]
_Documents = Union[None, str, List[str]]
_Filter = Union[Tuple[str, bool], npt.NDArray[np.bool_], npt.NDArray[np.uint64], bytes]
_Which = Union[_Keys, _Filter]
_Scrolled = Tuple[
    Tuple[npt.NDArray[np.uint64], List[Optional[str]]],
    List[Optional[str]],
    npt.NDArray[np.uint8],
    Optional[int],
]
_Callback = Optional[Callable[[str, int, int, Optional[float]], object]]
_Found = Tuple[npt.NDArray[np.uint64], npt.NDArray[np.float32]]

class _Design(TypedDict):
    preset: str
    form: Optional[str]
    degree: int
    build_list: int
    code_bytes: Optional[int]
    page_bytes: int
    beam: Optional[int]
    overrides: Optional[str]
    seed: int

class _Budgets(TypedDict):
    memory: Optional[str]
    build_memory: Optional[str]
    disk: Optional[str]

class _Scratch(TypedDict):
    dir: Optional[str]
    resume: bool

class _Segments(TypedDict):
    count: int
    cut: str

class _BuildOptions(TypedDict):
    metric: str
    design: _Design
    recall: float
    budgets: _Budgets
    codebook_from: Optional[str]
    graph_from: Optional[str]
    scratch: _Scratch
    threads: int
    segments: _Segments
    calibration_queries: Optional[int]
    schema: Optional[str]
    store: Optional[str]

class _OpenOptions(TypedDict):
    memory: Optional[str]
    threads: int
    interleave: int
    k: int
    list_size: Optional[int]
    beam: Optional[int]
    follow: Optional[float]
    recent_queries: int
    cache: Optional[Tuple[str, str, str]]

class _UpdateOptions(TypedDict):
    memory: Optional[str]
    build_memory: Optional[str]
    threads: int
    salvage: bool
    latency_target: Optional[float]

class _CreateOptions(TypedDict):
    dimension: int
    element: str
    metric: str
    preset: str
    form: Optional[str]
    memory: Optional[str]
    expected: Optional[int]
    degree: int
    schema: Optional[str]

class _EditWish(TypedDict):
    what: str
    fields: str
    paths: List[str]

class _SearchOptions(TypedDict):
    k: int
    radius: Optional[float]
    recall: Optional[float]
    list_size: Optional[int]
    beam: Optional[int]
    threads: int
    tolerance: str
    timeout: Optional[float]
    strategy: Optional[str]

class _Defaults(TypedDict):
    degree: int
    build_list: int
    page_bytes: int
    recall: float
    seed: int

class _TruthOptions(TypedDict):
    k: int
    metric: str
    threads: int

class _RecallReport(TypedDict):
    recall: float
    recall_p5: float
    k: int
    list_size: int
    queries: int
    pages_per_query: float

@final
class Answers:
    @property
    def lims(self) -> npt.NDArray[np.int64]: ...
    @property
    def ids(self) -> npt.NDArray[np.uint64]: ...
    @property
    def distances(self) -> npt.NDArray[np.float32]: ...
    @property
    def errors(self) -> npt.NDArray[np.float32]: ...
    @property
    def stats(self) -> Dict[str, npt.NDArray[np.uint64]]: ...
    @property
    def settings(self) -> Dict[str, int]: ...
    @property
    def truncated(self) -> int: ...
    @property
    def expected_recall(self) -> Optional[float]: ...
    @property
    def unlike(self) -> float: ...
    @property
    def attributes(self) -> List[Optional[str]]: ...
    @property
    def names(self) -> List[Optional[str]]: ...
    @property
    def filter(self) -> Optional[str]: ...

@final
class Index:
    @staticmethod
    def open(path: str, options: _OpenOptions) -> Index: ...
    @staticmethod
    def open_writable(path: str, options: _OpenOptions, update: _UpdateOptions) -> Index: ...
    def put(
        self,
        rows: _Rows,
        beside: Tuple[Optional[_Keys], _Documents],
        how: Tuple[bool, str],
    ) -> str: ...
    def edit(self, which: _Which, edit: _EditWish, how: str) -> str: ...
    def scroll(
        self, matching: Optional[_Filter], start: Tuple[int, int], parts: Tuple[bool, bool]
    ) -> _Scrolled: ...
    def rows(self, keys: _Keys, parts: Tuple[bool, bool]) -> _Scrolled: ...
    def delete(self, which: _Which, how: str) -> str: ...
    def sync(self) -> int: ...
    def cancel(self) -> None: ...
    def flush(self, progress: _Callback) -> None: ...
    def merge(self, full: bool, progress: _Callback) -> str: ...
    def snapshot(self, path: str, progress: _Callback) -> None: ...
    def refresh(self) -> bool: ...
    def changes(self) -> str: ...
    @property
    def writable(self) -> bool: ...
    def switch(self, path: str, options: _OpenOptions) -> Index: ...
    def search(
        self, queries: _Rows, options: _SearchOptions, among: Tuple[Optional[_Filter], bool]
    ) -> Answers: ...
    def count(self, matching: _Filter) -> int: ...
    def fields(self) -> List[Tuple[str, List[str], int]]: ...
    def measure_recall(
        self,
        queries: Optional[_Rows],
        options: Tuple[_SearchOptions, int],
        matching: Optional[_Filter],
        progress: _Callback,
    ) -> _RecallReport: ...
    def calibrate(
        self,
        queries: Optional[_Rows],
        options: Tuple[List[int], int, int],
        progress: _Callback,
    ) -> Tuple[str, Optional[str]]: ...
    def vectors(self, ids: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]: ...
    def recent_queries(self) -> npt.NDArray[np.uint8]: ...
    def stored(
        self, first: int, count: int
    ) -> Tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]: ...
    def report(self) -> str: ...
    def calibration(self) -> str: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def element(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def closed(self) -> bool: ...

def build(
    path: str,
    input: Tuple[_Source, _Ids, Optional[_Source], _Documents],
    options: _BuildOptions,
    progress: _Callback,
) -> Tuple[str, Optional[float]]: ...
def build_step(
    path: str,
    input: Tuple[_Source, _Ids, Optional[_Source], _Documents],
    options: _BuildOptions,
    step: Tuple[str, str],
    progress: _Callback,
) -> Tuple[str, Optional[float]]: ...
def defaults() -> _Defaults: ...
def create(path: str, options: _CreateOptions) -> None: ...
def presets() -> List[Tuple[str, str]]: ...
def verify(path: str, progress: _Callback) -> str: ...
def publish(path: str, url: str, progress: _Callback) -> str: ...
def ground_truth(
    base: _Source, queries: _Source, options: _TruthOptions, progress: _Callback
) -> _Found: ...
