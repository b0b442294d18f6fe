//! Measures recall before the first search that asks for one, if the memory of the build had no
//! room for that.

use pageway_types::Progress;

use super::CalibrateOptions;
use crate::error::{ErrorKind, Result};
use crate::index::{Index, Version};
use crate::options::{Effort, SearchOptions};

impl Index {
    /// Measures recall where a search asks for one and nobody measured any: with rows that are held
    /// out, once for all threads. It is stored with the index where that can be written to, and
    /// else known to this process alone. Searches do it by themselves; who times them does it
    /// before.
    ///
    /// Costs what [`Index::calibrate`] does, and 10 to 30 MB while it lasts; nothing where recall
    /// is known. An index that is open to be changed, or has dead rows, is left to its next full
    /// merge, which measures it.
    ///
    /// # Errors
    /// As measuring fails: see [`Index::calibrate`].
    pub fn measure_first(&self, options: &SearchOptions, progress: &dyn Progress) -> Result<()> {
        let can_be = |recall| (0.0..=1.0).contains(&recall);
        let asks = matches!(options.effort, Effort::Recall(recall) if can_be(recall));
        let asks = asks && options.radius.is_none() && !options.exact;
        if !asks || !is_unmeasured(&self.version()) {
            return Ok(());
        }
        let _one_at_a_time = self.measuring();
        let version = self.version();
        if !is_unmeasured(&version) {
            return Ok(());
        }
        let measured = self.measured(None, &CalibrateOptions::default(), progress)?;
        match self.commit_calibration(&measured) {
            Err(error) if stays_here(error.kind()) => {
                // It means nothing for another version.
                if self.version().number == version.number {
                    self.take_calibration(version.manifest.generation, measured);
                }
                Ok(())
            }
            stored => stored,
        }
    }
}

/// Whether a calibration that could not be stored is still used by this process: if nothing can be
/// written, or another process is writing.
const fn stays_here(refused: ErrorKind) -> bool {
    use ErrorKind::{Busy, NoSpace, ReadOnly, Unsupported};
    matches!(refused, Busy | NoSpace | ReadOnly | Unsupported)
}

/// Whether recall was never measured and can be now.
fn is_unmeasured(version: &Version) -> bool {
    let is_known = version.segments.is_empty() || !version.manifest.calibration.curves.is_empty();
    !is_known && version.is_whole()
}
