//! DiskANN: Subramanya et al., "DiskANN: Fast Accurate Billion-point Nearest Neighbor Search on a
//! Single Node", NeurIPS 2019.
//!
//! Kept from the paper: a Vamana graph; full vectors beside their adjacency list in fixed records;
//! product codes in memory steer the walk; rounds of `beam` reads; exact distances as pages pass;
//! the nodes nearest to the medoid cached. Different: every page is checksummed (8 bytes of 4096),
//! a record never straddles a page it could fit in, list size follows from a recall target, and the
//! cache takes what the memory budget leaves over.

use super::Sizes;
use crate::spec::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, ExecutionSpec, GraphSpec, HarvestSpec, IdStorage,
    IndexSpec, LayoutSpec, NodeCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, ScheduleSpec,
    Shape, StorageSpec, UpdateSpec, VectorStorage,
};

pub(super) const SUMMARY: &str = "vectors and adjacency lists together in page records on disk, product codes in \
     memory, a beam of reads per round, nodes near the medoid cached";

pub(super) fn spec(shape: Shape, sizes: &Sizes) -> IndexSpec {
    IndexSpec {
        shape,
        graph: GraphSpec::Vamana {
            max_degree: sizes.max_degree,
            build_list: sizes.build_list,
            alpha: sizes.alpha,
        },
        storage: StorageSpec {
            vectors: VectorStorage::InRecord,
            codes: CodeStorage::Memory,
            quantizer: QuantizerSpec::Pq {
                code_bytes: sizes.code_bytes,
            },
            ids: if sizes.user_ids {
                IdStorage::InRecord
            } else {
                IdStorage::RowNumber
            },
        },
        layout: LayoutSpec {
            page_bytes: sizes.page_bytes,
            codec: CodecSpec::Packed,
            placement: PlacementSpec::ById,
        },
        cache: CacheSpec {
            nodes: NodeCacheSpec::RecordsBreadthFirst,
        },
        execution: ExecutionSpec {
            entry: EntrySpec::Medoid,
            schedule: ScheduleSpec::Lockstep { beam: sizes.beam },
            harvest: HarvestSpec::Target,
            refine: RefineSpec::Inline,
        },
        update: UpdateSpec::Static,
        seed: sizes.seed,
    }
}
