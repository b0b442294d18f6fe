//! What there is to choose, per policy: each variant once, with the values of the keys that are
//! left out. One place for every front end, and the form in which choices are typed (`text`).

mod text;

use super::Sizes;
use crate::spec::{
    CodeStorage, CodecSpec, CompletionSpec, EntrySpec, GraphSpec, HarvestSpec, ListSpec,
    NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, RotationSpec,
    ScheduleSpec, SelectionSpec, StopSpec, VectorStorage,
};

pub use text::{name_of, parse, typed};

/// Proximity graphs.
pub fn graphs(sizes: &Sizes) -> [GraphSpec; 5] {
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
        GraphSpec::PiPnn {
            max_degree,
            build_list,
            alpha: sizes.alpha,
            fanout: 8,
            leaf: 512,
            knn: 5,
        },
        GraphSpec::Clusters { members: 64 },
    ]
}

/// Where full vectors live.
pub const VECTORS: [VectorStorage; 3] = [
    VectorStorage::InRecord,
    VectorStorage::Separate,
    VectorStorage::Coded,
];

/// How vectors are compressed; bytes per code follow from memory.
pub const QUANTIZERS: [QuantizerSpec; 2] = [
    QuantizerSpec::Pq { code_bytes: 0 },
    QuantizerSpec::RaBitQ {
        code_bytes: 0,
        rotation: RotationSpec::Principal,
    },
];

/// A quantizer as it is typed: its length is asked for apart.
pub fn typed_quantizer(quantizer: QuantizerSpec) -> String {
    match quantizer {
        QuantizerSpec::Pq { .. } => "pq".to_owned(),
        QuantizerSpec::RaBitQ { rotation, .. } => format!("rabitq:rotation={}", typed(&rotation)),
    }
}

/// Where codes live.
pub const CODES: [CodeStorage; 3] = [
    CodeStorage::Memory,
    CodeStorage::InPage,
    // The plan of a build sees how many the memory budget holds.
    CodeStorage::Split { memory_nodes: 0 },
];

/// What a page holds.
pub fn codecs(sizes: &Sizes) -> [CodecSpec; 5] {
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

/// Which nodes share a page.
pub const PLACEMENTS: [PlacementSpec; 6] = [
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

/// How adjacency lists are stored.
pub const LISTS: [ListSpec; 2] = [ListSpec::Plain, ListSpec::Packed];

/// What is cached per node.
pub const NODE_CACHES: [NodeCacheSpec; 4] = [
    NodeCacheSpec::None,
    NodeCacheSpec::Records,
    NodeCacheSpec::Clock,
    NodeCacheSpec::Lists,
];

/// Which pages are cached.
pub const PAGE_CACHES: [PageCacheSpec; 4] = [
    PageCacheSpec::None,
    PageCacheSpec::Hot,
    PageCacheSpec::Lru,
    PageCacheSpec::Clock,
];

/// What a cache takes first.
pub const SELECTIONS: [SelectionSpec; 2] = [SelectionSpec::BreadthFirst, SelectionSpec::Visits];

/// Where a walk starts.
pub const ENTRIES: [EntrySpec; 6] = [
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
    EntrySpec::Clusters,
];

/// Reads per round, and in a pipeline, unless the caller says.
const BEAM: u32 = 4;
const PIPELINE: u32 = 32;

/// Which reads are in flight.
pub fn schedules(sizes: &Sizes) -> [ScheduleSpec; 4] {
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

/// Which records of a page are used.
pub const HARVESTS: [HarvestSpec; 4] = [
    HarvestSpec::Target,
    HarvestSpec::Near { share: 0.3 },
    HarvestSpec::All,
    HarvestSpec::Held,
];

/// When exact distances are paid.
pub const REFINES: [RefineSpec; 4] = [
    RefineSpec::Inline,
    RefineSpec::Deferred { share: 0.5 },
    RefineSpec::Bounded { deviations: 2.0 },
    RefineSpec::Cascade {
        scored: 1.0,
        read: 0.5,
    },
];

/// When a walk ends.
pub const STOPS: [StopSpec; 2] = [StopSpec::Exhausted, StopSpec::Horizon { growth: 15.0 }];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pageway_types::{ElementType, Metric};
    use serde::Serialize;

    use super::*;
    use crate::presets::Preset;
    use crate::spec::{IndexSpec, Shape};

    /// The names of a table; each variant is there once.
    fn names<T: Serialize>(known: &[T]) -> BTreeSet<String> {
        let names: BTreeSet<String> = known.iter().map(name_of).collect();
        assert_eq!(names.len(), known.len(), "{names:?}");
        names
    }

    fn spec(preset: Preset) -> IndexSpec {
        let shape = Shape {
            dimension: 64,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        preset.spec(shape, &Sizes::default())
    }

    #[test]
    fn every_choice_of_every_preset_can_be_chosen() {
        let sizes = Sizes::default();
        for preset in Preset::ALL {
            let IndexSpec {
                graph,
                storage,
                layout,
                cache,
                execution,
                ..
            } = spec(preset);
            for (name, known) in [
                (name_of(&graph), names(&graphs(&sizes))),
                (name_of(&storage.vectors), names(&VECTORS)),
                (name_of(&storage.codes), names(&CODES)),
                (name_of(&layout.codec), names(&codecs(&sizes))),
                (name_of(&layout.placement), names(&PLACEMENTS)),
                (name_of(&layout.lists), names(&LISTS)),
                (name_of(&cache.nodes), names(&NODE_CACHES)),
                (name_of(&cache.pages), names(&PAGE_CACHES)),
                (name_of(&cache.selection), names(&SELECTIONS)),
                (name_of(&execution.entry), names(&ENTRIES)),
                (name_of(&execution.schedule), names(&schedules(&sizes))),
                (name_of(&execution.harvest), names(&HARVESTS)),
                (name_of(&execution.refine), names(&REFINES)),
                (name_of(&execution.stop), names(&STOPS)),
            ] {
                assert!(known.contains(&name), "{preset}: {name} of {known:?}");
            }
        }
    }

    #[test]
    fn sizes_fill_what_a_choice_leaves_open() {
        let sizes = Sizes {
            max_degree: 31,
            beam: Some(3),
            ..Sizes::default()
        };
        let [vamana, nsg, hnsw, pipnn, clusters] = graphs(&sizes);
        for graph in [vamana, nsg, hnsw, pipnn] {
            assert!(typed(&graph).contains("max_degree=31"), "{graph:?}");
        }
        assert_eq!(typed(&clusters), "clusters:members=64");
        assert!(typed(&nsg).contains("knn=62"), "{nsg:?}");
        assert!(codecs(&sizes).contains(&CodecSpec::PageNode { min_degree: 16 }));
        assert_eq!(schedules(&sizes).map(ScheduleSpec::beam), [3; 4]);
        let beams = schedules(&Sizes::default()).map(ScheduleSpec::beam);
        assert_eq!(beams, [BEAM, BEAM, BEAM, PIPELINE]);
    }
}
