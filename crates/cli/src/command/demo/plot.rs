//! A curve as text, for a terminal of 80 columns.

use crate::text;

const WIDTH: usize = 60;
const HEIGHT: usize = 12;
const DOT: char = '.';
const MARK: char = 'O';

/// A recall as a distance along an axis: the logarithm of its misses, so that 0.9 and 0.99 lie as
/// far apart as 0.99 and 0.999.
pub(super) fn spaced(recall: f64) -> f64 {
    -(1.0 - recall).max(1e-4).log10()
}

/// A curve with some of its places marked.
pub(super) struct Plot<'p> {
    pub(super) title: &'p str,
    pub(super) x_name: &'p str,
    /// Places on the curve.
    pub(super) curve: Vec<(f64, f64)>,
    /// Places that count.
    pub(super) marks: Vec<(f64, f64)>,
}

/// Lowest and highest of some numbers, never of no width.
#[derive(Clone, Copy)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers {
            (low, high) = (low.min(number), high.max(number));
        }
        if low < high {
            Self { low, high }
        } else {
            Self {
                low,
                high: low + 1.0,
            }
        }
    }

    /// Where `number` falls among `places` of equal width.
    fn place(self, number: f64, places: usize) -> usize {
        let share = (number - self.low) / (self.high - self.low);
        (share * (places - 1) as f64).round() as usize
    }
}

impl Plot<'_> {
    /// The plot: recall to the right, spaced by its misses, the other axis from zero upwards.
    pub(super) fn render(&self) -> String {
        let both = || self.curve.iter().chain(&self.marks);
        let x = Span::of(both().map(|place| spaced(place.0)));
        let recalls = Span::of(both().map(|place| place.0));
        let y = Span::of(both().map(|place| place.1).chain([0.0]));
        let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
        let mut put = |&(at_x, at_y): &(f64, f64), mark: char| {
            let row = HEIGHT - 1 - y.place(at_y, HEIGHT);
            let cell = grid
                .get_mut(row)
                .and_then(|row| row.get_mut(x.place(at_x, WIDTH)));
            if let Some(cell) = cell {
                *cell = mark;
            }
        };
        self.line().iter().for_each(|place| put(place, DOT));
        self.marks
            .iter()
            .for_each(|place| put(&(spaced(place.0), place.1), MARK));
        let mut lines = format!("  {}\n", self.title);
        for (row, cells) in grid.iter().enumerate() {
            let label = match row {
                0 => text::figure(y.high),
                row if row == HEIGHT - 1 => text::figure(y.low.max(0.0)),
                _ => String::new(),
            };
            let cells: String = cells.iter().collect();
            lines.push_str(&format!("  {label:>9} |{}\n", cells.trim_end()));
        }
        lines.push_str(&format!("  {:>9} +{}\n", "", "-".repeat(WIDTH)));
        let (left, right) = (
            format!("{:.3}", recalls.low),
            format!("{:.3}", recalls.high),
        );
        let name = format!(
            "{:^width$}",
            self.x_name,
            width = WIDTH - left.len() - right.len()
        );
        lines.push_str(&format!("  {:>9}  {left}{name}{right}\n", ""));
        lines
    }

    /// The curve with straight lines between its places, recall spaced.
    fn line(&self) -> Vec<(f64, f64)> {
        let between = |(from, to): (&(f64, f64), &(f64, f64))| {
            let (from, to) = ((spaced(from.0), from.1), (spaced(to.0), to.1));
            (0..=WIDTH).map(move |step| {
                let share = step as f64 / WIDTH as f64;
                (
                    from.0 + (to.0 - from.0) * share,
                    from.1 + (to.1 - from.1) * share,
                )
            })
        };
        self.curve
            .iter()
            .zip(self.curve.iter().skip(1))
            .flat_map(between)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_lie_in_corners() {
        let plot = Plot {
            title: "t",
            x_name: "recall",
            curve: vec![(0.5, 100.0), (1.0, 0.0)],
            marks: vec![(0.5, 100.0)],
        };
        let text = plot.render();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 3);
        assert!(lines[1].starts_with("        100 |O."), "{text}");
        assert!(lines[HEIGHT].ends_with(DOT), "{text}");
        assert_eq!(lines[HEIGHT].chars().count(), 13 + WIDTH);
        assert!(lines[HEIGHT + 2].contains("0.500") && lines[HEIGHT + 2].ends_with("1.000"));
    }

    #[test]
    fn one_place_is_enough() {
        let plot = Plot {
            title: "",
            x_name: "",
            curve: vec![],
            marks: vec![(1.0, 0.0)],
        };
        assert!(plot.render().contains(MARK));
    }
}
