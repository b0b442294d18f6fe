//! From the delta to a segment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pageway_store::{LogFloor, LogWriter};
use pageway_types::{NoProgress, Progress, VectorRead};

use super::checkpoint::Checkpoint;
use super::common::{Common, Maintenance};
use super::state::State;
use crate::build::{Added, Addition, AdditionLimits, AdditionSize, DocumentsById, check_addition};
use crate::delta::Delta;
use crate::error::Result;
use crate::index::Version;
use crate::manifest::SegmentEntry;
use crate::options::BuildInput;
use crate::resolve::Source;
use crate::source::{IdRead, IdSlice, ResidentSlice, VectorSlice};
use crate::spec::IndexSpec;

/// Most memory of a flush or merge that is chosen by ourselves.
const BUILD_BYTES_MAX: u64 = 1 << 40;
/// Rows that quantizers must have been trained on to be taken over for more rows than twice as
/// many: more would not make them better.
const TRAINED_ROWS: u32 = 65_536;

/// Rows, their ids, and their attributes where they have any.
pub(super) type AddedRows<'r> = (
    &'r dyn VectorRead,
    &'r dyn IdRead,
    Option<&'r dyn DocumentsById>,
);

impl Common {
    /// What is done in the background.
    pub(super) fn keep_small(&self, progress: &dyn Progress) -> Result<()> {
        let mut maintenance = self.maintenance();
        let frozen = |state: &mut State| state.frozen.is_some();
        if self.commit.look(frozen)? {
            self.flush_with(&mut maintenance, progress)?;
        }
        if self.options.merge_by_hand {
            return Ok(());
        }
        self.merge_tiers(&mut maintenance, progress)
    }

    /// Flushes and merges in the thread that calls, unless somebody else did meanwhile.
    pub(super) fn make_room(&self, rows: usize) -> Result<()> {
        let mut maintenance = self.maintenance();
        if self.commit.exclusive(|state, _| state.has_room(rows))? {
            return Ok(());
        }
        self.flush_with(&mut maintenance, &NoProgress)?;
        if !self.options.merge_by_hand {
            self.merge_tiers(&mut maintenance, &NoProgress)?;
        }
        Ok(())
    }

    /// Flushes everything that is acknowledged.
    pub(super) fn flush_all(
        &self,
        maintenance: &mut Maintenance,
        progress: &dyn Progress,
    ) -> Result<()> {
        // One that is closed already was closed before.
        if self.commit.look(|state| state.frozen.is_some())? {
            self.flush_with(maintenance, progress)?;
        }
        self.flush_with(maintenance, progress)
    }

    /// Flushes the delta that is closed, or closes one.
    pub(super) fn flush_with(
        &self,
        maintenance: &mut Maintenance,
        progress: &dyn Progress,
    ) -> Result<()> {
        let Some((frozen, floor)) = self.freeze()? else {
            return Ok(());
        };
        let _begun = self.board.begin("flush");
        let added = self.segment_of(&frozen, maintenance, progress)?;
        let checkpoint = Checkpoint {
            gone: Vec::new(),
            added,
            flushed: Some(floor),
        };
        self.checkpoint(&checkpoint, maintenance)?;
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        self.board.end_flush();
        Ok(())
    }

    /// Closes the delta, unless one is closed already that is not flushed yet. None when the files
    /// that there are hold all there is.
    fn freeze(&self) -> Result<Option<(Arc<Delta>, LogFloor)>> {
        let freeze = |state: &mut State, log: &mut LogWriter| -> Result<_> {
            if state.frozen.is_none() {
                let known = state.version.manifest.changes;
                if known.is_some_and(|changes| changes.floor == log.last().0) {
                    return Ok(None);
                }
                self.close_delta(state, log)?;
            }
            let frozen = state.frozen.as_ref();
            Ok(frozen.map(|(delta, floor)| (Arc::clone(delta), *floor)))
        };
        self.commit.exclusive(freeze)?
    }

    /// Closes the delta, between two turns of the log, and opens the next.
    pub(super) fn close_delta(&self, state: &mut State, log: &mut LogWriter) -> Result<()> {
        let floor = LogFloor {
            lsn: log.rotate()?,
            chain: Some(log.chain()),
        };
        state.freeze(floor, self.index.shape().row_bytes());
        let frozen = state.frozen.as_ref().map(|(delta, _)| Arc::clone(delta));
        let deltas = frozen.into_iter().chain([Arc::clone(&state.active)]);
        state.version = self.index.turn_to_deltas(deltas.collect());
        Ok(())
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
        // Who dies from now on is noted, and who died before is not among them.
        let view = self.commit.exclusive(|state, _| {
            state.note_kills();
            delta.view()
        })?;
        view.each_living(|_, id, row| {
            rows.extend_from_slice(row);
            ids.push(id);
        });
        let vectors = ResidentSlice(VectorSlice::new(&rows, shape)?);
        // Rows that come one by one have no attributes.
        self.add((&vectors, &IdSlice(&ids), None), (maintenance, progress))
    }

    /// Builds a segment of rows with their ids, if there are any.
    pub(super) fn add(
        &self,
        (vectors, ids, documents): AddedRows<'_>,
        (maintenance, progress): (&mut Maintenance, &dyn Progress),
    ) -> Result<Option<Added>> {
        let count = vectors.count();
        if count == 0 {
            return Ok(None);
        }
        let version = self.index.version();
        let donor = donor(&version, count);
        let own = &version.manifest.spec;
        let mut spec = donor.map_or_else(|| own.clone(), |donor| donor.spec.clone());
        // One that was built in little memory may have had to do with another.
        spec.layout.placement = own.layout.placement;
        let size = AdditionSize {
            rows: u32::try_from(count).unwrap_or(u32::MAX),
            resident: vectors.resident().is_some(),
            has_donor: donor.is_some(),
            calibrates: is_calibrated_by(&version, count),
        };
        let (limits, calibrates) = self.limits_of(&version, (&spec, size))?;
        let addition = Addition {
            vfs: &self.vfs,
            dir: &self.dir,
            generation: maintenance.generation,
            input: &BuildInput::new(vectors, "rows").with_ids(Some(ids)),
            documents,
            spec: &spec,
            donor: donor.map(|segment| Source {
                vfs: self.vfs.as_ref(),
                dir: &self.dir,
                segment,
            }),
            limits,
            calibrates,
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

impl Common {
    /// What the build of a segment may take, and whether recall can be measured on it.
    ///
    /// A memory that somebody gave is kept: where it does not hold a measurement, that is left for
    /// later, unless there is none. Otherwise it is the least that works, where that is more.
    fn limits_of(
        &self,
        version: &Version,
        (spec, size): (&IndexSpec, AdditionSize),
    ) -> Result<(AdditionLimits, bool)> {
        let mut limits = self.limits;
        if self.index.has_memory_of_its_own() {
            limits.index_memory = version.manifest.memory_bytes;
        }
        if self.options.memory.is_none() && self.options.build_memory.is_none() {
            return Ok((least_limits(spec, size, limits)?, size.calibrates));
        }
        let must = version.manifest.calibration.curves.is_empty();
        let fits = check_addition(spec, size, limits).is_ok();
        Ok((limits, size.calibrates && (must || fits)))
    }
}

/// Limits with the least of some memories that a segment can be built in, from that of `limits` on.
///
/// # Errors
/// `InvalidInput` where no memory is enough.
pub(super) fn least_limits(
    spec: &IndexSpec,
    size: AdditionSize,
    mut limits: AdditionLimits,
) -> Result<AdditionLimits> {
    loop {
        match check_addition(spec, size, limits) {
            Ok(()) => return Ok(limits),
            Err(error) if limits.build_memory >= BUILD_BYTES_MAX => return Err(error),
            Err(_) => limits.build_memory += limits.build_memory / 4,
        }
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
