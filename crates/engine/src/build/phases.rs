//! The phases of a build in their order, and about how long one thread takes for each.
//!
//! Times were measured on real vectors of bytes and floats, of 128 to 960 components, in
//! nanoseconds per component or row. An error by half moves a progress bar only a little.

use pageway_graph::Placement;

use super::graph::algorithm;
use super::order::placement;
use super::plan::{BuildPlan, GraphPlan};

/// Successive stages, and their shares of a phase.
pub(super) type StageParts = &'static [(&'static str, f64)];

/// A phase of a build, with the stages that it reports.
pub(super) struct Phase {
    /// Seconds that it takes, as estimated.
    pub(super) seconds: f64,
    pub(super) stages: StageParts,
    /// The segment that it builds; `None` for work for all segments.
    pub(super) segment: Option<u32>,
}

const CHECK: StageParts = &[("check rows", 1.0)];
const DEAL: StageParts = &[("deal rows", 1.0)];
const CLUSTERS: StageParts = &[("find clusters", 1.0)];
const PAGES: StageParts = &[("cut into pages", 1.0)];
const TRAIN: StageParts = &[("train codes", 1.0)];
const MEDOID: StageParts = &[("mean of vectors", 1.0), ("medoid", 1.0)];
const ASSIGN: StageParts = &[("assign shards", 1.0)];
const REACH: StageParts = &[("check reachability", 1.0)];
const TAKE: StageParts = &[("read graph", 1.0)];
const PLACE: StageParts = &[
    ("match edges", 1.0),
    ("pad pages", 1.0),
    ("pack pages", 1.0),
    ("shuffle pages", 4.0),
    ("swap nodes", 4.0),
    ("group nodes", 4.0),
];
const NEAREST: StageParts = &[
    ("cut into pages", 3.0),
    ("find the nearest", 3.0),
    ("match edges", 0.5),
    ("pack pages", 0.5),
    ("shuffle pages", 1.0),
    ("swap nodes", 1.0),
];
const MOVE: StageParts = &[("move nodes", 1.0)];
const ENCODE: StageParts = &[("encode", 1.0)];
const ENTRIES: StageParts = &[("entries", 1.0)];
const WRITE: StageParts = &[("write records", 1.0)];
const VISITS: StageParts = &[("sample visits", 1.0)];
const CALIBRATE: StageParts = &[("calibrate recall", 1.0)];

/// Nanoseconds per component of a row.
const CHECK_NANOS: f64 = 0.5;
const DEAL_NANOS: f64 = 8.0;
const ORDER_NANOS: f64 = 60.0;
const MEDOID_NANOS: f64 = 1.0;
const WRITE_NANOS: f64 = 4.0;
/// The same per pair of components, if codes have principal axes.
const AXES_NANOS: f64 = 0.4;
const SAMPLE_NANOS: f64 = 0.15;
/// The same per component, if it is compared with 256 centroids.
const CODE_NANOS: f64 = 15.0;
/// Nanoseconds per edge.
const EDGE_NANOS: f64 = 15.0;
/// Seconds of a calibration, and of the visits of sampled queries.
const CALIBRATE_SECONDS: f64 = 4.0;
const VISIT_SECONDS: f64 = 0.5;

/// The phases of a build, in order.
pub(super) fn phases(plan: &BuildPlan) -> Vec<Phase> {
    let segments = plan.cut.runs();
    let mut all = Vec::new();
    if segments > 1 {
        let rows = f64::from(plan.cut.rows()) * f64::from(plan.spec.shape.dimension);
        all.push(Phase {
            seconds: rows * CHECK_NANOS * 1e-9,
            stages: CHECK,
            segment: None,
        });
    }
    for number in 0..segments {
        let own = of_segment(plan).into_iter();
        all.extend(own.map(|(seconds, stages)| Phase {
            seconds,
            stages,
            segment: Some(number),
        }));
    }
    all.push(Phase {
        seconds: CALIBRATE_SECONDS,
        stages: CALIBRATE,
        segment: None,
    });
    all
}

/// The phases of a segment.
fn of_segment(plan: &BuildPlan) -> Vec<(f64, StageParts)> {
    let dimension = f64::from(plan.spec.shape.dimension);
    let nodes = f64::from(plan.node_count);
    let rows = |nanos: f64| nodes * dimension * nanos * 1e-9;
    let mut phases = vec![(rows(CHECK_NANOS), CHECK)];
    let ordering = if plan.has_clusters() { CLUSTERS } else { PAGES };
    if plan.parts.is_some() {
        phases.push((rows(DEAL_NANOS), DEAL));
    }
    if plan.parts.is_some() || plan.has_clusters() {
        phases.push((rows(ORDER_NANOS), ordering));
    }
    phases.push((training(plan), TRAIN));
    phases.push((rows(MEDOID_NANOS), MEDOID));
    phases.extend(graph(plan));
    phases.extend(placing(plan));
    phases.extend([
        (encoding(plan), ENCODE),
        (rows(0.05 * ORDER_NANOS), ENTRIES),
        (rows(WRITE_NANOS) + edges(plan), WRITE),
        (VISIT_SECONDS, VISITS),
    ]);
    phases
}

fn edges(plan: &BuildPlan) -> f64 {
    let degree = f64::from(plan.spec.graph.max_degree());
    f64::from(plan.node_count) * degree * EDGE_NANOS * 1e-9
}

fn training(plan: &BuildPlan) -> f64 {
    let pairs = f64::from(plan.spec.shape.dimension).powi(2);
    plan.sample_rows as f64 * pairs * SAMPLE_NANOS * 1e-9
}

fn encoding(plan: &BuildPlan) -> f64 {
    let dimension = f64::from(plan.spec.shape.dimension);
    let per_row = if plan.spec.storage.quantizer.has_bounds() {
        AXES_NANOS * dimension
    } else {
        CODE_NANOS
    };
    f64::from(plan.node_count) * dimension * per_row * 1e-9
}

/// Building the graph, whole or in shards with each node in two.
fn graph(plan: &BuildPlan) -> Vec<(f64, StageParts)> {
    let Some(algorithm) = algorithm(&plan.spec) else {
        return Vec::new();
    };
    let dimension = f64::from(plan.spec.shape.dimension);
    let seconds = f64::from(plan.node_count) * algorithm.nanos(dimension) * 1e-9;
    match plan.graph {
        GraphPlan::Whole | GraphPlan::Kept => vec![(seconds, algorithm.stages())],
        GraphPlan::Taken { .. } => vec![(edges(plan), TAKE)],
        GraphPlan::Shards { .. } => {
            let rows = f64::from(plan.node_count) * dimension * 1e-9;
            vec![
                (rows * DEAL_NANOS, ASSIGN),
                (2.0 * seconds, algorithm.stages()),
                (2.0 * edges(plan), REACH),
            ]
        }
    }
}

/// Placing nodes, if that follows the graph.
fn placing(plan: &BuildPlan) -> Vec<(f64, StageParts)> {
    let rows = f64::from(plan.node_count) * f64::from(plan.spec.shape.dimension) * 1e-9;
    let mut phases = Vec::new();
    let own = match placement(&plan.spec) {
        Some(Placement::Clustered) => Some((rows * ORDER_NANOS, PAGES)),
        Some(Placement::Nearest) => Some((3.0 * rows * ORDER_NANOS, NEAREST)),
        Some(
            Placement::Bnp
            | Placement::Bnf { .. }
            | Placement::Bns { .. }
            | Placement::Grouped { .. },
        ) => Some((10.0 * edges(plan), PLACE)),
        None => None,
    };
    if plan.parts.is_none() && !plan.has_clusters() {
        phases.extend(own);
    }
    if plan.graph.window().is_some() {
        phases.extend(own);
        phases.push((rows * DEAL_NANOS + edges(plan), MOVE));
    }
    phases
}
