//! Calibrations as they are stored, and as they were before there was a curve for each k: a table
//! of list sizes with recall at three ranks.

use serde::Deserialize;

use super::curve::{CalibrationCurve, CalibrationRow};
use super::surface::Calibration;

/// The ranks of a former table.
const FORMER_RANKS: [u32; 3] = [1, 10, 100];

/// Either form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredCalibration {
    queries: u32,
    held_out: bool,
    #[serde(default)]
    apart: bool,
    beam: u32,
    #[serde(default)]
    curves: Vec<CalibrationCurve>,
    #[serde(default)]
    rows: Vec<FormerRow>,
    #[serde(default)]
    longest: Option<f32>,
}

/// Means at one list size, for each of the ranks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormerRow {
    list_size: u32,
    recall: [f32; 3],
    standard_error: [f32; 3],
    pages: f32,
    rounds: f32,
}

impl From<StoredCalibration> for Calibration {
    fn from(stored: StoredCalibration) -> Self {
        let mut curves = stored.curves;
        if curves.is_empty() && !stored.rows.is_empty() {
            curves = former_curves(&stored.rows, stored.queries);
        }
        Self {
            queries: stored.queries,
            held_out: stored.held_out,
            apart: stored.apart,
            beam: stored.beam,
            curves,
            longest: stored.longest,
        }
    }
}

fn former_curves(rows: &[FormerRow], queries: u32) -> Vec<CalibrationCurve> {
    let place = |at: usize, k: u32| {
        let point = |row: &FormerRow| {
            let value = |values: &[f32; 3]| values.get(at).copied().unwrap_or(0.0);
            CalibrationRow {
                list_size: row.list_size,
                queries,
                recall: value(&row.recall),
                lost_by_codes: 0.0,
                standard_error: value(&row.standard_error),
                recall_p5: 0.0,
                pages: row.pages,
                rounds: row.rounds,
            }
        };
        let mut curve = CalibrationCurve::of(k, rows.iter().map(point).collect());
        curve.make_monotone();
        curve
    };
    let ranks = FORMER_RANKS.into_iter().enumerate();
    ranks.map(|(at, k)| place(at, k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_table_becomes_a_curve_for_each_of_its_ranks() {
        let json = r#"{"queries": 50, "held_out": true, "beam": 4, "rows": [
            {"list_size": 8, "recall": [0.8, 0.7, 0.1], "standard_error": [0.1, 0.1, 0.1],
             "pages": 3.0, "rounds": 2.0},
            {"list_size": 16, "recall": [0.9, 0.85, 0.2], "standard_error": [0.0, 0.0, 0.0],
             "pages": 5.0, "rounds": 4.0}]}"#;
        let calibration: Calibration = serde_json::from_str(json).unwrap();
        let ranks: Vec<u32> = calibration.curves.iter().map(|curve| curve.k).collect();
        assert_eq!(ranks, FORMER_RANKS);
        assert_eq!(calibration.list_size_for(10, 0.85).unwrap(), 16);
        let written = serde_json::to_string(&calibration).unwrap();
        let read: Calibration = serde_json::from_str(&written).unwrap();
        assert_eq!(read, calibration);
        assert!(serde_json::from_str::<Calibration>(r#"{"queries": 1, "who": 2}"#).is_err());
    }
}
