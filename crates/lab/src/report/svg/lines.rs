//! Curves.

use std::fmt;

use super::axis::Span;
use super::canvas::{Anchor, Canvas, GRID, INK, Text};
use super::{Frame, Style, left_of, nothing, upright};
use crate::report::document::{Axis, Lines, Mark};

/// Draws axes and curves up to `right`. Marks without a place leave a gap.
pub(super) fn draw(canvas: &mut Canvas, plot: &Lines, looks: &[Style], right: f64) -> fmt::Result {
    let marks = || plot.series.iter().flat_map(|series| &series.marks);
    let x = Span::around(plot.x.scale, marks().map(|mark| mark.x), false);
    let y = Span::around(plot.y.scale, marks().map(|mark| mark.y), false);
    let frame = Frame {
        left: left_of(&y),
        right,
        bottom: canvas.height() - 64.0,
    };
    upright(canvas, &frame, &plot.y, &y)?;
    let numbers = x.ticks_at(marks().map(|mark| mark.x));
    level(canvas, &frame, &plot.x, numbers)?;
    let place = |mark: &Mark| Some((frame.x(x.share(mark.x)?), frame.y(y.share(mark.y)?)));
    if marks().find_map(place).is_none() {
        return nothing(canvas, &frame);
    }
    for (series, style) in plot.series.iter().zip(looks) {
        let places: Vec<_> = series.marks.iter().map(place).collect();
        for run in places.split(Option::is_none) {
            let run: Vec<_> = run.iter().flatten().copied().collect();
            canvas.curve(&run, style)?;
        }
        for at in places.into_iter().flatten() {
            canvas.mark(at, style)?;
        }
    }
    Ok(())
}

/// Grid lines, numbers and name of the level axis; numbers that would touch are left out.
fn level(
    canvas: &mut Canvas,
    frame: &Frame,
    axis: &Axis,
    numbers: Vec<(f64, String)>,
) -> fmt::Result {
    let mut free = f64::NEG_INFINITY;
    for (share, name) in numbers {
        let x = frame.x(share);
        canvas.line((x, frame.y(0.0)), (x, frame.y(1.0)), GRID)?;
        let half = super::canvas::width(&name, 12.0) / 2.0;
        if x - half < free {
            continue;
        }
        free = x + half + 8.0;
        canvas.text(Text {
            at: (x, frame.bottom + 18.0),
            words: &name,
            anchor: Anchor::Middle,
            ..Text::default()
        })?;
    }
    canvas.text(Text {
        at: (frame.x(0.5), frame.bottom + 42.0),
        words: &axis.name,
        size: 13.0,
        anchor: Anchor::Middle,
        ink: INK,
        ..Text::default()
    })
}
