//! What an index holds in memory, part by part.

use pageway_store::IoBackend;

use super::workers::WorkerPlan;
use crate::error::Result;
use crate::execution::IndexShape;
use crate::execution::driver::WorkerSite;
use crate::manifest::SegmentEntry;
use crate::memory::{Ledger, MemoryPart};
use crate::resolve;
use crate::spec::IndexSpec;
use crate::storage::{CodeBlocks, Identities, Region};

/// The rows of an index, and how they lie in segments that share one quantizer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// Rows of all segments.
    pub(crate) rows: u32,
    /// How many segments there are.
    pub(crate) segments: u32,
    /// Rows of the longest segment.
    pub(crate) longest: u32,
    /// Cells of the regions of all segments; 0 if rows are not cut by space.
    pub(crate) centres: u32,
}

/// All rows in one segment.
impl From<u32> for Extent {
    fn from(rows: u32) -> Self {
        Self {
            rows,
            segments: 1,
            longest: rows,
            centres: 0,
        }
    }
}

/// Parts of the memory that are lent to searches.
pub(crate) const FOR_SEARCHES: [MemoryPart; 2] = [MemoryPart::OneQuery, MemoryPart::MoreQueries];

/// The part of free memory that further queries in flight may take: all without a cache; otherwise
/// half, or what is left beside `lists` that memory is to hold. Caches take the rest.
pub(crate) fn room_for_queries(segments: &[SegmentEntry], lists: Option<u64>, free: u64) -> u64 {
    if segments.iter().all(|segment| segment.spec.cache.is_none()) {
        return free;
    }
    let beside_lists = lists.and_then(|lists| free.checked_sub(lists));
    beside_lists.unwrap_or(free / 2)
}

/// Reserves the memory that a segment always holds, except for its quantizer, which segments may
/// share.
pub(crate) fn reserve_fixed(ledger: &mut Ledger, (spec, node_count): (&IndexSpec, u32)) {
    let storage = &spec.storage;
    let code_bytes = u64::from(storage.quantizer.code_bytes());
    let in_memory = u64::from(storage.codes_in_memory(node_count));
    let codes = if spec.execution.entry.is_clusters() {
        CodeBlocks::bytes(in_memory, code_bytes)
    } else {
        in_memory * code_bytes
    };
    ledger.reserve(MemoryPart::Codes, codes);
    let second = resolve::codebook_bytes(spec).saturating_sub(quantizer_bytes(spec));
    ledger.reserve(MemoryPart::Codebook, second);
    if let Some(second) = storage.second_codes_in_memory() {
        let codes = u64::from(node_count) * u64::from(second.code_bytes());
        ledger.reserve(MemoryPart::SecondCodes, codes);
    }
    let entry = resolve::entry_bytes(spec, node_count);
    let identities = Identities::bytes(spec, node_count);
    for (part, bytes) in [
        (MemoryPart::Entry, entry),
        (MemoryPart::Identities, identities),
    ] {
        if bytes > 0 {
            ledger.reserve(part, bytes);
        }
    }
}

/// Bytes of the quantizer of a spec: segments of one build share it.
pub(crate) fn quantizer_bytes(spec: &IndexSpec) -> u64 {
    let dimension = spec.shape.dimension as usize;
    resolve::training(spec).resident_bytes(dimension) as u64
}

/// The smallest memory that an index of this spec can be opened with on any machine, with threads
/// for reads or a ring. Counts every segment as long as the longest.
pub(crate) fn least_memory(spec: &IndexSpec, extent: impl Into<Extent>) -> Result<Ledger> {
    least_with((spec, extent.into()), WhereLists::Anywhere)
}

/// The same with all lists in memory, if the spec holds lists.
pub(crate) fn least_with_lists(spec: &IndexSpec, extent: Extent) -> Result<Ledger> {
    least_with((spec, extent), WhereLists::InMemory)
}

/// Whether memory holds the lists of an index.
#[derive(Clone, Copy)]
enum WhereLists {
    Anywhere,
    /// Memory holds all lists, if the spec holds lists.
    InMemory,
}

impl WhereLists {
    /// The shape that the scratch of a query must suit.
    fn shape(self, spec: &IndexSpec, nodes: u32) -> Result<IndexShape> {
        let shape = resolve::index_shape(spec, nodes)?;
        Ok(match self {
            Self::InMemory if spec.cache.holds_lists() => shape.with_lists(),
            Self::InMemory | Self::Anywhere => shape,
        })
    }
}

fn least_with((spec, extent): (&IndexSpec, Extent), lists: WhereLists) -> Result<Ledger> {
    let mut ledger = Ledger::new(u64::MAX);
    for _ in 0..extent.segments {
        reserve_fixed(&mut ledger, (spec, extent.longest));
    }
    ledger.reserve(MemoryPart::Codebook, quantizer_bytes(spec));
    let regions = Region::bytes(extent.centres.into(), spec.shape.dimension.into());
    if regions > 0 {
        ledger.reserve(MemoryPart::Entry, regions);
    }
    let plan = WorkerPlan::assumed((spec, extent.rows))?;
    let bytes = |backend| -> Result<u64> {
        let site = site_of((spec, extent), (lists, backend))?;
        Ok(plan.least_bytes(|shape| site.bytes(shape)))
    };
    let one_query = bytes(IoBackend::Threads)?.max(bytes(IoBackend::Uring)?);
    ledger.reserve(MemoryPart::OneQuery, one_query);
    Ok(ledger)
}

/// Memory of further queries in flight on one thread, in an index that is opened by default and
/// holds its lists, if the spec holds lists.
pub(crate) fn more_queries(spec: &IndexSpec, extent: Extent) -> Result<u64> {
    let plan = WorkerPlan::assumed((spec, extent.rows))?;
    let site = site_of((spec, extent), (WhereLists::InMemory, IoBackend::Uring))?;
    Ok(site
        .bytes(&plan.compact)
        .saturating_sub(site.bytes(&plan.least)))
}

/// Memory of a few segments of `rows` rows each, beside one of `longest`, without codes and lists:
/// their entry structures, and their part of a query.
pub(crate) fn beside_bytes(
    (spec, longest): (&IndexSpec, u32),
    (segments, rows): (u32, u32),
) -> Result<u64> {
    let plan = WorkerPlan::assumed((spec, longest))?;
    let mut shapes = vec![WhereLists::InMemory.shape(spec, rows)?; segments as usize];
    let one_query = |shapes: &[IndexShape]| -> Result<u64> {
        let site = WorkerSite {
            segments: shapes.iter().copied(),
            centres: 0,
            geometry: resolve::codec(spec, longest)?.map().geometry,
            backend: IoBackend::Uring,
        };
        Ok(plan.least_bytes(|shape| site.bytes(shape)))
    };
    shapes.push(WhereLists::InMemory.shape(spec, longest)?);
    let all = one_query(&shapes)?;
    let alone = one_query(shapes.get(segments as usize..).unwrap_or_default())?;
    let entries = u64::from(segments) * resolve::entry_bytes(spec, rows);
    Ok(entries + all.saturating_sub(alone))
}

/// The site that the bytes of workers over all segments depend on.
fn site_of(
    (spec, extent): (&IndexSpec, Extent),
    (lists, backend): (WhereLists, IoBackend),
) -> Result<WorkerSite<impl ExactSizeIterator<Item = IndexShape> + Clone>> {
    let shape = lists.shape(spec, extent.longest)?;
    Ok(WorkerSite {
        segments: std::iter::repeat_n(shape, extent.segments as usize),
        centres: extent.centres as usize,
        geometry: resolve::codec(spec, extent.longest)?.map().geometry,
        backend,
    })
}
