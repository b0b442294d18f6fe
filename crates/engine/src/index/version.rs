//! The version of an index that a search takes: its segments, and the deltas with rows since.

use std::sync::{Arc, PoisonError, RwLock};

use pageway_store::IoProbe;
use pageway_types::NodeId;

use super::choice::KnownPlans;
use super::earlier::EarlierCalls;
use crate::calibration::Calibration;
use crate::delta::{Delta, DeltaView, Numbering};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::{WorkerShape, WorkerSite, largest_read};
use crate::execution::{IndexShape, NodeSet, Segment};
use crate::manifest::Manifest;
use crate::memory::Ledger;
use crate::plan::FOR_SEARCHES;
use crate::storage::Region;

/// An index at one time. Rows of its segments and deltas may die, and its last delta takes new
/// rows; all else stays.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) manifest: Manifest,
    /// In the order of their nodes.
    pub(crate) segments: Vec<Segment>,
    /// Rows that are in no segment, older ones first.
    pub(crate) deltas: Vec<Arc<Delta>>,
    pub(crate) ledger: Ledger,
    pub(crate) probe: Option<IoProbe>,
    /// Tells versions of an open index apart by their segments.
    pub(crate) number: u64,
    /// Tells apart how their nodes are numbered.
    pub(crate) numbering: u64,
    /// List plans by recall, made from its calibration.
    pub(super) plans: Arc<KnownPlans>,
    /// What earlier calls tell, as long as its calibration stays.
    pub(super) earlier: Arc<EarlierCalls>,
}

/// The version that searches begin with.
pub(crate) struct Head(RwLock<Arc<Version>>);

impl Head {
    pub(super) fn new(version: Version) -> Self {
        Self(RwLock::new(Arc::new(version)))
    }

    /// The current version.
    pub(crate) fn get(&self) -> Arc<Version> {
        let version = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&version)
    }

    /// The same segments, with other deltas.
    pub(super) fn turn_to_deltas(&self, deltas: Vec<Arc<Delta>>) -> Arc<Version> {
        let mut head = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *head = Arc::new(Version {
            deltas,
            ..Version::clone(&head)
        });
        Arc::clone(&head)
    }

    /// The same rows, with another calibration.
    pub(super) fn recalibrate(&self, generation: u64, calibration: Calibration) {
        let mut head = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut version = Version::clone(&head);
        version.manifest.generation = generation;
        version.manifest.calibration = calibration;
        version.plans = Arc::default();
        version.earlier = Arc::default();
        *head = Arc::new(version);
    }

    /// Replaces the current version, and numbers the new one.
    pub(super) fn swap(&self, mut version: Version) -> Arc<Version> {
        let mut head = self.0.write().unwrap_or_else(PoisonError::into_inner);
        version.number = head.number + 1;
        if version.manifest.calibration == head.manifest.calibration {
            version.earlier = Arc::clone(&head.earlier);
        }
        // A segment that is patched page by page keeps the numbers of its nodes.
        version.numbering = match &version.manifest.segments[..] {
            [own] if own.patched.is_some() => head.numbering,
            _ => version.number,
        };
        *head = Arc::new(version);
        Arc::clone(&head)
    }
}

impl Version {
    /// Nodes of its segments, dead ones included.
    pub(crate) fn node_count(&self) -> u32 {
        self.manifest.node_count()
    }

    /// Nodes of its segments that died.
    pub(crate) fn dead_count(&self) -> u64 {
        let dead = self
            .segments
            .iter()
            .filter_map(|segment| segment.dead.as_deref());
        dead.map(|dead| u64::from(dead.len())).sum()
    }

    /// Rows that live, in segments and deltas, at one moment.
    pub(crate) fn living(&self) -> u64 {
        self.at_rest(|| {
            let nodes = u64::from(self.node_count()).saturating_sub(self.dead_count());
            let rows = self.chain().map(|delta| u64::from(delta.living()));
            nodes + rows.sum::<u64>()
        })
    }

    /// The number of living nodes in a set, and the rows of deltas, at one moment.
    pub(super) fn living_of(&self, set: &NodeSet) -> (u64, Vec<DeltaView>) {
        self.at_rest(|| {
            let dead = self.segments.iter().filter_map(|segment| {
                let own = segment.dead.as_deref().filter(|dead| dead.len() > 0)?;
                Some(set.count_in(segment.base, own))
            });
            (set.len() - dead.sum::<u64>(), self.views())
        })
    }

    /// Calls `look` while nothing changes.
    fn at_rest<T>(&self, look: impl FnOnce() -> T) -> T {
        let _rest = self.deltas.last().map(|delta| delta.at_rest());
        look()
    }

    /// Whether a node of a segment died.
    pub(crate) fn is_dead(&self, node: NodeId) -> bool {
        self.segments.iter().any(|segment| {
            let own = node.0.checked_sub(segment.base).map(NodeId);
            let dead = own.zip(segment.dead.as_deref());
            dead.is_some_and(|(own, dead)| own.0 < segment.node_count() && dead.contains(own))
        })
    }

    /// Whether every row lives and is in a segment.
    pub(crate) fn is_whole(&self) -> bool {
        self.dead_count() == 0 && self.deltas.is_empty()
    }

    /// Refuses to do `what` with an index that is open to be changed or has dead rows.
    ///
    /// # Errors
    /// `Unsupported` where it is one.
    pub(super) fn check_whole(&self, what: &str) -> Result<()> {
        if self.is_whole() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{what} of an index that is not open to be changed and has no dead rows: merge it \
                 fully, then close it, then open it to be read"
            ),
        ))
    }

    /// How its nodes are numbered.
    pub(crate) fn numbering(&self) -> Numbering {
        Numbering {
            number: self.numbering,
            nodes: self.node_count(),
        }
    }

    /// Bytes of a vector as segments hold it.
    pub(super) fn stored_row_bytes(&self) -> usize {
        let first = self.manifest.segments.first();
        first.map_or(0, |own| own.spec.shape.vectors().row_bytes())
    }

    /// Bytes set aside for searches.
    pub(super) fn for_searches(&self) -> u64 {
        self.ledger.reserved_for(&FOR_SEARCHES)
    }

    /// The site that the bytes of its workers depend on; `None` without segments.
    fn site(&self) -> Option<WorkerSite<impl ExactSizeIterator<Item = IndexShape> + Clone>> {
        let first = self.segments.first()?;
        let regions = self.segments.iter().filter_map(|own| own.region.as_ref());
        let geometries = self.segments.iter().map(|own| own.pages.geometry());
        Some(WorkerSite {
            segments: self.segments.iter().map(|segment| segment.shape),
            centres: regions.map(Region::len).sum(),
            geometry: largest_read(geometries)?,
            backend: first.pages.backend(),
        })
    }

    /// Bytes of a worker.
    pub(super) fn worker_bytes(&self, shape: &WorkerShape) -> u64 {
        self.site().map_or(0, |site| site.bytes(shape))
    }
}
