//! Bars over names, side by side or stacked.

use std::fmt;

use super::axis::Span;
use super::canvas::{Anchor, Canvas, Text, fitted, width};
use super::{Frame, Style, left_of, nothing, upright};
use crate::report::document::{Bars, Scale};

/// Share of a category's room that its bars take.
const FILLED: f64 = 0.76;
/// Room for the name of a category; names that do not fit side by side are slanted.
const LONGEST: f64 = 200.0;

/// Draws axes and bars up to `right`. Bars without a height are left out.
pub(super) fn draw(canvas: &mut Canvas, plot: &Bars, looks: &[Style], right: f64) -> fmt::Result {
    let span = Span::around(scale(plot), heights(plot).into_iter(), true);
    let mut frame = Frame {
        left: left_of(&span),
        right,
        bottom: canvas.height() - 48.0,
    };
    let room = (frame.right - frame.left) / plot.categories.len().max(1) as f64;
    let widths = plot.categories.iter().map(|name| width(name, 12.0));
    let widest = widths.fold(0.0, f64::max).min(LONGEST);
    let slanted = widest > room - 8.0;
    if slanted {
        frame.bottom -= widest * 0.5;
        frame.left = frame.left.max(widest * 0.87 - room / 2.0 + 12.0);
    }
    let room = (frame.right - frame.left) / plot.categories.len().max(1) as f64;
    upright(canvas, &frame, &plot.y, &span)?;
    if heights(plot).iter().all(|height| !height.is_finite()) {
        return nothing(canvas, &frame);
    }
    let drawing = Drawing {
        plot,
        looks,
        frame,
        span,
    };
    for (at, name) in plot.categories.iter().enumerate() {
        let left = frame.left + room * (at as f64 + (1.0 - FILLED) / 2.0);
        drawing.category(canvas, at, (left, room * FILLED))?;
        canvas.text(Text {
            at: (left + room * FILLED / 2.0, frame.bottom + 18.0),
            words: &fitted(name, 12.0, LONGEST),
            anchor: if slanted { Anchor::End } else { Anchor::Middle },
            turn: if slanted { -30.0 } else { 0.0 },
            ..Text::default()
        })?;
    }
    Ok(())
}

/// The scale of the heights. Bars show them best from zero on: by factors only where the least
/// would not be seen. Logarithms do not add up, so stacks are even.
fn scale(plot: &Bars) -> Scale {
    let heights = heights(plot).into_iter().filter(|height| *height > 0.0);
    let (least, most) = heights.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), height| {
        (least.min(height), most.max(height))
    });
    let far = most >= 20.0 * least;
    if plot.stacked || (plot.y.scale == Scale::Log && !far) {
        Scale::Linear
    } else {
        plot.y.scale
    }
}

/// Every height that the axis has to cover.
fn heights(plot: &Bars) -> Vec<f64> {
    let of = |at: usize| {
        let heights = plot.series.iter();
        heights.filter_map(move |(_, heights)| *heights.get(at)?)
    };
    let categories = 0..plot.categories.len();
    if plot.stacked {
        let stack = |at| of(at).filter(|height| height.is_finite()).sum();
        categories.map(stack).collect()
    } else {
        categories.flat_map(of).collect()
    }
}

struct Drawing<'d> {
    plot: &'d Bars,
    looks: &'d [Style],
    frame: Frame,
    span: Span,
}

impl Drawing<'_> {
    /// The bars of category `at`, in `room` pixels from `left` on.
    fn category(&self, canvas: &mut Canvas, at: usize, (left, room): (f64, f64)) -> fmt::Result {
        let stacked = self.plot.stacked;
        let side = self.plot.series.len() as f64;
        let each = if stacked { room } else { room / side };
        let mut foot = 0.0;
        let series = self.plot.series.iter().zip(self.looks);
        for (place, ((_, heights), style)) in series.enumerate() {
            let height = heights.get(at).copied().flatten();
            let share = height.and_then(|height| self.span.share(foot + height));
            let (Some(height), Some(share)) = (height, share) else {
                continue;
            };
            let x = if stacked {
                left
            } else {
                left + each * place as f64
            };
            let base = self.span.share(foot).unwrap_or(0.0).max(0.0);
            let (base, top) = (self.frame.y(base), self.frame.y(share));
            canvas.bar((x, base), (x + each, top), style)?;
            if stacked {
                foot += height;
            }
        }
        Ok(())
    }
}
