//! OdinANN: Guo and Lu, "OdinANN: Direct Insert for Consistently Stable Performance in
//! Billion-Scale Graph-Based Vector Search", FAST 2026.
//!
//! Kept from the paper: `PipeANN`'s records, navigation graph and pipeline; new rows are linked
//! into the one graph on disk, and what changes is written out of place; a list that is full gives
//! up a neighbour by codes, in a distance for each; dead nodes lead on until lists are swept. An
//! insert searches the graph for the neighbours of its row, by the walk of a query, and searches
//! find the row by them from then on.
//! Different: rows wait in memory with their edges, behind a log that makes each change durable,
//! until they are written many at a time; pages are written out of place, not records, so that no
//! map of nodes is in memory.

use super::{Form, Row, Sizes, pipeann};
use crate::spec::{DeltaSpec, IndexSpec, Shape, UpdateSpec};

pub(super) const ROW: Row = Row {
    name: "odinann",
    summary: "pipeann for rows that come and go: new ones are linked into the segment that is \
              there, and pages that change are written to other files",
    form: Form::new(spec),
    smaller: &[],
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    IndexSpec {
        update: UpdateSpec::Patch,
        delta: DeltaSpec::Linked,
        ..pipeann::spec(shape, sizes)
    }
}
