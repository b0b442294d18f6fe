//! Whether vectors are folded, so that more of them fit a page.

use super::plan::BuildPlan;
use crate::error::Result;
use crate::resolve::best_fold;
use crate::spec::IndexSpec;

impl IndexSpec {
    /// The design over `node_count` rows that were looked at; `below_two` if all components are
    /// below 2 in size, so that vectors are folded where more of them fit a page then.
    ///
    /// # Errors
    /// `InvalidInput` for vectors larger than the largest unit of a page file.
    pub(crate) fn for_rows(&self, node_count: u32, below_two: bool) -> Result<Self> {
        let mut spec = self.clone();
        let folded = if below_two {
            best_fold(self, node_count)?
        } else {
            0
        };
        spec.layout.folded = Some(folded);
        Ok(spec)
    }
}

impl BuildPlan {
    /// The plan of rows that were looked at.
    pub(super) fn for_rows(&self, below_two: bool) -> Result<Self> {
        let mut plan = self.clone();
        plan.spec = self.spec.for_rows(self.node_count, below_two)?;
        Ok(plan)
    }
}
