//! IP-DiskANN: Xu et al., "In-Place Updates of a Graph Index for Streaming Approximate Nearest
//! Neighbor Search", 2025.
//!
//! Kept from the paper: `DiskANN`'s layout and walk; a search for the deleted row finds who names
//! it, each of those gets edges to the three nearest of what was found, and the deleted row's
//! neighbours get edges from the three nearest to them; nobody else is looked at. Different: rows
//! and deaths wait in a delta and a log, and pages change at a flush, through a journal; the list
//! of a dead node stays, and leads on for whoever names it still; a light sweep is a rewrite, once
//! a fifth changed.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{IndexSpec, RepairSpec, Shape, UpdateSpec};

pub(super) const ROW: Row = Row {
    name: "ipdiskann",
    summary: "diskann for rows that come and go, in place: pages that change are written over, and \
              edges to a deleted row are mended where a search for it finds them",
    form: Form::new(spec),
    smaller: &[],
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    IndexSpec {
        update: UpdateSpec::Overwrite,
        repair: RepairSpec::Local,
        ..diskann::spec(shape, sizes)
    }
}
