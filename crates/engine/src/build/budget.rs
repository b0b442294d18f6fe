//! Sizes of a build that fit its memory, and refusals before any work.

use super::choose::{OrRefused, Refused};
use super::plan::{BuildKind, BuildPlan, GraphPlan};
use super::stages::rewrite_bytes;

use crate::error::{Error, Result};
use crate::memory::{format_budget, format_bytes};
use crate::options::BuildOptions;

/// Rows that quantizer and partition are trained on, at most: 256 per centroid.
pub(super) const SAMPLE_ROWS: u64 = 65_536;
/// Rows that a quantizer is trained on at least, under a small budget; all rows if there are fewer.
const SAMPLE_ROWS_MIN: u64 = 2_048;
/// Threads that memory is planned for at least, if it allows: the size of sample and shards must
/// not depend on the number of threads.
pub(super) const PLANNED_THREADS: usize = 16;
/// Memory that pieces of a build are sized for: so much, and one in so many bytes of the raw
/// vectors. More memory makes no larger pieces, so the bytes of an index do not depend on it.
const USUAL_BYTES: u64 = 64_000_000;
const USUAL_SHARE: u64 = 100;

impl BuildPlan {
    /// Chooses sample, parts and graph plan so that no stage exceeds the budget.
    pub(super) fn fit(&mut self, resident: bool, options: &BuildOptions) -> OrRefused<()> {
        let is_taken = options.graph_from.is_some() && !self.has_clusters();
        if is_taken {
            self.graph = GraphPlan::Taken { window: None };
        }
        self.settle_threads(resident, options)?;
        if self.whole_bytes(resident, SAMPLE_ROWS_MIN) > self.budget_bytes {
            self.cut_into_pieces(resident);
        } else {
            self.graph = GraphPlan::Whole;
            self.settle_sample(resident);
        }
        Ok(())
    }

    /// Chooses sizes of pieces and sample that fit. Memory beyond `usual_bytes` changes none of
    /// them, so it changes no byte of the index.
    fn cut_into_pieces(&mut self, resident: bool) {
        let given = (self.budget_bytes, self.threads.planned);
        self.threads.planned = 1;
        let usual = self.usual_bytes().max(self.least_of_pieces() + USUAL_BYTES);
        self.budget_bytes = self.budget_bytes.min(usual);
        self.threads.planned = given.1.max(PLANNED_THREADS);
        while self.threads.planned > 1 && self.least_of_pieces() > self.budget_bytes {
            self.threads.planned /= 2;
        }
        self.parts = self.can_part().then(|| self.part_capacity());
        if !self.has_clusters() {
            let window = self.places_by_edges().then(|| self.window_capacity());
            self.graph = if self.is_taken() {
                GraphPlan::Taken { window }
            } else {
                let capacity = self.shard_capacity();
                GraphPlan::Shards { capacity, window }
            };
        }
        self.settle_sample(resident);
        self.budget_bytes = given.0;
        self.threads.working = self.threads.working.min(self.threads.planned);
    }

    /// The least memory of a build in pieces, with codes trained on few rows.
    fn least_of_pieces(&self) -> u64 {
        let training = self.train_bytes(self.sample_rows.min(SAMPLE_ROWS_MIN), self.can_part());
        self.piecewise_bytes().unwrap_or(0).max(training)
    }

    fn settle_sample(&mut self, resident: bool) {
        while self.sample_rows > SAMPLE_ROWS_MIN && self.peak_bytes(resident) > self.budget_bytes {
            self.sample_rows = (self.sample_rows / 2).max(SAMPLE_ROWS_MIN);
        }
    }

    /// Memory that pieces of a build are sized for, if there is so much.
    pub(super) fn usual_bytes(&self) -> u64 {
        USUAL_BYTES + u64::from(self.node_count) * self.row_bytes() / USUAL_SHARE
    }

    /// Plans to keep the lists of segments, if memory is enough; the largest has `largest` nodes.
    pub(super) fn keep_lists(&mut self, largest: u32) -> Result<()> {
        if rewrite_bytes(&self.spec, (self.node_count, largest))? <= self.budget_bytes {
            (self.graph, self.parts) = (GraphPlan::Kept, None);
        }
        Ok(())
    }

    /// Halves the planned threads until their memory fits the budget with the rest.
    fn settle_threads(&mut self, resident: bool, options: &BuildOptions) -> OrRefused<()> {
        let fits = |plan: &Self| plan.refuse_below_least(resident, options);
        while self.threads.planned > 1 && fits(self).is_err() {
            self.threads.planned /= 2;
        }
        self.threads.working = self.threads.working.min(self.threads.planned);
        fits(self)
    }

    /// The most nodes of a shard that the budget holds. Needs a budget that holds `least_shard`.
    fn shard_capacity(&self) -> u32 {
        let low = self.least_shard();
        let (mut low, mut high) = (low, u64::from(self.node_count).max(low));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.shard_bytes(middle) <= self.budget_bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low as u32
    }

    /// Refuses a budget that some stage cannot work with, and names the smallest that all can.
    fn refuse_below_least(&self, resident: bool, options: &BuildOptions) -> OrRefused<()> {
        let whole = self.whole_bytes(resident, SAMPLE_ROWS_MIN);
        let graph = self
            .piecewise_bytes()
            .map_or(whole, |bytes| bytes.min(whole));
        // A new index can be measured later; a segment that is added must be measured now.
        let measuring = match self.kind {
            BuildKind::Whole => 0,
            BuildKind::Added { .. } => self.measuring_bytes(options)?,
        };
        let stages = [
            ("calibrating", measuring),
            (
                "training the codes",
                self.train_bytes(self.sample_rows.min(SAMPLE_ROWS_MIN), self.can_part()),
            ),
            ("building the graph and placing its nodes", graph),
        ];
        let most = stages.into_iter().max_by_key(|(_, bytes)| *bytes);
        most.map_or(Ok(()), |(stage, bytes)| self.refuse_above(stage, bytes))
    }

    fn refuse_above(&self, stage: &'static str, bytes: u64) -> OrRefused<()> {
        if bytes <= self.budget_bytes {
            return Ok(());
        }
        let bytes = bytes + self.cut.order_bytes();
        let error = Error::invalid(format!(
            "a build memory of {} is too small for {stage}; the smallest that works is {bytes} B \
             ({})",
            format_budget(self.build_memory()),
            format_bytes(bytes)
        ));
        Err(Refused::while_building(error, bytes))
    }
}
