//! The dead set of a segment, from its file.

use pageway_store::BlobReader;

use crate::error::Result;
use crate::execution::DeadSet;
use crate::resolve::Source;

/// The dead set of a segment; an empty one where it has none and is to be changed.
pub(crate) fn dead_set(source: Source<'_>, writable: bool) -> Result<Option<DeadSet>> {
    let nodes = source.segment.node_count;
    let Some(entry) = &source.segment.files.dead else {
        return Ok(writable.then(|| DeadSet::new(nodes)));
    };
    let bytes = BlobReader::open(source.vfs, source.dir, entry)?.read_rest(entry.payload_bytes)?;
    let (words, _) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    Ok(Some(DeadSet::of_words(nodes, words)))
}
