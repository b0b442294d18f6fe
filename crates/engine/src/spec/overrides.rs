//! Choices that take the place of a preset's own.

use super::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, IndexSpec, PlacementSpec,
    QuantizerSpec, RefineSpec, ScheduleSpec, VectorStorage,
};

/// One choice per policy, or none: then the preset's stays.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Overrides {
    /// The proximity graph.
    pub graph: Option<GraphSpec>,
    /// Where full vectors live.
    pub vectors: Option<VectorStorage>,
    /// Where codes live. `Split` is sized by the memory budget.
    pub codes: Option<CodeStorage>,
    /// A second, independent code.
    pub second_quantizer: Option<Option<QuantizerSpec>>,
    /// What a page holds.
    pub codec: Option<CodecSpec>,
    /// Which nodes share a page.
    pub placement: Option<PlacementSpec>,
    /// What stays in memory beside the codes.
    pub cache: Option<CacheSpec>,
    /// Where a walk starts.
    pub entry: Option<EntrySpec>,
    /// Which reads are in flight.
    pub schedule: Option<ScheduleSpec>,
    /// Which records of a page are used.
    pub harvest: Option<HarvestSpec>,
    /// When exact distances are paid.
    pub refine: Option<RefineSpec>,
}

impl Overrides {
    /// The spec with these choices in place of its own.
    #[must_use]
    pub fn apply(&self, mut spec: IndexSpec) -> IndexSpec {
        fn set<T: Copy>(field: &mut T, choice: Option<T>) {
            if let Some(choice) = choice {
                *field = choice;
            }
        }
        set(&mut spec.graph, self.graph);
        set(&mut spec.storage.vectors, self.vectors);
        set(&mut spec.storage.codes, self.codes);
        set(&mut spec.storage.second_quantizer, self.second_quantizer);
        set(&mut spec.layout.codec, self.codec);
        set(&mut spec.layout.placement, self.placement);
        set(&mut spec.cache, self.cache);
        set(&mut spec.execution.entry, self.entry);
        set(&mut spec.execution.schedule, self.schedule);
        set(&mut spec.execution.harvest, self.harvest);
        set(&mut spec.execution.refine, self.refine);
        spec
    }
}
