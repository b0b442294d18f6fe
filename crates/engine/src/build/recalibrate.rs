//! A new calibration for an existing index, by queries or by other held-out rows.
//!
//! Only the manifest changes, in one step, so an index has either the old calibration or the new.

use pageway_types::Progress;

use super::measure;
use super::questions::CalibrationPlan;
use super::sample::sample_rows;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::index::Index;
use crate::manifest::Manifest;
use crate::options::{BuildOptions, Queries, USUAL_QUERIES};
use crate::threads::thread_pool;

/// Options of a new calibration.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CalibrateOptions {
    /// Numbers of neighbours that are measured beside the usual ones, [`RANKS`](crate::RANKS);
    /// between measured ones list sizes are interpolated.
    pub k: Vec<u32>,
    /// Queries at most: evenly drawn of those that are given, or rows that are held out.
    pub queries: u32,
    /// Seed of the draw.
    pub seed: u64,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        Self {
            k: Vec::new(),
            queries: USUAL_QUERIES,
            seed: BuildOptions::default().seed,
        }
    }
}

impl CalibrateOptions {
    /// The same with these [`k`](Self::k).
    #[must_use]
    pub fn with_k(mut self, k: Vec<u32>) -> Self {
        self.k = k;
        self
    }

    /// The same with at most so many [`queries`](Self::queries).
    #[must_use]
    pub fn with_queries(mut self, queries: u32) -> Self {
        self.queries = queries;
        self
    }

    /// The same with this [`seed`](Self::seed).
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

impl Index {
    /// Measures recall anew and stores it in the index, which needs no rebuild: by `queries`, such
    /// as will be asked, or by rows of its own that are held out.
    ///
    /// Costs a distance per query and vector, some thousand searches, and a commit of the manifest.
    /// Searches of this process read list sizes off the new calibration from then on; other
    /// processes do after [`Index::refresh`]. Lists that the memory of this index has no room for
    /// are not measured.
    ///
    /// # Errors
    /// `InvalidInput` for no queries or queries of another shape; `Busy` where a writer has the
    /// index; `Unsupported` for one with dead rows; as searches and commits fail.
    pub fn calibrate(
        &self,
        queries: Option<&Queries<'_>>,
        options: &CalibrateOptions,
        progress: &dyn Progress,
    ) -> Result<Calibration> {
        let calibration = self.measured(queries, options, progress)?;
        self.commit_calibration(&calibration)?;
        Ok(calibration)
    }

    /// A new calibration, which is not stored yet.
    pub(crate) fn measured(
        &self,
        queries: Option<&Queries<'_>>,
        options: &CalibrateOptions,
        progress: &dyn Progress,
    ) -> Result<Calibration> {
        self.check_whole("recall is calibrated")?;
        let plan = self.calibration_plan(queries, options, progress)?;
        let calibration = measure::calibrate(self, &plan, progress)?;
        progress.check()?;
        Ok(calibration)
    }

    fn calibration_plan(
        &self,
        queries: Option<&Queries<'_>>,
        options: &CalibrateOptions,
        progress: &dyn Progress,
    ) -> Result<CalibrationPlan> {
        let shape = self.shape();
        let count = match queries {
            Some(queries) => (queries.rows.len() / shape.row_bytes().max(1)) as u64,
            None => self.len(),
        };
        if count == 0 || self.is_empty() {
            return Err(Error::invalid(
                "a calibration needs rows, and a query or a row",
            ));
        }
        let chosen = sample_rows(count, options.queries.max(1).into(), !options.seed);
        let asked = match queries {
            Some(queries) if queries.shape == shape => {
                let row_bytes = shape.row_bytes();
                let row = |at: &u64| {
                    let start = *at as usize * row_bytes;
                    queries.rows.get(start..start + row_bytes)
                };
                (
                    chosen.iter().filter_map(row).flatten().copied().collect(),
                    None,
                )
            }
            Some(queries) => {
                let words = format!("the queries are {}, the index holds {shape}", queries.shape);
                return Err(Error::invalid(words));
            }
            None => {
                let drawn = self.held_out_rows(options.queries, !options.seed)?;
                let (rows, nodes) = drawn.into_parts();
                (rows, Some(nodes))
            }
        };
        let pool = thread_pool(0)?;
        CalibrationPlan::new(self, asked, (&options.k, options.seed), (&pool, progress))
    }

    /// Puts a calibration into the manifest on disk, if that is still the one of this index.
    pub(crate) fn commit_calibration(&self, calibration: &Calibration) -> Result<()> {
        let (vfs, dir) = (self.vfs(), self.path());
        let _lock = self.lock_to_calibrate()?;
        let mut manifest = Manifest::read(vfs, dir)?;
        if manifest.segments != self.version().manifest.segments {
            return Err(Error::new(
                ErrorKind::Busy,
                format!(
                    "{}: the index changed while it was calibrated; open it again",
                    dir.display()
                ),
            ));
        }
        manifest.generation += 1;
        manifest.calibration = calibration.clone();
        manifest.commit(vfs, dir)?;
        self.take_calibration(manifest.generation, calibration.clone());
        Ok(())
    }
}
