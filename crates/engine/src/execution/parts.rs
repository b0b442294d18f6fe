//! The components a traversal works with, as `resolve` made them from a spec.

use std::sync::Arc;

use pageway_kernels::{DistanceFn, KernelSet};
use pageway_quant::{CodeForms, Quantizer, Scorer};
use pageway_types::{Guide, NodeId};

use super::entry::EntryPart;
use crate::cache::{Eviction, FrameCache, ImageCache, NodeCache};
use crate::layout::{PageCodec, PageMap, PageNodeCodec, RecordCodec};
use crate::spec::{ExecutionSpec, VectorStorage};
use crate::storage::{CodeBlocks, CodeTable, Identities};

/// Everything a query needs that outlives it. Immutable while queries run, but for the page cache.
pub(crate) struct Parts<C: PageCodec> {
    /// Pages to records.
    pub(crate) codec: C,
    /// What stays in memory.
    pub(crate) cache: CachePart,
    /// Codes, and what they mean.
    pub(crate) codes: Arc<CodePart>,
    /// A second, independent code of every node: for a cascade, or in the records.
    pub(crate) second: Option<Arc<CodePart>>,
    /// Rows and ids, where codes may decide.
    pub(crate) identities: Option<Arc<Identities>>,
    /// Where full vectors live.
    pub(crate) vectors: VectorStorage,
    /// Exact distance between raw vectors.
    pub(crate) exact: DistanceFn,
    /// Raw vector to `f32`.
    pub(crate) widen: fn(&[u8], &mut [f32]),
    /// Where walks start.
    pub(crate) entry: Arc<EntryPart>,
    /// Policies, with their defaults.
    pub(crate) execution: ExecutionSpec,
}

/// What is the same of a segment however much of it is cached.
#[derive(Clone)]
pub(crate) struct FixedPart {
    pub(crate) codes: Arc<CodePart>,
    pub(crate) second: Option<Arc<CodePart>>,
    pub(crate) identities: Option<Arc<Identities>>,
    pub(crate) entry: Arc<EntryPart>,
}

/// The components of a segment, by the codec of its pages.
pub(crate) enum AnyParts {
    Record(Parts<RecordCodec>),
    PageNode(Parts<PageNodeCodec>),
}

/// The same expression of the parts of either codec.
macro_rules! each {
    ($parts:expr, $own:ident => $expression:expr) => {
        match $parts {
            AnyParts::Record($own) => $expression,
            AnyParts::PageNode($own) => $expression,
        }
    };
}

impl AnyParts {
    /// What stays in memory.
    #[inline]
    pub(crate) fn cache(&self) -> &CachePart {
        each!(self, parts => &parts.cache)
    }

    /// What is the same however much is cached.
    pub(crate) fn fixed(&self) -> FixedPart {
        each!(self, parts => FixedPart {
            codes: Arc::clone(&parts.codes),
            second: parts.second.clone(),
            identities: parts.identities.clone(),
            entry: Arc::clone(&parts.entry),
        })
    }

    /// Codes of its nodes.
    pub(crate) fn codes(&self) -> &CodePart {
        each!(self, parts => &parts.codes)
    }

    /// Whether the code of every node can be scored by itself.
    pub(crate) fn scans_codes(&self) -> bool {
        each!(self, parts => parts.scans_codes())
    }

    /// Turns a query into `f32`.
    pub(crate) fn widen(&self, query: &[u8], out: &mut [f32]) {
        each!(self, parts => (parts.widen)(query, out));
    }

    /// What the codes of nodes mean.
    pub(crate) fn quantizer(&self) -> &Arc<Quantizer> {
        each!(self, parts => &parts.codes.quantizer)
    }

    /// Whether a query is prepared for the codes of both by the same arithmetic.
    pub(super) fn shares_codebook(&self, other: &Self) -> bool {
        let forms = |parts: &Self| each!(parts, own => own.code_forms());
        Arc::ptr_eq(self.quantizer(), other.quantizer()) && forms(self) == forms(other)
    }

    /// Where walks start.
    pub(crate) fn entry(&self) -> &EntryPart {
        each!(self, parts => &parts.entry)
    }

    /// What scores the codes of one query, and the second codes where there are any.
    pub(crate) fn scorers(&self, kernels: &'static KernelSet) -> (Scorer, Option<Scorer>) {
        let (first, second) = each!(self, parts => (&parts.codes, &parts.second));
        let second = second.as_ref().map(|part| part.quantizer.scorer(kernels));
        (first.quantizer.scorer(kernels), second)
    }
}

impl<C: PageCodec> Parts<C> {
    /// The forms of the codes that queries meet.
    pub(super) fn code_forms(&self) -> CodeForms {
        match self.entry.clusters() {
            Some(_) => CodeForms::Blocks,
            None => self.codes.table.forms(),
        }
    }

    /// Whether the code of every node can be scored by itself.
    pub(super) fn scans_codes(&self) -> bool {
        let has_all = self.codes.table.node_count() == self.codec.map().node_count;
        self.entry.clusters().is_some() || has_all
    }

    /// The nearest distance to an estimate that there can be.
    pub(super) fn possible(&self, estimate: f32) -> f32 {
        match self.codes.quantizer.metric() {
            Guide::L2 | Guide::Cosine => estimate.max(0.0),
            Guide::InnerProduct => estimate,
        }
    }
}

/// What stays in memory beside codes.
pub(crate) struct CachePart {
    /// Records, or lists alone.
    pub(crate) nodes: NodeCache,
    /// Vectors of nodes whose lists are in `nodes` without them.
    pub(crate) vectors: ImageCache,
    /// Pages.
    pub(crate) pages: FrameCache,
}

impl CachePart {
    /// Whether the list of a node is here whatever other queries do.
    pub(super) fn holds_for_good(&self, node: NodeId, map: PageMap) -> bool {
        let node_stays = !self.nodes.learns() && self.nodes.contains(node);
        let pages_stay = self.pages.eviction() == Eviction::Pinned;
        node_stays || pages_stay && self.pages.contains(map.page_of(node).0)
    }
}

/// A table of codes and its quantizer.
pub(crate) struct CodePart {
    /// Codes of the first nodes, or of all: to look them up by node.
    pub(crate) table: CodeTable,
    /// Where nodes have clusters, their codes are here instead.
    pub(crate) blocks: CodeBlocks,
    /// What the codes mean.
    pub(crate) quantizer: Arc<Quantizer>,
}
