//! Recall where answers may come from codes.

use std::borrow::Cow;

use super::Version;
use crate::calibration::Calibration;
use crate::execution::Tolerance;
use crate::options::{Effort, SearchOptions};

/// Whether a search answers by codes.
pub(super) fn is_by_codes(options: &SearchOptions) -> bool {
    !options.tolerance.is_exact() && options.radius.is_none()
}

impl Version {
    /// What was measured of searches with these options.
    pub(super) fn calibration_of(&self, options: &SearchOptions) -> Cow<'_, Calibration> {
        let own = &self.manifest.calibration;
        if is_by_codes(options) {
            Cow::Owned(own.by_codes(options.k))
        } else {
            Cow::Borrowed(own)
        }
    }

    /// The options with exact answers, which any tolerance admits, where codes do not reach the
    /// recall.
    pub(super) fn within_reach(&self, options: &SearchOptions) -> SearchOptions {
        let mut options = *options;
        if let Effort::Recall(recall) = options.effort
            && is_by_codes(&options)
            && let Some(best) = self.calibration_of(&options).best(options.k)
            && best < recall
        {
            options.tolerance = Tolerance::EXACT;
        }
        options
    }
}
