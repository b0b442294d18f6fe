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
use crate::storage::{CodeBlocks, Identities};

/// Parts of the memory that are lent to searches.
pub(crate) const FOR_SEARCHES: [MemoryPart; 2] = [MemoryPart::OneQuery, MemoryPart::MoreQueries];

/// What more queries in flight may take of what is free: all where there is no cache; half, or what
/// all lists leave where memory holds those; caches take the rest.
pub(crate) fn room_for_queries(segments: &[SegmentEntry], free: u64) -> u64 {
    if segments.iter().all(|segment| segment.spec.cache.is_none()) {
        return free;
    }
    let lists: Option<u64> = segments.iter().map(resolve::packed_list_bytes).sum();
    let beside_lists = lists.and_then(|lists| free.checked_sub(lists));
    beside_lists.unwrap_or(free / 2)
}

/// Reserves what a segment holds whatever is searched.
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
    ledger.reserve(MemoryPart::Codebook, resolve::codebook_bytes(spec));
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

/// The smallest memory that an index of this spec can be opened with, wherever it is opened: with
/// threads for reads, or a ring for one at a time.
pub(crate) fn least_memory(subject: (&IndexSpec, u32)) -> Result<Ledger> {
    let mut ledger = Ledger::new(u64::MAX);
    reserve_fixed(&mut ledger, subject);
    let plan = WorkerPlan::assumed(subject)?;
    let bytes = |backend| -> Result<u64> {
        let site = site_of(subject, backend)?;
        Ok(plan.least_bytes(|shape| site.bytes(shape)))
    };
    let one_query = bytes(IoBackend::Threads)?.max(bytes(IoBackend::Uring)?);
    ledger.reserve(MemoryPart::OneQuery, one_query);
    Ok(ledger)
}

/// Memory of further queries in flight on one thread, as an index is opened by default.
pub(crate) fn more_queries(subject: (&IndexSpec, u32)) -> Result<u64> {
    let plan = WorkerPlan::assumed(subject)?;
    let site = site_of(subject, IoBackend::Uring)?;
    Ok(site
        .bytes(&plan.compact)
        .saturating_sub(site.bytes(&plan.least)))
}

/// What the bytes of workers over one segment depend on.
fn site_of(
    (spec, node_count): (&IndexSpec, u32),
    backend: IoBackend,
) -> Result<WorkerSite<impl ExactSizeIterator<Item = IndexShape> + Clone>> {
    Ok(WorkerSite {
        segments: std::iter::once(resolve::index_shape(spec, node_count)?),
        geometry: resolve::codec(spec, node_count)?.map().geometry,
        backend,
    })
}
