//! From the delta to a segment.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pageway_store::{LogWriter, Lsn};
use pageway_types::{Progress, VectorRead, VectorShape};

use super::checkpoint::Checkpoint;
use super::state::State;
use super::writer::{Maintenance, Writer};
use crate::build::{Added, Addition};
use crate::delta::Delta;
use crate::error::Result;
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::options::BuildInput;
use crate::resolve::Source;
use crate::source::{IdRead, IdSlice, VectorSlice};

/// Rows that quantizers must have been trained on to be taken over for more rows than twice as
/// many: more would not make them better.
const TRAINED_ROWS: u32 = 65_536;

/// Rows of a delta, copied out.
struct Gathered {
    shape: VectorShape,
    rows: Vec<u8>,
}

impl VectorRead for Gathered {
    fn count(&self) -> u64 {
        (self.rows.len() / self.shape.row_bytes()) as u64
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        VectorSlice::new(&self.rows, self.shape)?.read(first, out)
    }

    fn resident(&self) -> Option<&[u8]> {
        Some(&self.rows)
    }
}

impl Writer {
    /// Makes a segment of the rows since the last flush, so that they take no memory and no
    /// replay. Nothing where there are none, and nothing died.
    ///
    /// Changes go on meanwhile, as far as there is room for them.
    ///
    /// # Errors
    /// `InvalidInput` where memory is too small for another segment, `NoSpace`, `Cancelled`: the
    /// rows stay where they are then. `ReadOnly` after a write that failed.
    pub fn flush(&self, progress: &dyn Progress) -> Result<()> {
        self.flush_with(&mut self.maintenance(), progress)
    }

    /// Flushes, and merges what has become too many segments, unless that is done by hand.
    pub(super) fn flush_and_merge(
        &self,
        maintenance: &mut Maintenance,
        progress: &dyn Progress,
    ) -> Result<()> {
        self.flush_with(maintenance, progress)?;
        if !self.options.merge_by_hand {
            self.merge_tiers(maintenance, progress)?;
        }
        Ok(())
    }

    pub(super) fn flush_with(
        &self,
        maintenance: &mut Maintenance,
        progress: &dyn Progress,
    ) -> Result<()> {
        let Some((frozen, floor)) = self.freeze()? else {
            return Ok(());
        };
        let added = self.segment_of(&frozen, maintenance, progress)?;
        let checkpoint = Checkpoint {
            gone: Vec::new(),
            added,
            flushed: Some(floor),
        };
        self.checkpoint(&checkpoint, maintenance)?;
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the delta, unless one is closed already that is not flushed yet. None when the files
    /// that there are hold all there is.
    fn freeze(&self) -> Result<Option<(Arc<Delta>, Lsn)>> {
        let row_bytes = self.index.shape().row_bytes();
        let freeze = |state: &mut State, log: &mut LogWriter| -> Result<_> {
            if let Some((frozen, floor)) = &state.frozen {
                return Ok(Some((Arc::clone(frozen), *floor)));
            }
            let known = state.version.manifest.changes;
            if known.is_some_and(|changes| changes.floor == log.last().0) {
                return Ok(None);
            }
            let floor = log.rotate()?;
            state.freeze(floor, row_bytes);
            let frozen = state.frozen.as_ref().map(|(delta, _)| Arc::clone(delta));
            let deltas = frozen.iter().cloned().chain([Arc::clone(&state.active)]);
            state.version = self.index.turn_to_deltas(deltas.collect());
            Ok(frozen.map(|frozen| (frozen, floor)))
        };
        self.commit.exclusive(freeze)?
    }

    /// A segment of the living rows of a delta, if there are any.
    fn segment_of(
        &self,
        delta: &Delta,
        maintenance: &mut Maintenance,
        progress: &dyn Progress,
    ) -> Result<Option<Added>> {
        let shape = self.index.shape();
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        let living = delta.living() as usize;
        rows.reserve_exact(living * shape.row_bytes());
        ids.reserve_exact(living);
        delta.view().each_living(|_, id, row| {
            rows.extend_from_slice(row);
            ids.push(id);
        });
        let vectors = Gathered { shape, rows };
        self.add(&vectors, &IdSlice(&ids), (maintenance, progress))
    }

    /// Builds a segment of rows with their ids, if there are any.
    pub(super) fn add(
        &self,
        vectors: &dyn VectorRead,
        ids: &dyn IdRead,
        (maintenance, progress): (&mut Maintenance, &dyn Progress),
    ) -> Result<Option<Added>> {
        let count = vectors.count();
        if count == 0 {
            return Ok(None);
        }
        let version = self.index.version();
        let donor = donor(&version, count);
        let spec = donor.map_or(&version.manifest.spec, |donor| &donor.spec);
        let addition = Addition {
            vfs: &self.vfs,
            dir: &self.dir,
            generation: maintenance.generation,
            input: &BuildInput::new(vectors, "rows").with_ids(Some(ids)),
            spec,
            donor: donor.map(|segment| Source {
                vfs: self.vfs.as_ref(),
                dir: &self.dir,
                segment,
            }),
            limits: self.limits,
            calibrates: is_calibrated_by(&version, count),
            progress,
        };
        let added = addition.build();
        if added.is_err() {
            // Its files belong to nobody, and the next build has names of its own.
            maintenance.generation += 1;
        }
        added.map(Some)
    }
}

/// The segment whose quantizers are good enough for `rows` rows: the longest, unless it has few for
/// so many.
fn donor(version: &Version, rows: u64) -> Option<&SegmentEntry> {
    let segments = version.manifest.segments.iter();
    let longest = segments.max_by_key(|segment| segment.node_count)?;
    let enough = longest.node_count >= TRAINED_ROWS || u64::from(longest.node_count) * 2 >= rows;
    enough.then_some(longest)
}

/// Whether recall is measured anew on a segment of so many rows: where there is none to go by, or
/// it is most of the index and twice as long as what was measured.
fn is_calibrated_by(version: &Version, rows: u64) -> bool {
    let manifest = &version.manifest;
    let measured = manifest
        .changes
        .map_or(0, |changes| changes.calibrated_rows);
    manifest.calibration.curves.is_empty() || (2 * rows >= version.living() && rows >= 2 * measured)
}
