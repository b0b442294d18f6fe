//! Whether a build searches the finished index, for its recall and its hot nodes, and the memory of
//! that.

use super::climb::{NOTE_BYTES, NOTES};
use super::measure::{ANSWER_BYTES, MAX_ANSWERS, MOST_AT_ONCE};
use super::plan::BuildPlan;
use super::stages::STAGE_BYTES;
use crate::calibration::RANKS;
use crate::error::Result;
use crate::execution::MOST_COPIES;
use crate::memory::format_bytes;
use crate::options::{BuildOptions, USUAL_QUERIES};
use crate::plan::least_memory;
use crate::resolve;

impl BuildPlan {
    /// Memory for measuring recall or hot nodes of the finished index.
    pub(super) fn measuring_bytes(&self, options: &BuildOptions) -> Result<u64> {
        let beside = if options.calibration_queries != Some(0) {
            self.calibration_bytes(self.queries(options)?)
        } else if self.counts_visits() {
            STAGE_BYTES
        } else {
            return Ok(0);
        };
        Ok(beside + self.searching_bytes()?)
    }

    /// The least memory that is enough for searches over all segments, and over one.
    fn searching_bytes(&self) -> Result<u64> {
        let settled = self.spec.settled();
        let all = least_memory(&settled, self.cut.extent())?.reserved();
        Ok(all.max(least_memory(&settled, self.node_count)?.reserved()))
    }

    /// Whether the build measures recall: if asked to, and memory holds the searches.
    pub(super) fn calibrates(&self, options: &BuildOptions) -> Result<bool> {
        let fits = self.measuring_bytes(options)? <= self.budget_bytes;
        Ok(options.calibration_queries != Some(0) && fits)
    }

    /// Whether the build finds hot nodes by searches: if the design does, and memory holds them.
    pub(super) fn samples_visits(&self) -> Result<bool> {
        Ok(self.counts_visits() && self.searching_bytes()? + STAGE_BYTES <= self.budget_bytes)
    }

    /// Warnings before the build: a form that its memory is too small for, and measurements that
    /// are left for later.
    pub(super) fn warnings(&self, options: &BuildOptions) -> Result<Vec<String>> {
        let mut warnings: Vec<String> = self.passed_over.iter().cloned().collect();
        if options.calibration_queries != Some(0) && !self.calibrates(options)? {
            let least = self.measuring_bytes(options)? + self.cut.order_bytes();
            warnings.push(format!(
                "recall is not measured by this build, whose memory does not hold searches \
                 ({least} B, {}, would): the first search that asks for a recall measures it, or \
                 pageway calibrate",
                format_bytes(least)
            ));
        }
        if self.counts_visits() && !self.samples_visits()? {
            let words = "what a cache takes first is listed by distance from the entry, as the \
                         memory of this build does not hold searches that show it";
            warnings.push(words.to_owned());
        }
        Ok(warnings)
    }

    /// Whether the design finds hot nodes by searches.
    fn counts_visits(&self) -> bool {
        let spec = &self.spec;
        resolve::keeps_hot_list(spec) && spec.cache.selection.counts_visits()
    }

    /// Queries that the calibration measures recall with: where nobody says how many, no more than
    /// memory holds, but the usual number at least.
    pub(super) fn queries(&self, options: &BuildOptions) -> Result<u32> {
        let wished = options.queries_of(self.cut.rows().into());
        let takes = self.calibration_bytes(wished) + self.searching_bytes()?;
        let is_held = options.calibration_queries.is_some() || takes <= self.budget_bytes;
        Ok(if is_held { wished } else { USUAL_QUERIES })
    }

    /// Memory of a calibration with so many queries, beside the open index.
    pub(super) fn calibration_bytes(&self, queries: u32) -> u64 {
        let most = RANKS.into_iter().max().unwrap_or(1).min(self.node_count);
        let queries = u64::from(queries);
        // Each row, its truth and the cost of its search; rows that are searched for at once again,
        // and the answers of some queries, or the notes of all.
        let neighbors = u64::from(most) + MOST_COPIES as u64;
        let per_query = self.row_bytes() + neighbors * (4 + 4) + 200;
        let copied = queries.min(MOST_AT_ONCE as u64) * self.row_bytes();
        let answers = (queries * u64::from(most)).min(MAX_ANSWERS as u64) * ANSWER_BYTES;
        let notes = queries * NOTES * NOTE_BYTES;
        STAGE_BYTES + queries * per_query + copied + answers.max(notes)
    }
}
