//! What is predicted for a number of segments from the walks at others, against what was measured.

use pageway::lab::SplitMix64;
use serde::Serialize;

use super::course::QueryCourse;
use super::design::ClusterDesign;
use super::grow::{Factors, grow};
use super::law::CountLaw;
use super::recording::{ClusterCell, Recording};
use super::site::Site;
use super::walk::ClusterWalk;

/// How far off a prediction may be.
const TOLERANCE: f64 = 0.2;

/// One count, predicted and measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CountCheck {
    /// What is counted, per query.
    pub count: &'static str,
    /// What was predicted.
    pub predicted: f64,
    /// What was measured.
    pub measured: f64,
    /// How far off that is, as a share of what was measured.
    pub error: f64,
    /// Whether it is within a fifth.
    pub holds: bool,
}

/// A number of segments, predicted from the others.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// Design.
    pub design: ClusterDesign,
    /// Segments that are predicted,
    pub segments: u32,
    /// from the walks over so many.
    pub from_segments: u32,
    /// Recall of the walks that the prediction is from,
    pub from_recall: f64,
    /// and of those that were measured.
    pub recall: f64,
    /// The counts.
    pub counts: Vec<CountCheck>,
}

/// Predicts each number of segments of a design from the other ones.
///
/// The site has a node for each segment, so that bytes and messages are those of that many.
pub(super) fn check(
    design: ClusterDesign,
    recordings: &[&Recording],
    site: &Site,
    seed: u64,
) -> Vec<Checked> {
    let own = recordings.iter();
    own.filter_map(|measured| {
        let others: Vec<&Recording> = recordings
            .iter()
            .filter(|other| other.cell.segments != measured.cell.segments)
            .copied()
            .collect();
        predict(design, &others, measured, (site, seed))
    })
    .collect()
}

fn predict(
    design: ClusterDesign,
    others: &[&Recording],
    measured: &Recording,
    (site, seed): (&Site, u64),
) -> Option<Checked> {
    let segments = measured.cell.segments;
    let apart = |one: &&&Recording| {
        let ratio = f64::from(one.cell.segments) / f64::from(segments);
        (ratio.ln().abs() * 1e6) as u64
    };
    let from = others
        .iter()
        .min_by_key(apart)
        .filter(|_| others.len() > 1)?;
    let cells: Vec<&ClusterCell> = others.iter().map(|one| &one.cell).collect();
    let factors = by_segments(&cells, from.cell.segments, segments);
    let mut random = SplitMix64::new(seed);
    let grown: Vec<ClusterWalk> = from
        .walks
        .iter()
        .map(|walk| grow(walk, segments, factors, &mut random))
        .collect();
    let site = Site {
        nodes: segments,
        segments_per_node: 1,
        replicas: 1,
        ..site.clone()
    };
    let predicted = WalkCounts::of(design, &grown, from, &site);
    let found = WalkCounts::of(design, &measured.walks, measured, &site);
    let bytes = predicted.reads * measured.read_bytes as f64;
    let counts = [
        (
            "segments asked",
            predicted.asked,
            measured.cell.counts.asked,
        ),
        ("reads", predicted.reads, measured.cell.counts.reads),
        ("bytes read", bytes, measured.cell.counts.read_bytes),
        ("rounds", predicted.rounds, measured.cell.counts.rounds),
        ("messages", predicted.calls, found.calls),
        (
            "network bytes",
            predicted.network_bytes,
            found.network_bytes,
        ),
    ];
    Some(Checked {
        design,
        segments,
        from_segments: from.cell.segments,
        from_recall: from.cell.recall,
        recall: measured.cell.recall,
        counts: counts.map(count_check).into(),
    })
}

/// By what factors counts grow with the number of segments, over the same rows: how many are asked,
/// and what is read and scored in each of those.
pub(super) fn by_segments(cells: &[&ClusterCell], from: u32, to: u32) -> Factors {
    let factor = |count: fn(&ClusterCell) -> f64| {
        let measured: Vec<(u64, f64)> = cells
            .iter()
            .map(|cell| (u64::from(cell.segments), count(cell)))
            .collect();
        CountLaw::best(&measured).factor(from.into(), to.into())
    };
    // One is asked at least, and no more than there are.
    let own = cells_asked(cells, from);
    let asked = factor(|cell| cell.counts.asked).clamp(1.0 / own, f64::from(to).max(1.0) / own);
    Factors {
        asked,
        reads: asked * factor(|cell| cell.counts.reads / cell.counts.asked.max(1.0)),
        rounds: factor(|cell| cell.counts.rounds),
        codes: asked * factor(|cell| cell.counts.codes / cell.counts.asked.max(1.0)),
    }
}

/// Segments that were asked where there were so many.
fn cells_asked(cells: &[&ClusterCell], segments: u32) -> f64 {
    let own = cells.iter().find(|cell| cell.segments == segments);
    own.map_or(1.0, |cell| cell.counts.asked.max(1.0))
}

/// The factor of each count.
pub(super) fn factors(of: &dyn Fn(fn(&ClusterCell) -> f64) -> f64) -> Factors {
    Factors {
        asked: of(|cell| cell.counts.asked),
        reads: of(|cell| cell.counts.reads),
        rounds: of(|cell| cell.counts.rounds),
        codes: of(|cell| cell.counts.codes),
    }
}

fn count_check((count, predicted, measured): (&'static str, f64, f64)) -> CountCheck {
    let error = if measured > 0.0 {
        predicted / measured - 1.0
    } else {
        predicted
    };
    CountCheck {
        count,
        predicted,
        measured,
        error,
        holds: error.abs() <= TOLERANCE,
    }
}

/// Means over walks at a site.
struct WalkCounts {
    asked: f64,
    reads: f64,
    rounds: f64,
    calls: f64,
    network_bytes: f64,
}

impl WalkCounts {
    fn of(design: ClusterDesign, walks: &[ClusterWalk], like: &Recording, site: &Site) -> Self {
        let queries = walks.len().max(1) as f64;
        let mean =
            |count: &dyn Fn(&ClusterWalk) -> f64| walks.iter().map(count).sum::<f64>() / queries;
        let calls = walks.iter().zip(0..).map(|(walk, number)| {
            QueryCourse::of((design, number), walk, site, like.asked).calls()
        });
        let (calls, bytes) = calls.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        Self {
            asked: mean(&|walk| walk.segments.len() as f64),
            reads: mean(&|walk| walk.reads() as f64),
            rounds: mean(&|walk| walk.rounds() as f64),
            calls: calls as f64 / queries,
            network_bytes: bytes as f64 / queries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::course::QueryTerms;
    use super::super::recording::QueryCounts;
    use super::super::site::tests::site;
    use super::super::walk::{Round, SegmentWalk};
    use super::*;

    /// A recording over so many segments, each of which is asked and reads once a round.
    fn recording(segments: u32, rounds: usize) -> Recording {
        let one = |segment| SegmentWalk {
            segment,
            rounds: vec![
                Round {
                    compute_ns: 1000,
                    pages: vec![1]
                };
                rounds
            ],
            ..SegmentWalk::default()
        };
        let walk = ClusterWalk {
            segments: (0..segments).map(one).collect(),
            hops: 8,
        };
        let reads = f64::from(segments) * rounds as f64;
        Recording {
            cell: ClusterCell {
                design: ClusterDesign::Arrival,
                rows: 1000,
                segments,
                list_size: 10,
                recall: 0.95,
                is_reached: true,
                counts: QueryCounts {
                    asked: f64::from(segments),
                    reads,
                    last_reads: 0.0,
                    read_bytes: reads * 4096.0,
                    rounds: rounds as f64,
                    hops: 8.0,
                    codes: 100.0,
                    compute_us: 10.0,
                },
                resident_bytes: 1,
                index_bytes: 1,
            },
            walks: vec![walk; 400],
            asked: QueryTerms {
                query_bytes: 128,
                k: 10,
                degree: 32,
                beam: 4,
            },
            read_bytes: 4096,
        }
    }

    #[test]
    fn what_follows_the_others_holds_and_what_does_not_fails() {
        let all = [1, 2, 4, 8].map(|segments| recording(segments, 6));
        let all: Vec<&Recording> = all.iter().collect();
        let checks = check(ClusterDesign::Arrival, &all, &site(), 1);
        assert_eq!(checks.len(), 4);
        for one in &checks {
            assert!(one.counts.iter().all(|count| count.holds), "{one:?}");
        }
        assert_eq!((checks[0].from_segments, checks[3].from_segments), (2, 4));
        let odd = [
            recording(1, 6),
            recording(2, 6),
            recording(4, 6),
            recording(8, 12),
        ];
        let odd: Vec<&Recording> = odd.iter().collect();
        let checks = check(ClusterDesign::Arrival, &odd, &site(), 1);
        let of_eight = |name: &str| {
            checks[3]
                .counts
                .iter()
                .find(|one| one.count == name)
                .unwrap()
        };
        assert!(!of_eight("reads").holds && of_eight("reads").error < -0.4);
        assert!(of_eight("segments asked").holds);
    }

    #[test]
    fn one_other_number_predicts_nothing() {
        let two = [recording(1, 6), recording(2, 6)];
        let two: Vec<&Recording> = two.iter().collect();
        assert!(check(ClusterDesign::Space, &two, &site(), 1).is_empty());
    }
}
