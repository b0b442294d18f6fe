"""Progress: the callback and the line."""

import io

import numpy as np
from conftest import clustered

import pageway
from pageway._progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_callback_sees_every_stage_to_its_end(tmp_path):
    seen = []
    pageway.build(
        tmp_path / "i",
        clustered(np.float32),
        memory="2MB",
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    ).close()
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert len(stages) >= 3
    for stage in stages:
        counts = [done for name, done, _ in seen if name == stage]
        assert counts == sorted(counts), stage
        assert all(0 <= done <= total for name, done, total in seen if name == stage), stage


def test_true_writes_stages_to_stderr(tmp_path, capfd):
    pageway.build(tmp_path / "i", clustered(np.float32), memory="2MB", progress=True).close()
    assert capfd.readouterr().err.count(" ...\n") >= 3
    pageway.build(tmp_path / "j", clustered(np.float32), memory="2MB").close()
    assert capfd.readouterr().err == ""


def test_the_line_is_redrawn_and_says_what_is_left():
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.hear("graph", 0, 100, None)
    line._started -= 30
    line.hear("graph", 25, 100, None)
    line.hear("write", 1, 0, None)
    line.close()
    drawn = terminal.getvalue()
    assert "25%  1:30 left" in drawn
    assert drawn.count("\n") == 2 and drawn.count("\r") == 3


def test_one_line_shows_the_whole_over_all_stages():
    terminal = Terminal()
    line = ProgressLine(terminal)
    line.hear("check rows", 1, 100, None)
    line.hear("graph", 0, 100, 0.1)
    line._whole = (line._whole[0] - 30, 0.1)
    line.hear("graph", 50, 100, 0.4)
    line.hear("encode", 0, 10, 0.4)
    line.close()
    drawn = terminal.getvalue()
    assert "encode" in drawn and drawn.count(" 40%  1:00 left") == 2
    assert drawn.count("\n") == 1
