//! Which segments a query asks, of those whose rows lie together.
//!
//! The nearest cells of all segments are taken, one for each place of the list: their segments are
//! asked. A longer list asks more, so that a calibration finds how far to go, as with the
//! number of cells of an inverted file. Segments of which nothing is known are always asked.

use pageway_types::ElementType;

use super::query::QuerySizes;
use super::{Goal, Query, Segment};
use crate::storage::Region;

/// A centre, as a query sees it.
#[derive(Clone, Copy, Debug)]
struct SeenCentre {
    distance: f32,
    segment: u16,
}

/// The way of a query to segments.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// Nearest first; those that were not gone to yet begin at `next`.
    seen: Vec<SeenCentre>,
    next: usize,
    /// The query, widened, and as a row of `f32`.
    widened: Vec<f32>,
    row: Vec<u8>,
}

impl Route {
    /// A way with room for the centres of `segments`.
    pub(super) fn over(segments: &[Segment]) -> Self {
        let regions = segments.iter().filter_map(|own| own.region.as_ref());
        Self {
            seen: Vec::with_capacity(regions.map(Region::len).sum()),
            ..Self::default()
        }
    }

    /// Bytes of a way over so many centres, of a query of so many dimensions.
    pub(super) const fn bytes(centres: usize, dimension: usize) -> usize {
        if centres == 0 {
            return 0;
        }
        centres * size_of::<SeenCentre>() + 2 * dimension * size_of::<f32>()
    }

    /// Whether some segments need not be asked: near ones are to be found, of all rows.
    pub(super) fn leads(query: &Query<'_>) -> bool {
        query.goal == Goal::Nearest && query.admission.is_open() && !query.lists_admitted
    }

    /// Ranks the centres of all segments for a query that is led; of another none.
    pub(super) fn begin(&mut self, segments: &[Segment], query: &Query<'_>) {
        self.next = 0;
        self.seen.clear();
        if !Self::leads(query) {
            return;
        }
        for (number, segment) in (0u16..).zip(segments) {
            let Some(region) = &segment.region else {
                continue;
            };
            if self.seen.is_empty() {
                self.widened.resize(segment.shape.dimension, 0.0);
                segment.parts.widen(query.vector, &mut self.widened);
                self.row.clear();
                let values = self.widened.iter();
                self.row
                    .extend(values.flat_map(|value| value.to_le_bytes()));
            }
            let metric = segment.parts.quantizer().metric().metric();
            let distance = segment.kernels.distance(ElementType::F32, metric);
            let seen = region.centres().map(|centre| SeenCentre {
                distance: distance(&self.row, centre),
                segment: number,
            });
            self.seen.extend(seen);
        }
        self.seen.sort_unstable_by(|one, other| {
            let by_distance = one.distance.total_cmp(&other.distance);
            by_distance.then(one.segment.cmp(&other.segment))
        });
    }

    /// The next segment that a query of `sizes` asks, which may have been asked before.
    pub(super) fn next(&mut self, sizes: QuerySizes) -> Option<usize> {
        let cells = sizes.capacity.max(sizes.results);
        if self.next >= cells { None } else { self.any() }
    }

    /// The next segment however far it is.
    pub(super) fn any(&mut self) -> Option<usize> {
        let seen = self.seen.get(self.next)?;
        self.next += 1;
        Some(usize::from(seen.segment))
    }
}
