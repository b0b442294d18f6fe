//! What an index can be made of: one value on every axis, as places in a table, so that sets of
//! choices can be counted and covered.

use pageway::spec::{
    CacheSpec, CodeStorage, CodecSpec, CompletionSpec, EntrySpec, GraphSpec, HarvestSpec, ListSpec,
    NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, RotationSpec,
    ScheduleSpec, SelectionSpec, Shape, StopSpec, VectorStorage,
};
use pageway::{BuildOptions, ElementType, IndexSpec, Metric, Overrides, Preset, Sizes};

/// Longest adjacency list (R).
pub const MAX_DEGREE: u32 = 16;
/// Candidate list while building (L).
const BUILD_LIST: u32 = 40;
/// Bytes per code.
const fn code_bytes(dimension: u32) -> u32 {
    dimension.div_ceil(4)
}

fn rabitq(rotation: RotationSpec, code_bytes: u32) -> QuantizerSpec {
    QuantizerSpec::RaBitQ {
        code_bytes,
        rotation,
    }
}

/// An axis, and its place in a [`Choice`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Axis {
    Graph,
    Vectors,
    Codes,
    Quantizer,
    Second,
    Codec,
    CacheNodes,
    Schedule,
    Harvest,
    Refine,
    Entry,
    // From here on no rule speaks of them.
    Stop,
    Slack,
    Ids,
    PageBytes,
    Placement,
    Lists,
    CachePages,
    Selection,
    Beam,
    Element,
    Metric,
}

pub const AXES: [(Axis, &[&str]); 22] = [
    (Axis::Graph, &["vamana", "nsg", "hnsw", "pipnn"]),
    (Axis::Vectors, &["in_record", "separate", "coded"]),
    (Axis::Codes, &["memory", "in_page", "split"]),
    (Axis::Quantizer, &["pq", "principal", "hadamard"]),
    (Axis::Second, &["none", "pq", "principal"]),
    (
        Axis::Codec,
        &["packed", "inline_codes", "replicated", "page_node", "split"],
    ),
    (Axis::CacheNodes, &["none", "records", "clock", "lists"]),
    (
        Axis::Schedule,
        &[
            "lockstep",
            "overlapped",
            "prefetch",
            "in_order",
            "as_they_come",
        ],
    ),
    (Axis::Harvest, &["target", "near", "all", "held"]),
    (Axis::Refine, &["inline", "deferred", "cascade", "bounded"]),
    (
        Axis::Entry,
        &["medoid", "fixed", "navigation", "hash", "upper_layers"],
    ),
    (Axis::Stop, &["exhausted", "horizon"]),
    (Axis::Slack, &["none", "some"]),
    (Axis::Ids, &["row", "user"]),
    (Axis::PageBytes, &["4096", "8192"]),
    (
        Axis::Placement,
        &["by_id", "bnp", "bnf", "bns", "grouped", "clustered"],
    ),
    (Axis::Lists, &["plain", "packed"]),
    (Axis::CachePages, &["none", "hot", "lru", "clock"]),
    (Axis::Selection, &["breadth_first", "visits"]),
    (Axis::Beam, &["1", "4", "64"]),
    (Axis::Element, &["f32", "f16", "bf16", "u8", "i8", "bit"]),
    (Axis::Metric, &["l2", "ip", "cosine"]),
];

/// Axes that rules speak of come first.
pub const RULED: usize = Axis::Entry as usize + 1;

/// How many values an axis has.
pub fn value_count(axis: usize) -> usize {
    AXES[axis].1.len()
}

/// One value on every axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice(pub [u8; AXES.len()]);

impl Choice {
    pub fn value(&self, axis: Axis) -> usize {
        self.0[axis as usize].into()
    }

    pub fn name(&self, axis: Axis) -> &'static str {
        AXES[axis as usize].1[self.value(axis)]
    }

    #[must_use]
    pub fn with(mut self, axis: usize, value: usize) -> Self {
        self.0[axis] = value as u8;
        self
    }

    /// All names in one line.
    pub fn text(&self) -> String {
        let names = AXES.iter().map(|(axis, _)| self.name(*axis));
        names.collect::<Vec<_>>().join(" ")
    }

    pub fn is_legal(&self) -> bool {
        self.spec(96).validate().is_ok()
    }

    /// Whether it is legal in the place of the choices of `spec`, which has the same sizes.
    pub fn is_legal_in(&self, mut spec: IndexSpec) -> bool {
        self.put(&mut spec);
        spec.validate().is_ok()
    }

    pub fn element(&self) -> ElementType {
        [
            ElementType::F32,
            ElementType::F16,
            ElementType::Bf16,
            ElementType::U8,
            ElementType::I8,
            ElementType::Bit,
        ][self.value(Axis::Element)]
    }

    pub fn metric(&self) -> Metric {
        [Metric::L2, Metric::InnerProduct, Metric::Cosine][self.value(Axis::Metric)]
    }

    pub fn has_user_ids(&self) -> bool {
        self.value(Axis::Ids) == 1
    }

    fn page_bytes(&self) -> u32 {
        [4096, 8192][self.value(Axis::PageBytes)]
    }

    fn beam(&self) -> u32 {
        [1, 4, 64][self.value(Axis::Beam)]
    }

    /// The spec that a build by [`Choice::options`] makes; codes that are split are sized there.
    pub fn spec(&self, dimension: u32) -> IndexSpec {
        let shape = Shape {
            dimension,
            element: self.element(),
            metric: self.metric(),
        };
        let sizes = Sizes {
            max_degree: MAX_DEGREE,
            build_list: BUILD_LIST,
            code_bytes: code_bytes(dimension),
            page_bytes: self.page_bytes(),
            beam: Some(self.beam()),
            user_ids: self.has_user_ids(),
            ..Sizes::default()
        };
        let mut spec = Preset::DiskAnn.spec(shape, &sizes);
        self.put(&mut spec);
        spec
    }

    /// Puts the choices in their places one by one, beside the patches that a build makes of them.
    fn put(&self, spec: &mut IndexSpec) {
        let dimension = spec.shape.dimension;
        spec.graph = self.graph();
        spec.storage.vectors = self.vectors();
        spec.storage.codes = self.codes();
        spec.storage.quantizer = self.quantizer(code_bytes(dimension));
        spec.storage.second_quantizer = self.second_quantizer(dimension);
        spec.layout.codec = self.codec();
        spec.layout.placement = self.placement();
        spec.layout.lists = self.lists();
        spec.cache = self.cache();
        spec.execution.entry = self.entry();
        spec.execution.schedule = self.schedule();
        spec.execution.harvest = self.harvest();
        spec.execution.refine = self.refine();
        spec.execution.stop = self.stop();
        spec.execution.slack = self.slack();
    }

    /// The build of this choice, through the public options alone.
    pub fn options(&self, dimension: u32) -> BuildOptions {
        small(dimension)
            .with_metric(self.metric())
            .with_page_bytes(self.page_bytes())
            .with_beam(self.beam())
            .with_overrides(self.overrides(dimension))
    }

    fn overrides(&self, dimension: u32) -> Overrides {
        Overrides {
            graph: Some(self.graph()),
            vectors: Some(self.vectors()),
            codes: Some(self.codes()),
            quantizer: Some(self.quantizer(0)),
            second_quantizer: Some(self.second_quantizer(dimension)),
            ids_in_memory: None,
            codec: Some(self.codec()),
            placement: Some(self.placement()),
            lists: Some(self.lists()),
            cache: self.cache().into(),
            entry: Some(self.entry()),
            schedule: Some(self.schedule()),
            harvest: Some(self.harvest()),
            refine: Some(self.refine()),
            stop: Some(self.stop()),
            slack: Some(self.slack()),
            ..Overrides::default()
        }
    }

    fn vectors(&self) -> VectorStorage {
        [
            VectorStorage::InRecord,
            VectorStorage::Separate,
            VectorStorage::Coded,
        ][self.value(Axis::Vectors)]
    }

    fn codes(&self) -> CodeStorage {
        [
            CodeStorage::Memory,
            CodeStorage::InPage,
            CodeStorage::Split { memory_nodes: 0 },
        ][self.value(Axis::Codes)]
    }

    fn quantizer(&self, code_bytes: u32) -> QuantizerSpec {
        [
            QuantizerSpec::Pq { code_bytes },
            rabitq(RotationSpec::Principal, code_bytes),
            rabitq(RotationSpec::Hadamard, code_bytes),
        ][self.value(Axis::Quantizer)]
    }

    fn second_quantizer(&self, dimension: u32) -> Option<QuantizerSpec> {
        let product = QuantizerSpec::Pq {
            code_bytes: dimension.div_ceil(6),
        };
        let fine = rabitq(RotationSpec::Principal, dimension.div_ceil(2) + 8);
        [None, Some(product), Some(fine)][self.value(Axis::Second)]
    }

    fn lists(&self) -> ListSpec {
        [ListSpec::Plain, ListSpec::Packed][self.value(Axis::Lists)]
    }

    fn harvest(&self) -> HarvestSpec {
        [
            HarvestSpec::Target,
            HarvestSpec::Near { share: 0.3 },
            HarvestSpec::All,
            HarvestSpec::Held,
        ][self.value(Axis::Harvest)]
    }

    fn refine(&self) -> RefineSpec {
        [
            RefineSpec::Inline,
            RefineSpec::Deferred { share: 0.6 },
            RefineSpec::Cascade {
                scored: 1.0,
                read: 0.6,
            },
            RefineSpec::Bounded { deviations: 3.0 },
        ][self.value(Axis::Refine)]
    }

    fn stop(&self) -> StopSpec {
        [StopSpec::Exhausted, StopSpec::Horizon { growth: 8.0 }][self.value(Axis::Stop)]
    }

    fn slack(&self) -> f32 {
        [0.0, 0.2][self.value(Axis::Slack)]
    }

    fn graph(&self) -> GraphSpec {
        let (max_degree, build_list) = (MAX_DEGREE, BUILD_LIST);
        [
            GraphSpec::Vamana {
                max_degree,
                build_list,
                alpha: 1.2,
            },
            GraphSpec::Nsg {
                max_degree,
                build_list,
                knn: 24,
            },
            GraphSpec::Hnsw {
                max_degree,
                build_list,
            },
            GraphSpec::PiPnn {
                max_degree,
                build_list,
                alpha: 1.2,
                fanout: 4,
                leaf: 64,
                knn: 5,
            },
        ][self.value(Axis::Graph)]
    }

    fn codec(&self) -> CodecSpec {
        [
            CodecSpec::Packed,
            CodecSpec::InlineCodes,
            CodecSpec::Replicated { lists: 4 },
            CodecSpec::PageNode { min_degree: 8 },
            CodecSpec::Split,
        ][self.value(Axis::Codec)]
    }

    fn placement(&self) -> PlacementSpec {
        let (rounds, gain) = (4, 0.01);
        [
            PlacementSpec::ById,
            PlacementSpec::Bnp,
            PlacementSpec::Bnf { rounds, gain },
            PlacementSpec::Bns { rounds, gain },
            PlacementSpec::Grouped { hops: 2 },
            PlacementSpec::Clustered,
        ][self.value(Axis::Placement)]
    }

    fn cache(&self) -> CacheSpec {
        let nodes = [
            NodeCacheSpec::None,
            NodeCacheSpec::Records,
            NodeCacheSpec::Clock,
            NodeCacheSpec::Lists,
        ];
        let pages = [
            PageCacheSpec::None,
            PageCacheSpec::Hot,
            PageCacheSpec::Lru,
            PageCacheSpec::Clock,
        ];
        let selection = [SelectionSpec::BreadthFirst, SelectionSpec::Visits];
        CacheSpec {
            nodes: nodes[self.value(Axis::CacheNodes)],
            pages: pages[self.value(Axis::CachePages)],
            selection: selection[self.value(Axis::Selection)],
            page_share: 0.5,
        }
    }

    fn entry(&self) -> EntrySpec {
        [
            EntrySpec::Medoid,
            EntrySpec::Fixed { count: 4 },
            EntrySpec::Navigation {
                one_in: 20,
                max_degree: 8,
                list_size: 8,
            },
            EntrySpec::Hash {
                one_in: 10,
                radius: 2,
                limit: 50,
            },
            EntrySpec::UpperLayers { list_size: 8 },
        ][self.value(Axis::Entry)]
    }

    fn schedule(&self) -> ScheduleSpec {
        let beam = self.beam();
        let pipelined = |completion| ScheduleSpec::Pipelined {
            least: beam.min(4),
            most: beam,
            completion,
        };
        [
            ScheduleSpec::Lockstep { beam },
            // With one beam that is wide enough rounds double, with another not.
            ScheduleSpec::Overlapped {
                beam,
                doubling: beam > 4,
            },
            ScheduleSpec::Prefetch { beam },
            pipelined(CompletionSpec::InOrder),
            pipelined(CompletionSpec::AsTheyCome),
        ][self.value(Axis::Schedule)]
    }
}

/// Builds that are quick, of a design in whose place any choice can be put.
pub fn small(dimension: u32) -> BuildOptions {
    BuildOptions::default()
        .with_preset(Preset::DiskAnn)
        .with_degree(MAX_DEGREE)
        .with_build_list(BUILD_LIST)
        .with_code_bytes(code_bytes(dimension))
        .with_calibration_queries(5)
}
