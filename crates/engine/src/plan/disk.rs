//! The bytes of an index on disk.

use crate::error::Result;
use crate::resolve;
use crate::spec::IndexSpec;
use crate::storage::Identities;

/// Files of an index, at most. Each has a header page and a last page that is not full.
const FILES_MAX: u64 = 8;
/// A manifest with its calibration, rounded up.
const MANIFEST_BYTES: u64 = 32 << 10;

/// Bytes of an index on disk: a bound.
pub(crate) fn index_bytes(spec: &IndexSpec, node_count: u32) -> Result<u64> {
    let map = resolve::codec(spec, node_count)?.map();
    let records = u64::from(map.page_count()) * map.geometry.unit_bytes() as u64;
    let nodes = u64::from(node_count);
    let code_bytes = u64::from(spec.storage.quantizer.code_bytes());
    let codes = u64::from(spec.storage.codes_in_memory(node_count)) * code_bytes;
    let second = spec.storage.second_codes_in_memory();
    let second = nodes * second.map_or(0, |second| u64::from(second.code_bytes()));
    let entry = resolve::entry_bytes(spec, node_count);
    let books = resolve::codebook_file_bytes(spec);
    let around = FILES_MAX * 2 * map.geometry.unit_bytes() as u64 + MANIFEST_BYTES;
    // A checksum in every page.
    let identities = Identities::bytes(spec, node_count);
    let streams = codes + second + 4 * nodes + identities + entry + books;
    Ok(records + streams + streams / 64 + around)
}
