//! Bars over names, side by side or stacked.

use std::fmt;

use super::axis::Span;
use super::canvas::{Anchor, Canvas, Text, width};
use super::{Frame, Styles, left_of, nothing, upright};
use crate::report::document::{Bars, Scale};

/// Share of a category's room that its bars take.
const FILLED: f64 = 0.76;

/// Draws axes and bars up to `right`. Bars without a height are left out.
pub(super) fn draw(canvas: &mut Canvas, plot: &Bars, styles: &Styles, right: f64) -> fmt::Result {
    let span = Span::around(scale(plot), heights(plot).into_iter(), true);
    let mut frame = Frame {
        left: left_of(&span),
        right,
        bottom: canvas.height() - 48.0,
    };
    let count = plot.categories.len().max(1) as f64;
    let room = (frame.right - frame.left) / count;
    let widest = plot.categories.iter().map(|name| width(name, 12.0));
    let widest = widest.fold(0.0, f64::max);
    let slanted = widest > room - 8.0;
    if slanted {
        frame.bottom -= (widest * 0.5).min(160.0);
    }
    upright(canvas, &frame, &plot.y, &span)?;
    if heights(plot).iter().all(|height| !height.is_finite()) {
        return nothing(canvas, &frame);
    }
    for (at, name) in plot.categories.iter().enumerate() {
        let left = frame.left + room * (at as f64 + (1.0 - FILLED) / 2.0);
        group(
            canvas,
            plot,
            styles,
            (&frame, &span),
            (at, left, room * FILLED),
        )?;
        canvas.text(Text {
            at: (left + room * FILLED / 2.0, frame.bottom + 18.0),
            words: name,
            anchor: if slanted { Anchor::End } else { Anchor::Middle },
            turn: if slanted { -30.0 } else { 0.0 },
            ..Text::default()
        })?;
    }
    Ok(())
}

/// The scale of the heights: logarithms do not add up, so stacks are even.
fn scale(plot: &Bars) -> Scale {
    if plot.stacked {
        Scale::Linear
    } else {
        plot.y.scale
    }
}

/// Every height that the axis has to cover.
fn heights(plot: &Bars) -> Vec<f64> {
    let of = |at: usize| {
        plot.series
            .iter()
            .filter_map(move |(_, heights)| *heights.get(at)?)
    };
    let categories = 0..plot.categories.len();
    if plot.stacked {
        let stack = |at| of(at).filter(|height| height.is_finite()).sum();
        categories.map(stack).collect()
    } else {
        categories.flat_map(of).collect()
    }
}

/// The bars of category `at`, in `room` from `left` on.
fn group(
    canvas: &mut Canvas,
    plot: &Bars,
    styles: &Styles,
    (frame, span): (&Frame, &Span),
    (at, left, room): (usize, f64, f64),
) -> fmt::Result {
    let each = if plot.stacked {
        room
    } else {
        room / plot.series.len() as f64
    };
    let mut foot = 0.0;
    for (place, (name, heights)) in plot.series.iter().enumerate() {
        let Some(height) = heights.get(at).copied().flatten() else {
            continue;
        };
        let Some(share) = span.share(foot + height) else {
            continue;
        };
        let x = if plot.stacked {
            left
        } else {
            left + each * place as f64
        };
        let base = span.share(foot).unwrap_or(0.0).max(0.0);
        let (from, to) = ((x, frame.y(base)), (x + each, frame.y(share)));
        canvas.bar(from, to, &styles.get(name))?;
        if plot.stacked {
            foot += height;
        }
    }
    Ok(())
}
