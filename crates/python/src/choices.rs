//! What there is to choose, per policy, each once, with the values of fields that are left out.

use pageway::Sizes;
use pageway::spec::{
    CodeStorage, CodecSpec, CompletionSpec, EntrySpec, GraphSpec, HarvestSpec, PlacementSpec,
    RefineSpec, ScheduleSpec, VectorStorage,
};

pub(crate) fn graphs(sizes: &Sizes) -> [GraphSpec; 3] {
    let (max_degree, build_list) = (sizes.max_degree, sizes.build_list);
    [
        GraphSpec::Vamana {
            max_degree,
            build_list,
            alpha: sizes.alpha,
        },
        GraphSpec::Nsg {
            max_degree,
            build_list,
            knn: 2 * max_degree,
        },
        GraphSpec::Hnsw {
            max_degree,
            build_list,
        },
    ]
}

pub(crate) const VECTORS: [VectorStorage; 2] = [VectorStorage::InRecord, VectorStorage::Separate];

pub(crate) const CODES: [CodeStorage; 3] = [
    CodeStorage::Memory,
    CodeStorage::InPage,
    // The plan of a build sees how many the memory budget holds.
    CodeStorage::Split { memory_nodes: 0 },
];

pub(crate) fn codecs(sizes: &Sizes) -> [CodecSpec; 5] {
    [
        CodecSpec::Packed,
        CodecSpec::InlineCodes,
        CodecSpec::Replicated { lists: 4 },
        CodecSpec::PageNode {
            min_degree: sizes.max_degree.div_ceil(2),
        },
        CodecSpec::Split,
    ]
}

pub(crate) const PLACEMENTS: [PlacementSpec; 6] = [
    PlacementSpec::ById,
    PlacementSpec::Bnp,
    PlacementSpec::Bnf {
        rounds: 8,
        gain: 0.01,
    },
    PlacementSpec::Bns {
        rounds: 8,
        gain: 0.01,
    },
    PlacementSpec::Grouped { hops: 2 },
    PlacementSpec::Clustered,
];

pub(crate) const ENTRIES: [EntrySpec; 5] = [
    EntrySpec::Medoid,
    EntrySpec::Fixed { count: 8 },
    EntrySpec::Navigation {
        one_in: 100,
        max_degree: 24,
        list_size: 10,
    },
    EntrySpec::UpperLayers { list_size: 10 },
    EntrySpec::Hash {
        one_in: 20,
        radius: 2,
        limit: 200,
    },
];

/// Reads per round, and in a pipeline, unless the caller says.
const BEAM: u32 = 4;
const PIPELINE: u32 = 32;

pub(crate) fn schedules(sizes: &Sizes) -> [ScheduleSpec; 4] {
    let beam = sizes.beam.unwrap_or(BEAM);
    let most = sizes.beam.unwrap_or(PIPELINE);
    [
        ScheduleSpec::Lockstep { beam },
        ScheduleSpec::Overlapped { beam },
        ScheduleSpec::Prefetch { beam },
        ScheduleSpec::Pipelined {
            least: most.min(BEAM),
            most,
            completion: CompletionSpec::AsTheyCome,
        },
    ]
}

pub(crate) const HARVESTS: [HarvestSpec; 4] = [
    HarvestSpec::Target,
    HarvestSpec::Near { share: 0.3 },
    HarvestSpec::All,
    HarvestSpec::Held,
];

pub(crate) const REFINES: [RefineSpec; 3] = [
    RefineSpec::Inline,
    RefineSpec::Deferred { share: 0.5 },
    RefineSpec::Cascade {
        scored: 1.0,
        read: 0.5,
    },
];
