//! The curves as SVG: recall against speed, and recall against page reads, side by side.
//!
//! Both axes are logarithmic, recall in its misses, so that no reading squeezes the others.

use super::plot::spaced;
use super::sweep::{Reading, Readings};
use crate::text;

/// Left, right, top and bottom of the field of a panel, in pixels.
const FIELD: [f64; 4] = [78.0, 512.0, 52.0, 388.0];
const PANEL_WIDTH: f64 = 540.0;
const RECALLS: [f64; 10] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
const STYLE: &str = "text{font:13px sans-serif;fill:#1f2937}.t{font-size:19px}.m{fill:#b45309}\
    .g{stroke:#e5e7eb}.c{fill:none;stroke:#2563eb;stroke-width:2}";

/// What one panel shows over recall.
struct Panel {
    title: &'static str,
    y_name: &'static str,
    value: fn(&Reading) -> f64,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "Recall against speed",
        y_name: "queries per second (1 thread)",
        value: |reading| reading.qps,
    },
    Panel {
        title: "Recall against page reads",
        y_name: "pages read per query",
        value: |reading| reading.pages_per_query,
    },
];

/// Draws the curves, and the targets on them.
pub(super) fn draw(readings: &Readings) -> String {
    let mut panels = String::new();
    for (panel, left) in PANELS.iter().zip([0.0, PANEL_WIDTH]) {
        let drawn = panel.draw(readings);
        panels += &format!("<g transform=\"translate({left})\">{drawn}</g>");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1080 450\"><style>{STYLE}</style>\
         <rect width=\"1080\" height=\"450\" fill=\"#fff\"/>{panels}</svg>\n"
    )
}

impl Panel {
    fn draw(&self, readings: &Readings) -> String {
        let all = || readings.curve.iter().chain(&readings.targets);
        let x = Axis::of(
            all().map(|reading| spaced(reading.recall)),
            [FIELD[0], FIELD[1]],
        );
        let y = Axis::of(
            all().map(|reading| (self.value)(reading).max(0.01).log10()),
            [FIELD[3], FIELD[2]],
        );
        let place = |reading: &Reading| {
            let value = (self.value)(reading).max(0.01);
            (x.at(spaced(reading.recall)), y.at(value.log10()))
        };
        let [left, right, top, bottom] = FIELD;
        let mut svg = format!(
            "<text class=\"t\" x=\"{left}\" y=\"30\">{}</text>",
            self.title
        );
        for recall in RECALLS
            .into_iter()
            .filter(|recall| x.holds(spaced(*recall)))
        {
            let at = x.at(spaced(recall));
            svg += &format!("<path class=\"g\" d=\"M{at:.1} {top}V{bottom}\"/>");
            svg += &format!("<text x=\"{at:.1}\" y=\"408\" text-anchor=\"middle\">{recall}</text>");
        }
        for value in round_numbers().filter(|value| y.holds(value.log10())) {
            let at = y.at(value.log10());
            svg += &format!("<path class=\"g\" d=\"M{left} {at:.1}H{right}\"/>");
            let value = text::count(value as u64);
            svg += &format!(
                "<text x=\"70\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                at + 4.0
            );
        }
        let curve: Vec<String> = readings
            .curve
            .iter()
            .map(place)
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        svg += &format!("<polyline class=\"c\" points=\"{}\"/>", curve.join(" "));
        for reading in &readings.targets {
            let (x, y) = place(reading);
            let name = reading
                .target
                .map_or(String::new(), |target| format!("{target:.2}"));
            svg += &format!("<circle class=\"m\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>");
            svg += &format!(
                "<text class=\"m\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
                x + 9.0,
                y - 7.0
            );
        }
        let names = "recall@10 measured (orange: asked for)";
        svg += &format!("<text x=\"295\" y=\"434\" text-anchor=\"middle\">{names}</text>");
        let turned = "transform=\"translate(20 220) rotate(-90)\" text-anchor=\"middle\"";
        svg + &format!("<text {turned}>{}</text>", self.y_name)
    }
}

/// 1, 2, 5, 10 and so on.
fn round_numbers() -> impl Iterator<Item = f64> {
    (0..8).flat_map(|power| [1.0, 2.0, 5.0].map(|first| first * 10f64.powi(power)))
}

/// From numbers to pixels.
struct Axis {
    low: f64,
    high: f64,
    pixels: [f64; 2],
}

impl Axis {
    /// Of all numbers, with a little room on both sides.
    fn of(numbers: impl Iterator<Item = f64>, pixels: [f64; 2]) -> Self {
        let ends = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
            (low.min(number), high.max(number))
        });
        let room = ((ends.1 - ends.0) * 0.08).max(0.05);
        Self {
            low: ends.0 - room,
            high: ends.1 + room,
            pixels,
        }
    }

    fn at(&self, number: f64) -> f64 {
        let [from, to] = self.pixels;
        from + (to - from) * (number - self.low) / (self.high - self.low)
    }

    fn holds(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_shell::trace::LatencyUs;

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
        let svg = draw(&Readings {
            targets,
            curve,
            missed: Vec::new(),
        });
        for words in [
            "<svg",
            "recall@10",
            "queries per second",
            "pages read per query",
            "0.95",
        ] {
            assert!(svg.contains(words), "{words}");
        }
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
