//! AiSAQ: Tatsuno et al., "AiSAQ: All-in-Storage ANNS with Product Quantization for DRAM-free
//! Information Retrieval", 2024.
//!
//! Kept from the paper: `DiskANN`'s graph and walk, with the codes of its neighbours in every
//! record, so that memory holds the centroids and the codes of the entry nodes alone; records that
//! are packed `n` to a page or span several; centroids that indexes of one space share. Walks
//! start at the medoid, so answers are those of `diskann` at equal list size; up to 1,000 entries,
//! as in the authors' code, are a choice (`fixed`). Different: pages are checksummed.

use super::{Form, Row, Sizes, diskann};
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, IndexSpec, LayoutSpec, NodeCacheSpec, Shape, VectorStorage,
};

pub(super) const ROW: Row = Row {
    name: "aisaq",
    summary: "diskann with the codes of its neighbours in every record: nearly no memory, any \
              number of vectors, opened and switched at once",
    form: Form::new(spec),
    smaller: &[],
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
        ..base
    }
}
