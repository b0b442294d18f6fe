//! The memory that flushes and merges share, and the segments built in it.
//!
//! A flush alone may take all of it, and no merge begins meanwhile. A merge leaves what it takes to
//! flush a full delta, and a flush beside it takes no more than that. A merge that cannot leave so
//! much takes all, and no flush runs beside it.

use pageway_store::machine::{self, return_freed_memory};
use pageway_types::{Progress, VectorRead};

use super::common::Common;
use super::division::UpdateNeeds;
use super::redesign::Redesign;
use super::upkeep::BuildLease;
use crate::build::{
    Added, Addition, AdditionLimits, AdditionSize, CALIBRATION_QUERIES, DocumentsById, KeptLists,
    check_addition, rewrite_bytes,
};
use crate::error::{Error, ErrorKind, Result};
use crate::index::Version;
use crate::manifest::{Manifest, SegmentEntry};
use crate::options::BuildInput;
use crate::resolve::Source;
use crate::source::IdRead;
use crate::spec::IndexSpec;

/// A merge of all segments trains codes anew if their error is more than this times that of the
/// rows they were trained on.
const MOST_DRIFT: f64 = 1.3;
/// A segment with most of the rows is calibrated anew if one in so many rows came or went.
const CHANGED_SHARE: u64 = 5;
/// Memory of a flush or merge at most, if the caller gave none.
const BUILD_BYTES_MAX: u64 = 1 << 40;
/// Memory of a merge if the caller gave none, but at most this share of the machine's.
const MERGE_BYTES: u64 = 256 << 20;
const MACHINE_SHARE: u64 = 8;
/// Memory that a flush is tried with first.
pub(super) const BUILD_BYTES: u64 = 8 << 20;
/// Quantizers trained on so many rows serve any number of rows; those trained on fewer serve up
/// to twice as many.
const TRAINED_ROWS: u32 = 65_536;

/// What a segment is to be, and what its build may take.
pub(super) struct BuildRoom {
    spec: IndexSpec,
    donor: Option<SegmentEntry>,
    size: AdditionSize,
    limits: AdditionLimits,
    /// Whether no flush may run beside it.
    pub(super) is_all: bool,
    /// The new design of the index, if it changes.
    pub(super) redesign: Option<Redesign>,
}

/// Rows, their ids, and their attributes where they have any.
pub(super) type AddedRows<'r> = (
    &'r dyn VectorRead,
    &'r dyn IdRead,
    Option<&'r dyn DocumentsById>,
);

impl Common {
    /// Room for a flush of `rows` rows, beside a merge or alone.
    pub(super) fn room_for_flush(
        &self,
        version: &Version,
        (rows, is_beside): (u64, bool),
    ) -> Result<BuildRoom> {
        let mut room = self.wanted(version, (rows, true));
        if !self.is_bounded() {
            room.limits = least_limits(&room.spec, room.size, room.limits)?;
            return Ok(room);
        }
        if is_beside {
            room.limits.build_memory = self.flush_bytes(version)?;
        }
        let must = version.manifest.calibration.curves.is_empty();
        room.size.calibration_queries = room.most_queries(must);
        match room.fits() {
            Ok(()) => Ok(room),
            Err(refused) => Err(self.too_little_for("flush", (&room, version), refused)),
        }
    }

    /// Room for a merge into `rows` rows, of all segments if `is_full`. A merge of all trains
    /// quantizers anew if codes have drifted or the design changes, as far as memory is enough.
    ///
    /// # Errors
    /// `InvalidInput` with the least that works.
    pub(super) fn room_for_merge(
        &self,
        version: &Version,
        rows: u64,
        (is_full, redesign): (bool, Option<Redesign>),
    ) -> Result<BuildRoom> {
        let size = (rows, false);
        if redesign.is_some() || (is_full && version.manifest.code_drift() > MOST_DRIFT) {
            let trained = self.room_of(self.trained(version, size, redesign), version);
            if trained.is_ok() {
                return trained;
            }
        }
        self.room_of(self.wanted(version, size), version)
    }

    /// Whether a new design is due, and memory is enough to merge all segments into it.
    pub(super) fn can_redesign(&self, version: &Version) -> bool {
        let size = (version.living(), false);
        self.redesign(version, false).is_some_and(|redesign| {
            let room = self.trained(version, size, Some(redesign));
            self.room_of(room, version).is_ok()
        })
    }

    /// The room with the first memory that is enough: what a flush leaves, or all.
    fn room_of(&self, mut room: BuildRoom, version: &Version) -> Result<BuildRoom> {
        if !self.is_bounded() {
            // Rows beyond memory go through temporary files, twice each.
            let limits = &mut room.limits;
            let usual =
                machine::memory_limit_bytes().map_or(MERGE_BYTES, |all| all / MACHINE_SHARE);
            let usual = usual.min(MERGE_BYTES).max(limits.index_memory);
            limits.build_memory = limits.build_memory.max(usual);
            room.limits = least_limits(&room.spec, room.size, room.limits)?;
            if room.spec.keeps_lists() {
                let longest = version
                    .segments
                    .iter()
                    .map(|segment| segment.node_count())
                    .max();
                let size = (room.size.rows, longest.unwrap_or(0));
                let bytes = rewrite_bytes(&room.spec, size)?;
                room.limits.build_memory = room.limits.build_memory.max(bytes);
            }
            return Ok(room);
        }
        let all = room.limits.build_memory;
        let left = all.saturating_sub(self.flush_bytes(version)?);
        let wished = room.size.calibration_queries > 0;
        let is_unknown = version.manifest.calibration.curves.is_empty();
        let must = is_unknown || room.redesign.is_some();
        let [many, few] = CALIBRATION_QUERIES;
        let measured = [(many, left), (few, left), (many, all), (few, all)];
        let measured = measured.into_iter().filter(|_| wished);
        let others = [(0, left), (0, all)].into_iter().filter(|_| !must);
        let mut refused = Error::new(ErrorKind::Internal, "no room was tried");
        for (queries, bytes) in measured.chain(others) {
            (room.size.calibration_queries, room.limits.build_memory) = (queries, bytes);
            match room.fits() {
                Ok(()) => {
                    room.is_all = bytes == all;
                    return Ok(room);
                }
                Err(error) => refused = error,
            }
        }
        Err(self.too_little_for("merge", (&room, version), refused))
    }

    /// A refusal that names the memory the caller gave, and the least of it that works.
    fn too_little_for(
        &self,
        what: &str,
        (room, version): (&BuildRoom, &Version),
        refused: Error,
    ) -> Error {
        let named = || {
            let least = least_build_memory(&room.spec, room.size, room.limits)?;
            self.named_memory(version, least)
        };
        // It was refused for another reason than memory.
        let Ok((memory, least)) = named() else {
            return refused;
        };
        Error::invalid(format!(
            "the {memory} is too small for a {what} of {} rows; the smallest that works is {least}",
            room.size.rows
        ))
    }

    /// The memory that the caller has to give for flushes and merges to have `build_bytes`: its
    /// name, and how much, in words.
    pub(super) fn named_memory(
        &self,
        version: &Version,
        build_bytes: u64,
    ) -> Result<(&'static str, String)> {
        let limits = self.limits_of(version);
        UpdateNeeds::new(&version.manifest, limits, &self.options)?.named(build_bytes)
    }

    /// Builds a segment of rows and their ids; `None` if there are no rows.
    pub(super) fn build_segment(
        &self,
        (vectors, ids, documents): AddedRows<'_>,
        (lease, room, kept): (&BuildLease<'_>, &BuildRoom, Option<KeptLists<'_>>),
        progress: &dyn Progress,
    ) -> Result<Option<Added>> {
        if vectors.count() == 0 {
            return Ok(None);
        }
        let addition = Addition {
            vfs: &self.vfs,
            dir: &self.dir,
            generation: lease.generation,
            input: &BuildInput::new(vectors, "rows").with_ids(Some(ids)),
            documents,
            spec: &room.spec,
            donor: room.donor.as_ref().map(|segment| Source {
                vfs: self.vfs.as_ref(),
                dir: &self.dir,
                segment,
            }),
            limits: room.limits,
            calibration_queries: room.size.calibration_queries,
            kept,
            progress,
        };
        let added = addition.build();
        // Memory of the build goes back before the segment is loaded.
        return_freed_memory();
        added.map(Some)
    }

    /// Whether somebody gave a memory for flushes and merges.
    pub(super) fn is_bounded(&self) -> bool {
        self.options.memory.is_some() || self.options.build_memory.is_some()
    }

    /// Room for a segment of `rows` rows, in memory if `resident`, with all the memory there is.
    fn wanted(&self, version: &Version, (rows, resident): (u64, bool)) -> BuildRoom {
        let own = &version.manifest.spec;
        let donor = donor(&version.manifest, rows).cloned();
        let mut spec = donor
            .as_ref()
            .map_or_else(|| own.clone(), |donor| donor.spec.clone());
        // The element type follows from the rows of the new segment, not the donor's.
        spec.shape = own.shape;
        // A donor built in little memory may have another placement than the index asks for.
        spec.layout.placement = own.layout.placement;
        spec.layout.folded = own.layout.folded;
        BuildRoom {
            spec,
            size: AdditionSize {
                rows: u32::try_from(rows).unwrap_or(u32::MAX),
                resident,
                has_donor: donor.is_some(),
                calibration_queries: queries_if(is_calibrated_by(version, rows)),
            },
            donor,
            limits: self.limits_of(version),
            is_all: false,
            redesign: None,
        }
    }

    /// As `wanted`, with quantizers trained on its rows, and in the new design if one is given.
    fn trained(
        &self,
        version: &Version,
        size: (u64, bool),
        redesign: Option<Redesign>,
    ) -> BuildRoom {
        let mut room = self.wanted(version, size);
        room.donor = None;
        room.size.has_donor = false;
        room.size.calibration_queries = queries_if(true);
        room.spec = version.manifest.spec.clone();
        if let Some(redesign) = &redesign {
            room.spec = redesign.spec.clone();
            let memory = &mut room.limits.index_memory;
            *memory = redesign.memory_bytes.max(*memory);
        }
        room.redesign = redesign;
        room
    }

    pub(super) fn limits_of(&self, version: &Version) -> AdditionLimits {
        let mut limits = self.limits;
        if self.index.has_memory_of_its_own() {
            limits.index_memory = version.manifest.memory_bytes;
        }
        limits
    }

    /// The least memory that flushes a full delta.
    fn flush_bytes(&self, version: &Version) -> Result<u64> {
        let mut room = self.wanted(version, (self.capacity.into(), true));
        let is_unknown = version.manifest.calibration.curves.is_empty();
        room.size.calibration_queries = least_queries_if(is_unknown);
        let all = room.limits.build_memory;
        room.limits.build_memory = all.min(BUILD_BYTES);
        let least = least_limits(&room.spec, room.size, room.limits)?;
        Ok(least.build_memory.min(all))
    }
}

impl BuildRoom {
    fn fits(&self) -> Result<()> {
        check_addition(&self.spec, self.size, self.limits)
    }

    /// The most calibration queries that memory holds; if it holds none, the least number where
    /// recall `must` be measured.
    fn most_queries(&self, must: bool) -> u32 {
        if self.size.calibration_queries == 0 {
            return 0;
        }
        let fits = |queries: &u32| {
            let size = AdditionSize {
                calibration_queries: *queries,
                ..self.size
            };
            check_addition(&self.spec, size, self.limits).is_ok()
        };
        let held = CALIBRATION_QUERIES.into_iter().find(fits);
        held.unwrap_or(least_queries_if(must))
    }
}

/// Calibration queries, if the segment is calibrated.
fn queries_if(calibrates: bool) -> u32 {
    let [many, _] = CALIBRATION_QUERIES;
    if calibrates { many } else { 0 }
}

/// The least number of calibration queries, if the segment is calibrated.
pub(super) fn least_queries_if(calibrates: bool) -> u32 {
    let [_, few] = CALIBRATION_QUERIES;
    if calibrates { few } else { 0 }
}

/// `limits` with a build memory that is enough for the segment: that of `limits`, or the first
/// that is enough when it grows by quarters.
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

/// The least build memory that is enough for the segment, to the byte.
///
/// # Errors
/// As [`least_limits`].
pub(super) fn least_build_memory(
    spec: &IndexSpec,
    size: AdditionSize,
    mut limits: AdditionLimits,
) -> Result<u64> {
    limits.build_memory = BUILD_BYTES;
    let (mut low, mut high) = (0, least_limits(spec, size, limits)?.build_memory);
    while low < high {
        limits.build_memory = low + (high - low) / 2;
        match check_addition(spec, size, limits) {
            Ok(()) => high = limits.build_memory,
            Err(_) => low = limits.build_memory + 1,
        }
    }
    Ok(high)
}

/// The segment whose quantizers are taken over for `rows` rows: the longest, unless it has too few
/// rows for that.
pub(super) fn donor(manifest: &Manifest, rows: u64) -> Option<&SegmentEntry> {
    let segments = manifest.segments.iter();
    let longest = segments.max_by_key(|segment| segment.node_count)?;
    let enough = longest.node_count >= TRAINED_ROWS || u64::from(longest.node_count) * 2 >= rows;
    enough.then_some(longest)
}

/// Whether recall is measured on a new segment of `rows` rows: if it never was, or if the segment
/// has most of the rows and many of them changed since it was, or its clusters are found anew: how
/// many clusters the neighbours of a query lie in differs from one time to the next.
pub(super) fn is_calibrated_by(version: &Version, rows: u64) -> bool {
    let manifest = &version.manifest;
    let (measured, changed) = manifest.changes.map_or((0, 0), |changes| {
        (changes.calibrated_rows, changes.changed_rows)
    });
    // The count in the manifest misses deaths since its last commit, and rows that came to other
    // segments while recall was measured.
    let came = rows.saturating_sub(measured);
    let changed = changed.max(version.dead_count()).max(came);
    let is_most = 2 * rows >= version.living();
    let has_changed = changed * CHANGED_SHARE >= rows;
    let is_other = has_changed || manifest.spec.execution.entry.is_clusters();
    manifest.calibration.curves.is_empty() || (is_most && is_other)
}
