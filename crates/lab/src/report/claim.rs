//! Published claims, judged by the records: cases with a value each, and bounds that the values of
//! a claim that holds lie within. How a case comes by its value is in `case`.
//!
//! ```text
//! lead      a design over its best rival, on each data set
//! change    a value of a setting over another, of each design, or of the lead of one
//! value     of each design on each data set
//! named     by a function, see `own`
//! ```

use serde::Deserialize;

use super::case::{Case, Group};
use super::document::{Finding, Verdict};
use super::figure::Sight;
use super::quantity::At;
use super::select::{self, Bounds, Fix, Pick};
use super::{group, own};
use crate::record::Record;

/// A row of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    /// What was published, in our words; what stands in brackets is told and not judged.
    pub(super) says: String,
    /// Where, if not where the whole experiment comes from.
    source: Option<String>,
    #[serde(default, rename = "where")]
    scope: Scope,
    lead: Option<Lead>,
    change: Option<Change>,
    value: Option<Spread>,
    named: Option<String>,
    holds: Bounds,
    /// Whether it holds when it does in most of the cases.
    #[serde(default)]
    most: bool,
}

/// Which records are looked at, and what in them.
#[derive(Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Scope {
    pub(super) of: String,
    pub(super) at: At,
    fix: Fix,
    among: Option<String>,
    but: Option<String>,
    dimensions: Bounds,
    /// The setting with a case for each value,
    each: Option<String>,
    /// that lies within these.
    wanted: Bounds,
}

/// A design over its best rival.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lead {
    pub(super) designs: Vec<String>,
    /// Its rival; all others where nothing is said.
    pub(super) against: Option<String>,
    /// Whether each rival counts, and not the best alone.
    #[serde(default)]
    pub(super) over_all: bool,
    /// Whether the rival is divided by the design.
    #[serde(default)]
    pub(super) inverse: bool,
}

/// A value of a setting over another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) over: String,
    /// From which value to which; from the first to the last unless said.
    pub(super) step: Option<[Pick; 2]>,
    /// The design whose lead changes, and the rival.
    #[serde(default)]
    pub(super) designs: Vec<String>,
    pub(super) against: Option<String>,
    /// Whether the quotient is that of the first by the last,
    #[serde(default)]
    pub(super) inverse: bool,
    /// is divided by that of the settings,
    #[serde(default)]
    pub(super) per: bool,
    /// or a difference is meant.
    #[serde(default)]
    pub(super) minus: bool,
    /// Whether values that are bounds do not count.
    #[serde(default)]
    pub(super) unbound: bool,
    /// The setting of which the greatest value with numbers is taken.
    pub(super) widest: Option<String>,
}

/// Values themselves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spread {
    /// Whether the least and the greatest of all cells count.
    #[serde(default)]
    spread: bool,
}

impl Claim {
    /// What came of it.
    pub(super) fn judge(&self, sight: Sight<'_>, source: &str, records: &[&Record]) -> Finding {
        let judged = |(values, words): Case| {
            let holds = !values.is_empty() && values.iter().all(|value| self.holds.hold(*value));
            (holds, words)
        };
        let cases: Vec<(bool, String)> =
            self.cases(sight, records).into_iter().map(judged).collect();
        let holding = cases.iter().filter(|(holds, _)| *holds).count();
        let verdict = match holding {
            _ if cases.is_empty() => Verdict::NotMeasured,
            0 => Verdict::Differs,
            _ if holding == cases.len() || (self.most && 2 * holding > cases.len()) => {
                Verdict::Agrees
            }
            _ => Verdict::Partly,
        };
        Finding {
            claim: self.says.clone(),
            source: self.source.as_deref().unwrap_or(source).to_owned(),
            verdict,
            cases,
        }
    }

    /// Whether it can be judged at all.
    #[cfg(test)]
    pub(super) fn has_bound(&self) -> bool {
        let rules = [
            self.lead.is_some(),
            self.change.is_some(),
            self.value.is_some(),
            self.named.is_some(),
        ];
        self.holds.say_anything() && rules.iter().filter(|rule| **rule).count() == 1
    }

    fn cases(&self, sight: Sight<'_>, records: &[&Record]) -> Vec<Case> {
        if let Some(name) = &self.named {
            return own::cases(sight, (name, &self.scope.of), records);
        }
        let published = |record: &&&Record| record.design != own::OURS;
        let records: Vec<&Record> = records.iter().filter(published).copied().collect();
        let mut cases = Vec::new();
        for (label, records) in self.scope.groups(sight, &records) {
            let of = Group {
                sight,
                scope: &self.scope,
                label,
                records,
            };
            match (&self.lead, &self.change, &self.value) {
                (Some(lead), ..) => cases.extend(of.lead(lead, self.holds.upwards())),
                (_, Some(change), _) => cases.extend(of.change(change)),
                (.., value) => {
                    cases.extend(of.value(value.as_ref().is_some_and(|value| value.spread)));
                }
            }
        }
        cases
    }
}

impl Scope {
    /// Records of each data set, and of each value of a setting where that is asked for, with words
    /// that tell the group apart.
    fn groups<'r>(
        &self,
        sight: Sight<'_>,
        records: &[&'r Record],
    ) -> Vec<(String, Vec<&'r Record>)> {
        let is = |record: &Record, kind: &String| select::is_of_kind(sight.run, record, kind);
        let mut kept = records.to_vec();
        kept.retain(|record| self.among.as_ref().is_none_or(|kind| is(record, kind)));
        kept.retain(|record| !self.but.as_ref().is_some_and(|kind| is(record, kind)));
        let mut groups = Vec::new();
        for (data, records) in select::families(&kept, sight.cut) {
            if !select::has_dimensions(&records, self.dimensions) {
                continue;
            }
            let records = select::fixed(&records, &self.fix);
            let Some(axis) = &self.each else {
                groups.push((data, records));
                continue;
            };
            let setting = sight.book.setting(axis);
            for (value, records) in group::by_axis(&records, axis) {
                if self.wanted.hold(value) {
                    let words = setting.words(&setting.format.text(value));
                    groups.push((format!("{data}, {words}"), records));
                }
            }
        }
        groups
    }
}
