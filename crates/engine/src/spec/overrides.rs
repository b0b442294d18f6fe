//! Choices that take the place of a preset's own.

use super::{
    CacheSpec, CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, IndexSpec, ListSpec,
    NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, ScheduleSpec,
    SelectionSpec, StopSpec, VectorStorage,
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
    /// How vectors are compressed. Its bytes per code follow from the memory budget, or from
    /// `code_bytes`.
    pub quantizer: Option<QuantizerSpec>,
    /// A second, independent code.
    pub second_quantizer: Option<Option<QuantizerSpec>>,
    /// Whether rows and ids are in memory.
    pub ids_in_memory: Option<bool>,
    /// What a page holds.
    pub codec: Option<CodecSpec>,
    /// Which nodes share a page.
    pub placement: Option<PlacementSpec>,
    /// How adjacency lists are stored.
    pub lists: Option<ListSpec>,
    /// What stays in memory beside the codes.
    pub cache: CacheOverrides,
    /// Where a walk starts.
    pub entry: Option<EntrySpec>,
    /// Which reads are in flight.
    pub schedule: Option<ScheduleSpec>,
    /// Which records of a page are used.
    pub harvest: Option<HarvestSpec>,
    /// When exact distances are paid.
    pub refine: Option<RefineSpec>,
    /// When a walk ends.
    pub stop: Option<StopSpec>,
    /// How much nearer a candidate that needs a read must be to come before one that needs none.
    pub slack: Option<f32>,
}

/// The same for the parts of a cache.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CacheOverrides {
    /// What is kept per node.
    pub nodes: Option<NodeCacheSpec>,
    /// Which pages are kept.
    pub pages: Option<PageCacheSpec>,
    /// What both take first.
    pub selection: Option<SelectionSpec>,
    /// Share of the bytes that pages get where nodes are kept too.
    pub page_share: Option<f32>,
}

impl Overrides {
    /// The spec with these choices in place of its own.
    #[must_use]
    pub fn apply(&self, mut spec: IndexSpec) -> IndexSpec {
        set(&mut spec.graph, self.graph);
        set(&mut spec.storage.vectors, self.vectors);
        set(&mut spec.storage.codes, self.codes);
        if let Some(quantizer) = self.quantizer {
            let code_bytes = spec.storage.quantizer.code_bytes();
            spec.storage.quantizer = quantizer.with_code_bytes(code_bytes);
        }
        set(&mut spec.storage.second_quantizer, self.second_quantizer);
        set(&mut spec.storage.ids_in_memory, self.ids_in_memory);
        set(&mut spec.layout.codec, self.codec);
        set(&mut spec.layout.placement, self.placement);
        set(&mut spec.layout.lists, self.lists);
        self.cache.apply(&mut spec.cache);
        set(&mut spec.execution.entry, self.entry);
        set(&mut spec.execution.schedule, self.schedule);
        set(&mut spec.execution.harvest, self.harvest);
        set(&mut spec.execution.refine, self.refine);
        set(&mut spec.execution.stop, self.stop);
        set(&mut spec.execution.slack, self.slack);
        spec
    }
}

impl CacheOverrides {
    fn apply(&self, cache: &mut CacheSpec) {
        set(&mut cache.nodes, self.nodes);
        set(&mut cache.pages, self.pages);
        set(&mut cache.selection, self.selection);
        set(&mut cache.page_share, self.page_share);
    }
}

impl From<CacheSpec> for CacheOverrides {
    fn from(cache: CacheSpec) -> Self {
        Self {
            nodes: Some(cache.nodes),
            pages: Some(cache.pages),
            selection: Some(cache.selection),
            page_share: Some(cache.page_share),
        }
    }
}

fn set<T: Copy>(field: &mut T, choice: Option<T>) {
    if let Some(choice) = choice {
        *field = choice;
    }
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric};

    use super::*;
    use crate::presets::{Preset, Sizes};
    use crate::spec::Shape;

    #[test]
    fn what_is_not_chosen_stays() {
        let shape = Shape {
            dimension: 16,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        for preset in Preset::ALL {
            let spec = preset.spec(shape, &Sizes::default());
            assert_eq!(Overrides::default().apply(spec.clone()), spec);
            let cache = CacheOverrides {
                pages: Some(PageCacheSpec::Lru),
                ..CacheOverrides::default()
            };
            let overrides = Overrides {
                placement: Some(PlacementSpec::Clustered),
                cache,
                ..Overrides::default()
            };
            let changed = overrides.apply(spec.clone());
            assert_eq!(changed.layout.placement, PlacementSpec::Clustered);
            assert_eq!(changed.cache.pages, PageCacheSpec::Lru);
            let cache = CacheSpec {
                pages: spec.cache.pages,
                ..changed.cache
            };
            assert_eq!(cache, spec.cache, "{preset}");
            assert_eq!(changed.execution, spec.execution, "{preset}");
        }
    }
}
