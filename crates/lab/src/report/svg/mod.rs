//! Figures as SVG, for papers and for the Markdown report.
//!
//! Drawn directly and not by a plotting library, because the spacing of recall, the markers and the
//! dashes have to be those of the page, at the accuracy of the numbers. Quantities beside the plot,
//! its legend to the right, colours of [`Styles`] on white.

mod axis;
mod bars;
mod canvas;
mod lines;

use std::fmt;

use pageway::{Error, ErrorKind, Result};

use super::document::{Axis, Figure, Plot};
use super::style::{Style, Styles};
use axis::Span;
use canvas::{Anchor, Canvas, FAINT, GRID, INK, Text};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 540.0;
const TOP: f64 = 78.0;
const LEGEND_ROW: f64 = 22.0;
const LEGEND_MARK: f64 = 30.0;

/// One figure, 960 wide. A figure without numbers is its frame and a sentence.
pub fn svg(figure: &Figure, styles: &Styles) -> Result<String> {
    drawn(figure, styles).map_err(|error| {
        let words = format!("the figure {} cannot be drawn: {error}", figure.id);
        Error::new(ErrorKind::Internal, words)
    })
}

fn drawn(figure: &Figure, styles: &Styles) -> std::result::Result<String, fmt::Error> {
    let legend = styles.legend(figure);
    let names = legend.iter().map(|(name, _)| canvas::width(name, 13.0));
    let beside = names.fold(0.0, f64::max) + LEGEND_MARK + 24.0;
    let rows = TOP + 40.0 + LEGEND_ROW * legend.len() as f64;
    let mut canvas = Canvas::new(WIDTH, rows.max(HEIGHT));
    let right = WIDTH - beside.min(WIDTH / 3.0) - 16.0;
    head(&mut canvas, figure)?;
    let looks: Vec<Style> = legend.iter().map(|(_, style)| *style).collect();
    match &figure.plot {
        Plot::Lines(plot) => lines::draw(&mut canvas, plot, &looks, right)?,
        Plot::Bars(plot) => bars::draw(&mut canvas, plot, &looks, right)?,
    }
    let curves = matches!(figure.plot, Plot::Lines(_));
    for (row, (name, style)) in legend.iter().enumerate() {
        let y = TOP + 8.0 + LEGEND_ROW * row as f64;
        let x = right + 22.0;
        canvas.key((x, y), style, curves)?;
        let x = x + LEGEND_MARK;
        canvas.text(Text {
            at: (x, y + 4.5),
            words: &canvas::fitted(name, 13.0, WIDTH - 8.0 - x),
            size: 13.0,
            ink: INK,
            ..Text::default()
        })?;
    }
    Ok(canvas.finish(&figure.title))
}

fn head(canvas: &mut Canvas, figure: &Figure) -> fmt::Result {
    const PREDICTED: &str = "Prediction of a model, not measured";
    let aside = if figure.predicted {
        canvas::width(PREDICTED, 13.0) + 20.0
    } else {
        0.0
    };
    let room = WIDTH - 40.0 - aside;
    let size = 17.0 * (room / canvas::width(&figure.title, 17.0)).clamp(0.6, 1.0);
    canvas.text(Text {
        at: (20.0, 30.0),
        words: &canvas::fitted(&figure.title, size, room),
        size,
        ink: INK,
        bold: true,
        ..Text::default()
    })?;
    if !figure.predicted {
        return Ok(());
    }
    canvas.text(Text {
        at: (WIDTH - 20.0, 30.0),
        words: PREDICTED,
        size: 13.0,
        ink: "#8a4b00",
        anchor: Anchor::End,
        bold: true,
        ..Text::default()
    })
}

/// Where a plot lies on the canvas.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Frame {
    left: f64,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, share: f64) -> f64 {
        self.left + (self.right - self.left) * share
    }

    fn y(&self, share: f64) -> f64 {
        self.bottom - (self.bottom - TOP) * share
    }
}

/// Room to the left of a plot, for the widest number on its upright axis.
fn left_of(span: &Span) -> f64 {
    let widths = span
        .ticks()
        .into_iter()
        .map(|(_, name)| canvas::width(&name, 12.0));
    28.0 + widths.fold(0.0, f64::max)
}

/// Grid lines, numbers and name of the upright axis, and the foot line.
fn upright(canvas: &mut Canvas, frame: &Frame, axis: &Axis, span: &Span) -> fmt::Result {
    for (share, name) in span.ticks() {
        let y = frame.y(share);
        canvas.line((frame.left, y), (frame.right, y), GRID)?;
        canvas.text(Text {
            at: (frame.left - 8.0, y + 4.0),
            words: &name,
            anchor: Anchor::End,
            ..Text::default()
        })?;
    }
    let foot = frame.y(0.0);
    canvas.line((frame.left, foot), (frame.right, foot), FAINT)?;
    canvas.text(Text {
        at: (20.0, TOP - 18.0),
        words: &axis.name,
        size: 13.0,
        ink: INK,
        ..Text::default()
    })
}

/// Said in the middle of a plot that has no numbers.
fn nothing(canvas: &mut Canvas, frame: &Frame) -> fmt::Result {
    canvas.text(Text {
        at: (frame.x(0.5), frame.y(0.5)),
        words: "no numbers",
        size: 14.0,
        anchor: Anchor::Middle,
        ..Text::default()
    })
}
