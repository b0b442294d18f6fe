//! The curves as SVG: recall against speed, and recall against page reads, side by side.

use std::fmt::Display;

use pageway::{Error, ErrorKind, Result};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::sweep::{Reading, Readings};
use crate::text;

const SIZE: (u32, u32) = (1080, 460);
const INK: RGBColor = RGBColor(31, 41, 55);
const GRID: RGBColor = RGBColor(229, 231, 235);
const CURVE: RGBColor = RGBColor(37, 99, 235);
const MARK: RGBColor = RGBColor(217, 119, 6);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane = Cartesian2d<RangedCoordf64, RangedCoordf64>;
type Chart<'c, 'a> = ChartContext<'c, SVGBackend<'a>, Plane>;

/// What one panel shows over recall.
struct Panel<'p> {
    title: &'p str,
    y_name: &'p str,
    /// Pixels from a mark to its label, away from the curve.
    label: (i32, i32),
    value: fn(&Reading) -> f64,
}

const PANELS: [Panel<'static>; 2] = [
    Panel {
        title: "Recall against speed",
        y_name: "queries per second (1 thread)",
        label: (-34, 12),
        value: |reading| reading.qps,
    },
    Panel {
        title: "Recall against page reads",
        y_name: "pages read per query",
        label: (-32, -20),
        value: |reading| reading.pages_per_query,
    },
];

/// Draws the curve, and the targets on it.
pub(super) fn draw(readings: &Readings) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let areas = root.split_evenly((1, PANELS.len()));
        for (area, panel) in areas.iter().zip(&PANELS) {
            panel.draw(area, &readings.curve, &readings.targets)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

impl Panel<'_> {
    fn draw(&self, area: &Area<'_>, curve: &[Reading], targets: &[Reading]) -> Result<()> {
        let place = |reading: &Reading| (reading.recall, (self.value)(reading));
        let all = || curve.iter().chain(targets).map(place);
        let left = all().map(|(recall, _)| recall).fold(0.95, f64::min);
        let left = (left * 20.0).floor() / 20.0;
        let top = all().map(|(_, value)| value).fold(1.0, f64::max) * 1.1;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 20).into_font().color(&INK))
            .margin(16)
            .margin_right(28)
            .x_label_area_size(46)
            .y_label_area_size(74)
            .build_cartesian_2d(left..1.002, 0.0..top)
            .map_err(failed)?;
        self.draw_axes(&mut chart)?;
        let line = LineSeries::new(curve.iter().map(place), CURVE.stroke_width(2));
        chart.draw_series(line).map_err(failed)?;
        let dots = curve
            .iter()
            .map(|reading| Circle::new(place(reading), 3, CURVE.filled()));
        chart.draw_series(dots).map_err(failed)?;
        let marks = targets.iter().map(|reading| {
            let name = reading
                .target
                .map_or(String::new(), |target| format!("{target:.2}"));
            let font = ("sans-serif", 13).into_font().color(&MARK);
            EmptyElement::at(place(reading))
                + Circle::new((0, 0), 6, MARK.filled())
                + Text::new(name, self.label, font)
        });
        chart.draw_series(marks).map_err(failed)?;
        Ok(())
    }

    fn draw_axes(&self, chart: &mut Chart<'_, '_>) -> Result<()> {
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_desc("recall@10 measured (orange: asked for)")
            .y_desc(self.y_name)
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|recall| format!("{recall:.2}"))
            .y_label_formatter(&|value| text::count(value.round() as u64))
            .label_style(("sans-serif", 13).into_font().color(&INK))
            .axis_desc_style(("sans-serif", 15).into_font().color(&INK))
            .draw()
            .map_err(failed)
    }
}

fn failed(error: impl Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the plot cannot be drawn: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::LatencyUs;

    fn reading(target: Option<f32>, recall: f64, qps: f64) -> Reading {
        let latency_us = LatencyUs {
            mean: 1.0,
            p50: 1.0,
            p99: 1.0,
        };
        Reading {
            target,
            list_size: 10,
            recall,
            pages_per_query: 50.0,
            qps,
            latency_us,
        }
    }

    #[test]
    fn axes_and_targets_are_named() {
        let curve = vec![reading(None, 0.9, 9000.0), reading(None, 0.99, 4000.0)];
        let targets = vec![reading(Some(0.95), 0.951, 6500.0)];
        let svg = draw(&Readings { targets, curve }).unwrap();
        for words in [
            "<svg",
            "recall@10",
            "queries per second",
            "pages read per query",
            "0.95",
        ] {
            assert!(svg.contains(words), "{words}");
        }
        assert!(svg.matches("<polyline").count() >= 2);
    }
}
