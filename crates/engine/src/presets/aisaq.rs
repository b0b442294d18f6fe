//! AiSAQ: Tatsuno et al., "AiSAQ: All-in-Storage ANNS with Product Quantization for DRAM-free
//! Information Retrieval", 2024.
//!
//! Kept from the paper: `DiskANN`'s graph and walk, with the codes of its neighbours in every
//! record, so that memory holds the centroids and the codes of the entry nodes alone; records that
//! are packed `n` to a page or span several; centroids that indexes of one space share. Different:
//! walks start at the best of 8 nodes (one in most cases in the paper, up to 1,000 in the code),
//! and pages are checksummed.

use super::{Row, Sizes, diskann};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, ExecutionSpec, IndexSpec, LayoutSpec,
    NodeCacheSpec, Shape, VectorStorage,
};

pub(super) const ROW: Row = Row {
    name: "aisaq",
    summary: "diskann with the codes of its neighbours in every record: nearly no memory, any \
              number of vectors, opened and switched at once",
    spec,
};

fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    let base = diskann::spec(shape, sizes);
    IndexSpec {
        storage: sizes.storage(VectorStorage::InRecord, CodeStorage::InPage),
        layout: LayoutSpec {
            codec: CodecSpec::InlineCodes,
            ..base.layout
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::None,
            ..base.cache
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Fixed { count: 8 },
            ..base.execution
        },
        ..base
    }
}
