//! What Chen et al., 2026, section 4.3.5, say of updates, beside what was measured. The paper's
//! figures are of `OdinANN` in place and `FreshDiskANN` out of place; the same is asked of each
//! design that changes pages of its segment, beside each that does not.

use serde::Serialize;

use super::record::{RecordTimes, UpdateRecord, UpdateRound};

/// Whether a finding is ours too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingVerdict {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// Times of one of the designs were not measured.
    NotMeasured,
}

/// A published finding, and the same of what was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UpdateFinding {
    /// The design in place, and the one out of place.
    pub designs: [String; 2],
    /// Of which round.
    #[serde(flatten)]
    pub round: UpdateRound,
    /// What was published, in our words.
    pub says: &'static str,
    /// The figure on SIFT1M, Deep and GIST.
    pub published: [f64; 3],
    /// What was measured.
    pub measured: Option<f64>,
    /// Whether it is as was said.
    pub verdict: FindingVerdict,
}

/// What is said, its figures, what is measured, and between what it must lie.
type PublishedFinding = (
    &'static str,
    [f64; 3],
    fn(&RecordTimes, &RecordTimes) -> f64,
    [f64; 2],
);

const CLAIMS: [PublishedFinding; 3] = [
    (
        "in place answers more queries in a second beside updates than out of place",
        [1.22, 1.15, 1.27],
        |inside, outside| inside.queries_per_second / outside.queries_per_second,
        [1.0, f64::INFINITY],
    ),
    (
        "an update takes longer in place than out of place",
        [9.7, 7.5, 6.8],
        |inside, outside| inside.update.mean / outside.update.mean,
        [1.0, f64::INFINITY],
    ),
    (
        "a merge out of place takes about as long as in place",
        [0.99, 0.85, 1.58],
        |inside, outside| outside.until_merged() / inside.until_merged(),
        [0.85, 1.58],
    ),
];

/// All findings, of each design in place beside each out of place in the same round.
pub(super) fn findings(records: &[UpdateRecord]) -> Vec<UpdateFinding> {
    let asked = records.iter().filter(|record| record.refused.is_none());
    let (inside, outside): (Vec<_>, Vec<_>) = asked.partition(|record| record.in_place);
    let pairs = inside.iter().flat_map(|one| {
        let same = outside.iter().filter(|other| other.round == one.round);
        same.map(move |other| (*one, *other))
    });
    pairs.flat_map(|(one, other)| judge(one, other)).collect()
}

/// The findings of a design in place and one out of place.
fn judge(inside: &UpdateRecord, outside: &UpdateRecord) -> [UpdateFinding; CLAIMS.len()] {
    CLAIMS.map(|(says, published, measure, [least, most])| {
        let both = inside.timed.as_ref().zip(outside.timed.as_ref());
        let measured = both.map(|(inside, outside)| measure(inside, outside));
        let measured = measured.filter(|value| value.is_finite());
        let verdict = match measured {
            Some(value) if (least..=most).contains(&value) => FindingVerdict::Holds,
            Some(_) => FindingVerdict::Fails,
            None => FindingVerdict::NotMeasured,
        };
        UpdateFinding {
            designs: [inside.design.clone(), outside.design.clone()],
            round: inside.round.clone(),
            says,
            published,
            measured,
            verdict,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::times::Latency;
    use super::*;

    fn record(design: &str, (queries, update, merge): (f64, f64, f64)) -> UpdateRecord {
        let latency = |mean| Latency {
            mean,
            ..Latency::default()
        };
        UpdateRecord {
            design: design.to_owned(),
            in_place: design != "freshdiskann",
            timed: Some(RecordTimes {
                update: latency(update),
                search: latency(1.0),
                queries_per_second: queries,
                updates_per_second: 1.0,
                settle_seconds: 0.0,
                merge_seconds: merge,
            }),
            ..UpdateRecord::default()
        }
    }

    #[test]
    fn findings_are_judged_on_both_sides() {
        let verdicts = |records: &[UpdateRecord]| -> Vec<FindingVerdict> {
            findings(records).iter().map(|one| one.verdict).collect()
        };
        let outside = record("freshdiskann", (100.0, 10.0, 50.0));
        let (holds, fails) = (FindingVerdict::Holds, FindingVerdict::Fails);
        for (inside, expected) in [
            ((120.0, 70.0, 50.0), [holds, holds, holds]),
            ((90.0, 70.0, 50.0), [fails, holds, holds]),
            ((120.0, 9.0, 50.0), [holds, fails, holds]),
            ((120.0, 70.0, 100.0), [holds, holds, fails]),
            ((120.0, 70.0, 20.0), [holds, holds, fails]),
        ] {
            let records = [outside.clone(), record("odinann", inside)];
            assert_eq!(verdicts(&records), expected, "{inside:?}");
        }
        assert_eq!(verdicts(std::slice::from_ref(&outside)), []);
        let untimed = UpdateRecord {
            timed: None,
            ..record("dgai", (120.0, 70.0, 50.0))
        };
        let verdict = FindingVerdict::NotMeasured;
        assert_eq!(verdicts(&[outside.clone(), untimed]), [verdict; 3]);
        let elsewhere = UpdateRecord {
            round: UpdateRound {
                mix: "1:1".to_owned(),
                ..UpdateRound::default()
            },
            ..record("odinann", (120.0, 70.0, 50.0))
        };
        assert_eq!(verdicts(&[outside, elsewhere]), []);
    }
}
