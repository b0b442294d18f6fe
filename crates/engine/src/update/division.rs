//! How the memory for updates is divided, and the least of it that works.

use super::building::{BUILD_BYTES, donor, least_build_memory, least_limits, least_queries_if};
use super::linking::{MOST_LINKS, link_bytes};
use super::options::UpdateOptions;
use super::taken::TAKEN_BYTES;
use crate::build::{AdditionLimits, AdditionSize, check_addition};
use crate::delta::{LinkRoom, RowForm};
use crate::error::{Error, MemoryLack, Result};
use crate::execution::DeadSet;
use crate::manifest::Manifest;
use crate::memory::format_bytes;
use crate::source::kernels;
use crate::spec::IndexSpec;

/// Rows that a delta holds at least.
const LEAST_ROWS: u64 = 256;
/// Rows that a delta holds at least if the caller gives no memory for updates; also the rows to
/// come that the least memory for merges allows for.
const DEFAULT_ROWS: u64 = 4096;
/// Searches for neighbours beyond the first may take one in so many bytes of the memory of deltas.
const LINKS_SHARE: u64 = 8;
/// Updates get one in so many bytes of the memory of searches, if the caller gives none.
const DEFAULT_SHARE: u64 = 8;
/// Buffers of the log and of its replay.
const LOG_BYTES: u64 = 2 << 20;

/// How the memory for updates is divided.
pub(super) struct Division {
    pub(super) update_bytes: u64,
    pub(super) build_bytes: u64,
    /// Rows of a delta.
    pub(super) rows: u32,
    /// Searches for the neighbours of rows at the same time.
    pub(super) links: u32,
}

/// The memory that updates of an index need: for a flush or merge, for the tables of segments, and
/// for two deltas and a copy of one.
pub(super) struct UpdateNeeds<'m> {
    manifest: &'m Manifest,
    limits: AdditionLimits,
    options: &'m UpdateOptions,
    /// Bytes that do not depend on the deltas, one search for neighbours included.
    fixed: u64,
    /// Bytes of a search for neighbours; 0 for designs without one.
    link: u64,
    /// Bytes of a row of a delta.
    each: u64,
}

impl<'m> UpdateNeeds<'m> {
    /// The needs of an index that is searched in the memory of `limits`.
    pub(super) fn new(
        manifest: &'m Manifest,
        limits: AdditionLimits,
        options: &'m UpdateOptions,
    ) -> Result<Self> {
        let row = manifest.spec.shape.vectors().row_bytes() as u64;
        let segments = manifest.segments.iter();
        let known =
            segments.map(|one| DeadSet::bytes(one.node_count) + u64::from(one.node_count) / 30);
        let link = link_bytes(&manifest.spec, manifest.node_count());
        Ok(Self {
            manifest,
            limits,
            options,
            fixed: LOG_BYTES + 2 * known.sum::<u64>() + link,
            link,
            each: 2 * row_form(&manifest.spec, 0)?.bytes() + row + TAKEN_BYTES,
        })
    }

    /// Divides the memory that was given, or the default.
    ///
    /// # Errors
    /// `InvalidInput` where it is too little, with the smallest that works for merges too.
    pub(super) fn divide(&self) -> Result<Division> {
        let raw = self.manifest.raw_bytes();
        let wished = self.options.memory.map(|wish| wish.resolve(raw));
        let given = self.options.build_memory.map(|wish| wish.resolve(raw));
        let build_bytes = match (given, wished) {
            (Some(given), _) if self.check_flush(LEAST_ROWS as u32, given).is_err() => {
                return Err(self.too_small_to_build(given)?);
            }
            (Some(given), _) => given,
            (None, Some(wished)) => {
                let most = wished.saturating_sub(self.beside_builds());
                (wished / 2).min(most).max(self.flush_bytes()?)
            }
            (None, None) => self.usual_build_bytes()?,
        };
        let update_bytes = wished.unwrap_or_else(|| {
            let others = (MOST_LINKS - 1) * self.link;
            let enough = build_bytes + self.fixed + DEFAULT_ROWS * self.each + others;
            enough.max(self.limits.index_memory / DEFAULT_SHARE)
        });
        if update_bytes < build_bytes.saturating_add(self.beside_builds()) {
            return Err(self.too_small(update_bytes, given)?);
        }
        let spare = update_bytes - build_bytes - self.fixed;
        let others = (spare - LEAST_ROWS * self.each) / LINKS_SHARE;
        let others = others
            .checked_div(self.link)
            .map_or(0, |fit| fit.min(MOST_LINKS - 1));
        let rows = (spare - others * self.link) / self.each;
        let mut rows = rows.min(u64::from(u32::MAX / 4)) as u32;
        // A delta holds no more rows than one flush can take.
        while self.check_flush(rows, build_bytes).is_err() && rows > LEAST_ROWS as u32 {
            rows = (rows - rows / 4).max(LEAST_ROWS as u32);
        }
        Ok(Division {
            update_bytes,
            build_bytes,
            rows,
            links: others as u32 + 1,
        })
    }

    /// The memory that the caller has to give for builds to have `build_bytes`: its name, and how
    /// much, in words.
    pub(super) fn named(&self, build_bytes: u64) -> Result<(&'static str, String)> {
        let words = |bytes: u64| format!("{bytes} B ({})", format_bytes(bytes));
        if self.options.build_memory.is_none() {
            return Ok(("memory for updates", words(self.whole(build_bytes)?)));
        }
        let raw = self.manifest.raw_bytes();
        let wished = self.options.memory.map(|wish| wish.resolve(raw));
        let whole = build_bytes.saturating_add(self.beside_builds());
        let build = words(build_bytes);
        let least = if wished.is_some_and(|wished| wished < whole) {
            format!("{build}, in a memory for updates of {}", words(whole))
        } else {
            build
        };
        Ok(("build memory", least))
    }

    /// The least memory beside that of builds.
    fn beside_builds(&self) -> u64 {
        self.fixed + LEAST_ROWS * self.each
    }

    /// The memory for updates of which builds get `build_bytes` by default.
    fn whole(&self, build_bytes: u64) -> Result<u64> {
        let whole = build_bytes.saturating_add(self.beside_builds());
        if build_bytes <= self.flush_bytes()? {
            return Ok(whole);
        }
        Ok(whole.max(build_bytes.saturating_mul(2)))
    }

    /// The least memory of a flush.
    fn flush_bytes(&self) -> Result<u64> {
        let size = self.flush_size(LEAST_ROWS as u32);
        least_build_memory(&self.manifest.spec, size, self.limits)
    }

    /// The least memory that is enough for a flush, and for a merge of all rows and some to come.
    fn build_bytes(&self) -> Result<u64> {
        let nodes = u64::from(self.manifest.node_count()) + DEFAULT_ROWS;
        let is_unknown = self.manifest.calibration.curves.is_empty();
        let size = AdditionSize {
            rows: u32::try_from(nodes).unwrap_or(u32::MAX),
            resident: false,
            has_donor: donor(self.manifest, nodes).is_some(),
            calibration_queries: least_queries_if(is_unknown),
        };
        let merge = least_build_memory(&self.manifest.spec, size, self.limits);
        // If no memory is enough for a merge, the index is still flushed.
        Ok(merge.unwrap_or(0).max(self.flush_bytes()?))
    }

    /// The memory of a flush of the usual number of rows, with some to spare.
    fn usual_build_bytes(&self) -> Result<u64> {
        let mut limits = self.limits;
        limits.build_memory = BUILD_BYTES;
        let size = self.flush_size(DEFAULT_ROWS as u32);
        Ok(least_limits(&self.manifest.spec, size, limits)?.build_memory)
    }

    fn check_flush(&self, rows: u32, build_memory: u64) -> Result<()> {
        let limits = AdditionLimits {
            build_memory,
            ..self.limits
        };
        check_addition(&self.manifest.spec, self.flush_size(rows), limits)
    }

    /// The size of a flush of `rows` rows; the first flush trains and calibrates.
    fn flush_size(&self, rows: u32) -> AdditionSize {
        AdditionSize {
            rows,
            resident: true,
            has_donor: !self.manifest.segments.is_empty(),
            calibration_queries: least_queries_if(self.manifest.calibration.curves.is_empty()),
        }
    }

    fn too_small_to_build(&self, given: u64) -> Result<Error> {
        let least = self.build_bytes()?;
        let words = format!(
            "memory for updates: a build memory of {} ({given} B) is too small for a flush; the \
             smallest that works is {least} B ({}), for flushes and merges",
            format_bytes(given),
            format_bytes(least),
        );
        let whole = least.saturating_add(self.beside_builds());
        Ok(Error::lacking(MemoryLack::Updates(whole), words))
    }

    fn too_small(&self, given: u64, build_bytes: Option<u64>) -> Result<Error> {
        let build_bytes = match build_bytes {
            Some(given) => given,
            None => self.build_bytes()?,
        };
        let least = match self.options.build_memory {
            Some(_) => build_bytes.saturating_add(self.beside_builds()),
            None => self.whole(build_bytes)?,
        };
        let words = format!(
            "a memory for updates of {} ({given} B) is too small; the smallest that works is \
             {least} B ({}): {} for flushes and merges, {} for {LEAST_ROWS} rows at least, {} for \
             what is known of segments",
            format_bytes(given),
            format_bytes(least),
            format_bytes(build_bytes),
            format_bytes(LEAST_ROWS * self.each),
            format_bytes(self.fixed),
        );
        Ok(Error::lacking(MemoryLack::Updates(least), words))
    }
}

/// The form of the rows of a delta.
pub(super) fn row_form(spec: &IndexSpec, rows: u32) -> Result<RowForm> {
    let form = RowForm::new(kernels()?, spec.shape.vectors(), spec.shape.metric);
    let degree = spec.graph.max_degree();
    let room = spec.links_rows().then_some(LinkRoom { degree, rows });
    Ok(form.with_links(room))
}
