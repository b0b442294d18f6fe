//! Colour, dash and marker of every series: one per name over a whole report.
//!
//! A design looks the same in every figure, on the page and in the SVG files. Colours are those of
//! Okabe and Ito ("Color Universal Design", 2008), darkened where they would be faint on white, and
//! five more of the same spacing; from the eighth on lines are dashed, and markers differ all the
//! way, so that twelve series stay apart for every eye and in grey.

use serde::Serialize;

use super::document::{Figure, Plot, Report};

/// Shape of the marks of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Down,
    Cross,
    Star,
}

const MARKERS: [Marker; 7] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Down,
    Marker::Cross,
    Marker::Star,
];

/// Colours on white, and on dark.
const COLOURS: [(&str, &str); 12] = [
    ("#0072b2", "#4ba3e3"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2cc295"),
    ("#b8528f", "#e39ac6"),
    ("#d99100", "#f2b632"),
    ("#3aa0db", "#86cdf4"),
    ("#4a5560", "#b9c2cc"),
    ("#84841a", "#c9c95a"),
    ("#882255", "#d46a9e"),
    ("#4b3fa8", "#9c92f0"),
    ("#1f8f8f", "#63cfcf"),
    ("#8b5a2b", "#c8955f"),
];

/// Dashes, as SVG writes them: of the first seven series, of the rest, and of rounds to come.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// How a series looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Style {
    /// Colour on white.
    pub(super) light: &'static str,
    /// Colour on a dark ground.
    pub(super) dark: &'static str,
    /// Shape of its marks.
    pub(super) marker: Marker,
    /// Lengths of strokes and gaps; empty for a line without gaps.
    pub(super) dash: &'static str,
    /// Whether marks are outlines: told apart from the series of the same colour.
    pub(super) hollow: bool,
}

impl Style {
    fn numbered(number: usize) -> Self {
        let round = number / COLOURS.len();
        let late = usize::from(number % COLOURS.len() >= MARKERS.len());
        let pick = |from: &[&'static str], at: usize| from.get(at).copied().unwrap_or_default();
        let (light, dark) = COLOURS
            .get(number % COLOURS.len())
            .copied()
            .unwrap_or_default();
        Self {
            light,
            dark,
            marker: MARKERS
                .get(number % MARKERS.len())
                .copied()
                .unwrap_or(Marker::Circle),
            dash: pick(&DASHES, (round + late) % DASHES.len()),
            hollow: round % 2 == 1,
        }
    }
}

/// The styles of a report.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Styles {
    /// Names of series in the order of their first appearance.
    names: Vec<String>,
    /// The style of each.
    styles: Vec<Style>,
}

impl Styles {
    /// Styles for every series of a report.
    pub fn of(report: &Report) -> Self {
        let figures = report.sections.iter().flat_map(|section| &section.figures);
        let mut names: Vec<String> = Vec::new();
        for name in figures.flat_map(series_names) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        let styles = (0..names.len()).map(Style::numbered).collect();
        Self { names, styles }
    }

    /// Names and styles of the series of a figure, in the order of its legend. Bars are filled, but
    /// for one whose colour another of the same figure has already.
    pub(super) fn legend<'f>(&self, figure: &'f Figure) -> Vec<(&'f str, Style)> {
        let bars = matches!(figure.plot, Plot::Bars(_));
        let mut legend: Vec<(&str, Style)> = Vec::new();
        for name in series_names(figure) {
            let style = self.get(name);
            let taken = legend.iter().any(|(_, other)| other.light == style.light);
            let hollow = if bars { taken } else { style.hollow };
            legend.push((name, Style { hollow, ..style }));
        }
        legend
    }

    /// The style of a series; of a name that the report does not have, the first.
    fn get(&self, name: &str) -> Style {
        let place = self.names.iter().position(|known| known == name);
        let style = place.and_then(|place| self.styles.get(place));
        style.copied().unwrap_or_else(|| Style::numbered(0))
    }
}

/// Names of the series of a figure, in the order of its legend.
fn series_names(figure: &Figure) -> Vec<&str> {
    match &figure.plot {
        Plot::Lines(lines) => lines.series.iter().map(|s| s.name.as_str()).collect(),
        Plot::Bars(bars) => bars.series.iter().map(|(name, _)| name.as_str()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_series_differ_in_colour_and_the_next_in_outline() {
        for a in 0..24 {
            for b in 0..a {
                let (a, b) = (Style::numbered(a), Style::numbered(b));
                assert_ne!(a, b);
                assert!(a.light != b.light || a.hollow != b.hollow && a.dash != b.dash);
            }
        }
    }

    #[test]
    fn a_series_of_no_report_has_a_style() {
        assert_eq!(Styles::default().get("x"), Style::numbered(0));
    }
}
