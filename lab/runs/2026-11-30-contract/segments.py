"""Recall and pages of two programs on one index of several segments, like queries.

    python segments.py BEFORE AFTER DIR uniform,tails,mixture

Sets, changes and cells are those of suites/contract.py at 10 %, which has to be on PYTHONPATH; AFTER
builds. Needs numpy.
"""

import sys
from argparse import Namespace
from pathlib import Path

import contract
import numpy as np

ROWS = 20_000


def main():
    before, after, work = (Path(part) for part in sys.argv[1:4])
    for name in sys.argv[4].split(","):
        asked = Namespace(
            bin=after, work=work, rows=ROWS, queries=1000, preset="pageway", seed=1
        )
        work.mkdir(exist_ok=True)
        trial = contract.Trial(asked, name, 10.0)
        there = changed(trial)
        for program in (before, after):
            asked.bin = program
            for cell in trial.phase(program.name, there, (1, 10, 50)):
                print(contract.line_of(cell), flush=True)


def changed(trial):
    """Builds, deletes and inserts as the suite does; which rows are there then."""
    first = np.arange(ROWS)
    gone = trial.rng.choice(first, len(first) // 4, False)
    evenly = gone[: len(first) // 7]
    near = np.argsort(trial.distances(trial.queries[:1], trial.rows[first])[0])
    gone = np.union1d(near[: len(first) // 10], gone)
    come = np.arange(len(first), len(trial.rows))
    there = np.concatenate([np.setdiff1d(first, gone), come])
    trial.place.mkdir()
    trial.write("base", trial.rows[first])
    shares = trial.place / "rows.jsonl"
    shares.write_text("".join(f'{{"share": {own:.6f}}}\n' for own in trial.share[first]))
    memory = int(trial.rows[first].nbytes / 10 + 2_000_000)
    build = ["build", "--data", trial.file("base"), "--out", trial.index, "--memory", memory]
    trial.run(*build, "--metric", trial.metric, "--attributes", shares)
    trial.delete(evenly)
    trial.delete(np.setdiff1d(gone, evenly))
    trial.write("come", trial.rows[come])
    (trial.place / "come.txt").write_text("\n".join(map(str, come)))
    trial.run("insert", trial.index, "--data", trial.file("come"), "--ids", trial.place / "come.txt")
    return there


main()
