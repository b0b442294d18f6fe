//! Spacing of axes: from a value to its share of the axis, and where numbers stand on it.

use crate::report::document::Scale;

/// Fewest misses that are told apart on an axis of recall: a recall of 1 has no logarithm.
const LEAST_MISSES: f64 = 5e-4;
/// Numbers on an axis of recall.
const RECALLS: [f64; 10] = [0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0];

/// What an axis covers, in even steps of its scale.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

/// Where a value lies on a scale, in even steps; `None` where it does not lie at all.
fn place(scale: Scale, value: f64) -> Option<f64> {
    let place = match scale {
        Scale::Linear => value,
        Scale::Log if value <= 0.0 => return None,
        Scale::Log => value.log10(),
        Scale::Recall => -(1.0 - value).max(LEAST_MISSES).log10(),
    };
    (place.is_finite() && value.is_finite()).then_some(place)
}

impl Span {
    /// Covers all `values`, with a little room; from zero on where `bars` stand on it or, on an
    /// even axis, where zero is near.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64>, bars: bool) -> Self {
        let places = values.filter_map(|value| place(scale, value));
        let limits = places.fold(None, |limits: Option<(f64, f64)>, at| {
            let (low, high) = limits.unwrap_or((at, at));
            Some((low.min(at), high.max(at)))
        });
        let (low, high) = limits.unwrap_or((0.0, 1.0));
        let (low, high) = match scale {
            Scale::Log if bars => (low.min(high - 0.1).floor(), high + 0.05),
            Scale::Linear if low >= 0.0 && (bars || low < 0.35 * high) => (0.0, 1.05 * high),
            Scale::Recall if bars => (0.0, 1.05 * high),
            Scale::Linear | Scale::Log | Scale::Recall => {
                let room = 0.05 * (high - low);
                (low - room, high + room)
            }
        };
        let room = if high - low > 1e-9 * high.abs() {
            0.0
        } else {
            0.5
        };
        Self {
            scale,
            low: low - room,
            high: high + room,
        }
    }

    /// Share of the axis before `value`.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let at = place(self.scale, value)?;
        Some((at - self.low) / (self.high - self.low))
    }

    /// Numbers on the axis, and their shares.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        self.written(match self.scale {
            Scale::Linear => even(self.low, self.high),
            Scale::Log => decades(self.low, self.high),
            Scale::Recall => RECALLS.to_vec(),
        })
    }

    /// As [`Span::ticks`], but where `values` are settings, few and round, such as beams of 1, 2, 4
    /// and 8, they are the numbers on the axis.
    pub(super) fn ticks_at(&self, values: impl Iterator<Item = f64>) -> Vec<(f64, String)> {
        let mut settings: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        settings.sort_by(f64::total_cmp);
        settings.dedup();
        let few = (2..=9).contains(&settings.len()) && settings.iter().all(|value| round(*value));
        if few && self.scale != Scale::Recall {
            self.written(settings)
        } else {
            self.ticks()
        }
    }

    fn written(&self, values: Vec<f64>) -> Vec<(f64, String)> {
        let inside = |value| {
            let share = self.share(value)?;
            (-1e-9..=1.0 + 1e-9)
                .contains(&share)
                .then(|| (share, number(value)))
        };
        values.into_iter().filter_map(inside).collect()
    }
}

/// Whether a setting would be chosen: whole, or of two digits.
fn round(value: f64) -> bool {
    let two_digits = format!("{value:.1e}").parse::<f64>();
    (value.fract() == 0.0 && value.abs() < 1e6) || two_digits.is_ok_and(|near| near == value)
}

/// About six round values from `low` to `high`.
fn even(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last.min(first + 20))
        .map(|count| count as f64 * step)
        .collect()
}

/// Powers of ten, and twice and five times them where there is room.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high - low > 3.0 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    (low.floor() as i32..=high.ceil() as i32)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .collect()
}

/// A number in at most six letters: `0.25`, `16384`, `20k`, `1.5M`.
fn number(value: f64) -> String {
    let odd = value.fract() == 0.0 && value.abs() < 1e5 && value % 100.0 != 0.0;
    if odd {
        return value.to_string();
    }
    const UNITS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let unit = UNITS.iter().find(|(from, _)| value.abs() >= *from);
    let (shown, unit) = match unit {
        Some((_, "k")) => (value / 1e3, "k"),
        Some((size, unit)) => (value / size, *unit),
        None => (value, ""),
    };
    let decimals = match shown.abs() {
        0.0 => 0,
        size => (3 - size.log10().floor() as i32).clamp(0, 9) as usize,
    };
    let text = format!("{shown:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(span: Span) -> Vec<String> {
        span.ticks().into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn nines_of_recall_lie_evenly() {
        let span = Span::around(Scale::Recall, [0.5, 0.9, 0.99, 1.0].into_iter(), false);
        let at = |recall| span.share(recall).unwrap();
        assert!((at(0.99) - at(0.9) - (at(0.999) - at(0.99))).abs() < 1e-9);
        assert!(at(1.0) <= 1.0);
        assert_eq!(
            names(span),
            [
                "0.5", "0.8", "0.9", "0.95", "0.98", "0.99", "0.995", "0.999", "1"
            ]
        );
    }

    #[test]
    fn values_lie_within_their_span_on_every_scale() {
        for scale in [Scale::Linear, Scale::Log, Scale::Recall] {
            for values in [vec![0.2, 0.7, 0.999], vec![0.3], vec![0.94, 0.95]] {
                let span = Span::around(scale, values.iter().copied(), false);
                for value in values {
                    let share = span.share(value).unwrap();
                    assert!((0.0..=1.0).contains(&share), "{scale:?} {value}");
                }
                assert!(!span.ticks().is_empty() || scale != Scale::Linear);
            }
        }
    }

    #[test]
    fn what_is_no_number_has_no_place() {
        assert_eq!(place(Scale::Log, 0.0), None);
        assert_eq!(place(Scale::Linear, f64::NAN), None);
        assert_eq!(place(Scale::Recall, f64::INFINITY), None);
        let span = Span::around(Scale::Log, [f64::NAN, -1.0].into_iter(), false);
        assert!(span.share(3.0).unwrap().is_finite());
    }

    #[test]
    fn a_few_settings_are_the_numbers_of_an_axis_of_factors() {
        let beams = [1.0, 2.0, 4.0, 8.0, 4.0, f64::NAN];
        let span = Span::around(Scale::Log, beams.into_iter(), false);
        let names: Vec<String> = span
            .ticks_at(beams.into_iter())
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names, ["1", "2", "4", "8"]);
    }

    #[test]
    fn bars_stand_on_zero() {
        let span = Span::around(Scale::Linear, [80.0, 100.0].into_iter(), true);
        assert_eq!(span.share(0.0), Some(0.0));
        assert_eq!(names(span), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (0.995, "0.995"),
            (1500.0, "1500"),
            (16_384.0, "16384"),
            (20_000.0, "20k"),
            (1_500_000.0, "1.5M"),
            (-3.0, "-3"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
