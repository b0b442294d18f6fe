//! Drafts for tests: candidates of a million vectors of 128 bytes, tried with made-up counts.

use pageway::spec::Shape;
use pageway::{ElementType, Metric};

use crate::candidate::{Refusal, Space, enumerate};
use crate::device::Device;
use crate::draft::{Draft, Knowledge};
use crate::model::{Counts, Statistics};
use crate::trial::Tried;
use crate::wish::{Goal, Pins};

/// Shape of the vectors.
pub(crate) const SHAPE: Shape = Shape {
    dimension: 128,
    element: ElementType::U8,
    metric: Metric::L2,
};

/// Memory of the searches.
pub(crate) const MEMORY_BYTES: u64 = 40_000_000;

/// A machine that was measured, and a plain design.
pub(crate) fn knowledge(goal: Goal) -> Knowledge {
    Knowledge {
        rows: 1_000_000,
        memory_bytes: MEMORY_BYTES,
        device: Device::new([(1.0, 20_000.0), (4.0, 50_000.0), (16.0, 100_000.0)]),
        threads: 2,
        statistics: Statistics {
            rows: 5_000,
            hops: 20.0,
            max_degree: 48,
            mean_degree: 36.0,
            code_share: 0.25,
            hit_exponent: 0.5,
            expand_us: 2.0,
            read_us: 10.0,
        },
        growth_ratio: 1.0,
        goal,
    }
}

/// All candidates, guessed.
pub(crate) fn drafts(known: &Knowledge) -> (Vec<Draft>, Vec<Refusal>) {
    let space = Space {
        shape: SHAPE,
        nodes: 1_000_000,
        below_two: false,
        memory_bytes: MEMORY_BYTES,
        pins: &Pins::default(),
        seed: 42,
    };
    let (candidates, refused) = enumerate(&space);
    let drafts = candidates.into_iter().map(|candidate| {
        let mut draft = Draft::new(candidate, false);
        draft.guess(known);
        draft
    });
    (drafts.collect(), refused)
}

/// A trial over `rows` that read `reads` pages in a quarter of so many rounds.
pub(crate) fn tried(rows: u64, reads: f64) -> Tried {
    Tried {
        rows,
        best_recall: 0.96,
        counts: Some(Counts {
            pages: reads,
            reads,
            rounds: reads / 4.0,
            bytes: reads * 4096.0,
            hops: reads,
            compute_us: 100.0,
            read_us: reads * 10.0,
            ..Counts::default()
        }),
        beam: 4,
        build_seconds: 1.0,
    }
}

/// A trial that did not reach the recall.
pub(crate) fn unreached(rows: u64) -> Tried {
    Tried {
        best_recall: 0.71,
        counts: None,
        ..tried(rows, 1.0)
    }
}
