//! FreshDiskANN: Singh et al., "FreshDiskANN: A Fast and Accurate Graph-Based ANN Index for
//! Streaming Similarity Search", 2021.
//!
//! Kept from the paper: DiskANN's layout and walk; new rows searched beside it and merged into it,
//! with the lists of the rows that stay: dead neighbours give way to theirs, new rows are linked by
//! searches of the old graph, which dead nodes still lead on in, and get edges back. Different: new
//! rows wait in an exactly scanned delta and in small segments on disk, and not in graphs in
//! memory; edges back are merged by rank and not pruned by codes; what is written is one new
//! segment, and nodes are numbered anew.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{IndexSpec, Shape, UpdateSpec};

pub(super) const ROW: Row = Row {
    name: "freshdiskann",
    summary: "diskann for rows that come and go: new ones wait in a delta and in small segments, and \
              are merged into the lists that are there",
    form: Form::new(spec),
    smaller: &[],
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    IndexSpec {
        update: UpdateSpec::Rewrite,
        ..diskann::spec(shape, sizes)
    }
}
