//! Recall of an index that was built where memory had no room for its searches: measured before
//! the first search that asks for one.

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
    /// Costs what [`Index::calibrate`] does, and some 10 MB while it lasts; nothing where recall is
    /// known.
    ///
    /// # Errors
    /// As measuring fails: see [`Index::calibrate`].
    pub fn measure_first(&self, options: &SearchOptions, progress: &dyn Progress) -> Result<()> {
        let asks = matches!(options.effort, Effort::Recall(_));
        let asks = asks && options.radius.is_none() && !options.exact;
        if !asks || is_measured(&self.version()) {
            return Ok(());
        }
        let _one_at_a_time = self.measuring();
        let version = self.version();
        if is_measured(&version) {
            return Ok(());
        }
        let measured = self.measured(None, &CalibrateOptions::default(), progress)?;
        match self.commit_calibration(&measured) {
            Err(error) if stays_here(error.kind()) => {
                let generation = version.manifest.generation;
                self.take_calibration(generation, measured);
                Ok(())
            }
            stored => stored,
        }
    }
}

/// Whether a calibration that was refused like this is of use without being stored: where nothing
/// can be written, or another process writes now.
const fn stays_here(refused: ErrorKind) -> bool {
    use ErrorKind::{Busy, Io, NoSpace, ReadOnly, Unsupported};
    matches!(refused, Busy | Io | NoSpace | ReadOnly | Unsupported)
}

/// Whether a recall can be asked for, as far as it was measured.
fn is_measured(version: &Version) -> bool {
    version.segments.is_empty() || !version.manifest.calibration.curves.is_empty()
}
