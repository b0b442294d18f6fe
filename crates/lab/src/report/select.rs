//! Which records of an experiment are meant: those with one value of a setting, on
//! some of the data, of some of the designs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{cut, group, method, storage};
use crate::record::{Record, Run};

/// Settings of which one value is meant.
pub(super) type Fix = BTreeMap<String, Pick>;

/// One value of a setting.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Pick {
    /// This one.
    Number(f64),
    /// One of those that there are.
    Place(ValuePlace),
}

/// A place among the values of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ValuePlace {
    /// The least.
    First,
    /// The middle of those that most designs have.
    Middle,
    /// The greatest.
    Last,
}

/// What a value is compared with.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Bounds {
    above: Option<f64>,
    below: Option<f64>,
    from: Option<f64>,
    to: Option<f64>,
}

impl Bounds {
    /// Whether a value lies within.
    pub(super) fn hold(&self, value: f64) -> bool {
        self.above.is_none_or(|bound| value > bound)
            && self.below.is_none_or(|bound| value < bound)
            && self.from.is_none_or(|bound| value >= bound)
            && self.to.is_none_or(|bound| value <= bound)
    }

    /// Whether large values are what the bounds ask for: they have a lower end.
    pub(super) fn upwards(&self) -> bool {
        self.above.is_some() || self.from.is_some()
    }

    /// Whether they say anything.
    pub(super) fn say_anything(&self) -> bool {
        *self != Self::default()
    }
}

impl Pick {
    /// The value, among those that records have.
    pub(super) fn value(self, records: &[&Record], axis: &str) -> Option<f64> {
        let groups = group::by_axis(records, axis);
        match self {
            Self::Number(number) => Some(number),
            Self::Place(ValuePlace::First) => groups.first().map(|(value, _)| *value),
            Self::Place(ValuePlace::Last) => groups.last().map(|(value, _)| *value),
            Self::Place(ValuePlace::Middle) => {
                let designs = |(_, records): &(f64, Vec<&Record>)| group::by_design(records).len();
                let most = groups.iter().map(designs).max();
                let common: Vec<f64> = groups
                    .iter()
                    .filter(|each| Some(designs(each)) == most)
                    .map(|(value, _)| *value)
                    .collect();
                common.get(common.len() / 2).copied()
            }
        }
    }
}

/// Records with the values that are meant. A place among the values of a setting that no record has
/// leaves all.
pub(super) fn fixed<'r>(records: &[&'r Record], fix: &Fix) -> Vec<&'r Record> {
    let mut kept = records.to_vec();
    for (axis, pick) in fix {
        let value = pick.value(&kept, axis);
        if value.is_some() {
            kept.retain(|record| record.axis(axis) == value);
        }
    }
    kept
}

/// Records by data; cuts of `rows` or of `dimensions` together where that is asked for.
pub(super) fn families<'r>(
    records: &[&'r Record],
    cut: Option<&str>,
) -> Vec<(String, Vec<&'r Record>)> {
    match cut {
        Some("rows") => cut::by_rows(records),
        Some(_) => cut::by_dimensions(records),
        None => group::by(records, |record| Some(record.data.clone())),
    }
}

/// Whether the data of records have so many dimensions.
pub(super) fn has_dimensions(records: &[&Record], wanted: Bounds) -> bool {
    !wanted.say_anything() || method::dimensions(records).is_some_and(|many| wanted.hold(many))
}

/// Whether a design is one of a kind: its name, the beginning of its name before `*`, or where its
/// codes lie.
pub(super) fn is_of_kind(run: &Run, record: &Record, kind: &str) -> bool {
    let on_disk = || storage::all_on_disk(run, &record.data, &record.design);
    match (kind, kind.strip_suffix('*')) {
        ("codes on disk", _) => on_disk() == Some(true),
        ("codes in memory", _) => on_disk() == Some(false),
        (_, Some(beginning)) => record.design.starts_with(beginning),
        (name, None) => record.design == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{search, set};

    #[test]
    fn bounds_include_or_exclude_their_ends() {
        let bounds = |text: &str| toml::from_str::<Bounds>(text).unwrap();
        let range = bounds("from = 0.05\nto = 0.13");
        assert!([0.05, 0.1, 0.13].iter().all(|value| range.hold(*value)));
        assert!(!range.hold(0.0499) && !range.hold(0.1301));
        let strict = bounds("above = 1.0");
        assert!(!strict.hold(1.0) && strict.hold(1.001) && strict.upwards());
        assert!(!bounds("below = 1.0").hold(1.0) && !bounds("below = 1.0").upwards());
    }

    #[test]
    fn the_middle_is_one_that_most_designs_have() {
        let at = |design: &str, list: u64| search("recall", "a", design, list, 0.9);
        let mut records = vec![at("diskann", 5), at("starling", 40)];
        records.extend(
            [10, 20, 30]
                .iter()
                .flat_map(|list| [at("diskann", *list), at("starling", *list)]),
        );
        let records: Vec<&Record> = records.iter().collect();
        let middle = Pick::Place(ValuePlace::Middle);
        assert_eq!(middle.value(&records, "list_size"), Some(20.0));
        let fix: Fix = [("list_size".to_owned(), Pick::Place(ValuePlace::Last))].into();
        assert_eq!(fixed(&records, &fix).len(), 1);
        let unknown: Fix = [("beam".to_owned(), Pick::Place(ValuePlace::First))].into();
        assert_eq!(fixed(&records, &unknown).len(), records.len());
    }

    #[test]
    fn a_number_keeps_its_records_alone() {
        let records = [0.1, 0.3].map(|memory| {
            set(
                search("memory", "a", "diskann", 10, 0.9),
                "memory_ratio",
                memory,
            )
        });
        let records: Vec<&Record> = records.iter().collect();
        let fix: Fix = [("memory_ratio".to_owned(), Pick::Number(0.2))].into();
        assert!(fixed(&records, &fix).is_empty());
    }
}
