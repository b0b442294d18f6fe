//! Which specs exist. Every refusal names the field, its value and the nearest legal one.

use super::{
    CodeStorage, CodecSpec, EntrySpec, GraphSpec, HarvestSpec, IndexSpec, NodeCacheSpec,
    PageCacheSpec, QuantizerSpec, RefineSpec, ScheduleSpec, VectorStorage,
};
use crate::error::{Error, ErrorKind};
use crate::spec::range::within;

/// A spec that no index can have.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{field} = {value} is not possible: {rule}")]
pub struct SpecError {
    /// The field, as in the manifest.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The rule it breaks, with the nearest legal choice.
    pub rule: String,
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::caused_by(ErrorKind::InvalidInput, error)
    }
}

pub(super) type Checked = Result<(), SpecError>;

/// Refuses `field` = `value` when `clash` holds.
pub(super) fn refuse_if(clash: bool, field: &'static str, value: &str, rule: &str) -> Checked {
    if !clash {
        return Ok(());
    }
    Err(SpecError {
        field,
        value: value.to_owned(),
        rule: rule.to_owned(),
    })
}

impl IndexSpec {
    /// Checks that an index of this spec can exist.
    ///
    /// # Errors
    /// The first rule that is broken: ranges first, then combinations.
    pub fn validate(&self) -> Result<(), SpecError> {
        self.validate_ranges()?;
        self.validate_storage()?;
        self.validate_layout()?;
        self.validate_cache()?;
        self.validate_execution()?;
        self.validate_update()?;
        self.validate_clusters()
    }

    fn validate_storage(&self) -> Checked {
        let codec = self.layout.codec;
        let (inline, page_node) = (
            codec == CodecSpec::InlineCodes,
            matches!(codec, CodecSpec::PageNode { .. }),
        );
        refuse_if(
            self.storage.codes == CodeStorage::InPage && !inline && !page_node,
            "codes",
            "in_page",
            "codec must carry them; choose codec inline_codes or page_node, or codes memory",
        )?;
        refuse_if(
            matches!(self.storage.codes, CodeStorage::Split { .. }) && !page_node,
            "codes",
            "split",
            "only codec page_node keeps some codes in its pages; choose it, or codes memory or \
             in_page",
        )?;
        let separate = self.storage.vectors == VectorStorage::Separate;
        refuse_if(
            separate && codec != CodecSpec::Split,
            "vectors",
            "separate",
            "only codec split has pages for vectors alone; choose it, or vectors in_record",
        )?;
        self.validate_bounds()?;
        self.validate_cascade()
    }

    /// Second codes and the cascade need each other.
    fn validate_cascade(&self) -> Checked {
        let cascade = matches!(self.execution.refine, RefineSpec::Cascade { .. });
        refuse_if(
            self.storage.second_codes_in_memory().is_some() && !cascade,
            "second_quantizer",
            "pq",
            "only refine cascade uses second codes in memory; choose it, or no second quantizer",
        )?;
        refuse_if(
            self.storage.second_quantizer.is_none() && cascade,
            "refine",
            "cascade",
            "it needs a second quantizer; give one, or choose refine deferred",
        )
    }

    /// Codes decide answers only where they have error bounds.
    fn validate_bounds(&self) -> Checked {
        let bounded = matches!(self.execution.refine, RefineSpec::Bounded { .. });
        let replicated = matches!(self.layout.codec, CodecSpec::Replicated { .. });
        let storage = &self.storage;
        let fine_bounds = storage
            .second_quantizer
            .is_some_and(QuantizerSpec::has_bounds);
        let coded = storage.vectors == VectorStorage::Coded;
        refuse_if(
            coded && !(bounded && fine_bounds && !replicated),
            "vectors",
            "coded",
            "a second quantizer rabitq makes the fine codes, each list must come with one, and \
             refine bounded reads what they leave undecided; choose codec packed, second quantizer \
             rabitq and refine bounded, or vectors in_record",
        )?;
        refuse_if(
            bounded && !self.shape.metric.is_guide(),
            "refine",
            "bounded",
            "codes have no error bounds under this metric; choose refine inline or deferred",
        )?;
        let in_memory = storage.quantizer.has_bounds()
            && storage.codes == CodeStorage::Memory
            && storage.vectors == VectorStorage::Separate;
        refuse_if(
            bounded && !coded && !in_memory,
            "refine",
            "bounded",
            "codes with error bounds in memory decide what to read from pages of vectors; choose \
             quantizer rabitq, codes memory and vectors separate, or refine deferred",
        )
    }

    fn validate_layout(&self) -> Checked {
        let codec = self.layout.codec;
        refuse_if(
            codec == CodecSpec::InlineCodes && self.storage.codes == CodeStorage::Memory,
            "codec",
            "inline_codes",
            "the codes are in memory already; choose codes in_page, or codec packed",
        )?;
        refuse_if(
            codec == CodecSpec::Split && self.storage.vectors != VectorStorage::Separate,
            "codec",
            "split",
            "its vectors are not in the record; choose vectors separate, or codec packed",
        )?;
        codec.validate(self.graph.max_degree())?;
        let most = if self.storage.vectors.has_own_pages() {
            self.shape.vectors().foldable()
        } else {
            0
        };
        within("folded", self.layout.folded.unwrap_or(0), 0, most)
    }

    fn validate_cache(&self) -> Checked {
        let nodes = self.cache.nodes;
        let coded = self.storage.vectors == VectorStorage::Coded;
        let inline = self.execution.refine == RefineSpec::Inline || coded;
        refuse_if(
            nodes == NodeCacheSpec::Lists && inline,
            "cache nodes",
            "lists",
            "a cached list comes without the vector or the fine code that is scored in passing; \
             choose refine deferred, or cache nodes records",
        )?;
        refuse_if(
            nodes == NodeCacheSpec::Lists && self.layout.codec == CodecSpec::InlineCodes,
            "cache nodes",
            "lists of inline codes",
            "cached lists come without the codes of their neighbours; choose cache nodes records",
        )?;
        let page_node = matches!(self.layout.codec, CodecSpec::PageNode { .. });
        refuse_if(
            nodes != NodeCacheSpec::None && page_node,
            "cache nodes",
            "records or lists",
            "in codec page_node a page is the node; choose cache pages hot, and cache nodes none",
        )?;
        let separate = self.storage.vectors == VectorStorage::Separate;
        refuse_if(
            matches!(nodes, NodeCacheSpec::Records | NodeCacheSpec::Clock) && separate,
            "cache nodes",
            "records or clock",
            "codec split has lists and vectors, no records; choose cache nodes lists",
        )?;
        let rounds = matches!(self.execution.schedule, ScheduleSpec::Lockstep { .. });
        let blind = rounds && self.execution.harvest == HarvestSpec::Target;
        refuse_if(
            nodes == NodeCacheSpec::Clock && !blind,
            "cache nodes",
            "clock",
            "what it holds follows from earlier queries, and answers must not: choose schedule \
             lockstep and harvest target, or cache nodes records",
        )?;
        let share = self.cache.page_share;
        let both = nodes != NodeCacheSpec::None && self.cache.pages != PageCacheSpec::None;
        refuse_if(
            both && (share <= 0.0 || share >= 1.0),
            "page_share",
            &share.to_string(),
            "nodes and pages share the cache; give a share between 0 and 1, such as 0.8",
        )
    }

    fn validate_execution(&self) -> Checked {
        let execution = self.execution;
        let separate = self.storage.vectors == VectorStorage::Separate;
        refuse_if(
            separate && execution.refine == RefineSpec::Inline,
            "refine",
            "inline",
            "vectors are in pages of their own and do not pass by; choose refine deferred",
        )?;
        let scores_all = matches!(
            execution.harvest,
            HarvestSpec::Near { .. } | HarvestSpec::All
        );
        let has_lists = !matches!(self.graph, GraphSpec::Clusters { .. });
        refuse_if(
            separate && scores_all && has_lists,
            "harvest",
            "near or all",
            "pages of codec split hold no vectors to score; choose harvest held",
        )?;
        let replicated = matches!(self.layout.codec, CodecSpec::Replicated { .. });
        refuse_if(
            replicated && execution.refine == RefineSpec::Inline,
            "refine",
            "inline",
            "packed lists come without the vectors it scores; choose refine deferred",
        )?;
        let page_node = matches!(self.layout.codec, CodecSpec::PageNode { .. });
        refuse_if(
            page_node && execution.harvest != HarvestSpec::All,
            "harvest",
            "not all",
            "in codec page_node one list serves all vectors of a page; choose harvest all",
        )?;
        self.validate_walk(scores_all)
    }

    /// Schedule and entry; `scores_all` when what lies beside a target is scored.
    fn validate_walk(&self, scores_all: bool) -> Checked {
        let execution = self.execution;
        let overlapped = matches!(execution.schedule, ScheduleSpec::Overlapped { .. });
        refuse_if(
            overlapped && !scores_all,
            "schedule",
            "overlapped",
            "there is nothing beside the target to work on later; choose harvest near or all, or \
             schedule lockstep",
        )?;
        let upper = matches!(execution.entry, EntrySpec::UpperLayers { .. });
        refuse_if(
            upper && !matches!(self.graph, GraphSpec::Hnsw { .. }),
            "entry",
            "upper_layers",
            "only graph hnsw has upper layers; choose entry navigation, or graph hnsw",
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::{Preset, Sizes};
    use crate::spec::{IndexSpec, LayoutSpec, Shape};
    use pageway_types::{ElementType, Metric};

    fn legal() -> IndexSpec {
        let shape = Shape {
            dimension: 16,
            element: ElementType::U8,
            metric: Metric::L2,
        };
        Preset::DiskAnn.spec(shape, &Sizes::default())
    }

    #[test]
    fn each_refusal_names_its_field() {
        assert_eq!(legal().validate(), Ok(()));
        let page = |page_bytes| IndexSpec {
            layout: LayoutSpec {
                page_bytes,
                ..legal().layout
            },
            ..legal()
        };
        for bytes in [0, 512, 5000, 131_072] {
            assert_eq!(page(bytes).validate().unwrap_err().field, "page_bytes");
        }
        let mut spec = legal();
        spec.shape.dimension = 0;
        assert_eq!(spec.validate().unwrap_err().field, "dimension");
        let mut spec = legal();
        spec.shape.dimension = 16_385;
        assert!(spec.validate().unwrap_err().to_string().contains("16384"));
    }
}
