//! The work of a build in steps: where it lies, whose it is, and each step's way in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway_store::{OsVfs, Vfs};
use pageway_types::{Progress, VectorRead};
use rayon::ThreadPool;
use serde_json::json;

use super::step::{BuildStep, StepKind, StepReport};
use crate::build::BuildReport;
use crate::build::codebook::SharedCodebook;
use crate::build::course::Course;
use crate::build::fingerprint::Fingerprint;
use crate::build::named::with_ids;
use crate::build::pipeline::Stages;
use crate::build::plan::BuildPlan;
use crate::build::sample::{read_rows, sample_rows};
use crate::build::whole::{Build, planned};
use crate::build::workspace::Workspace;
use crate::error::Result;
use crate::index::Index;
use crate::options::{BuildInput, BuildOptions};

/// Rows that tell data from others.
const TELLING_ROWS: u64 = 1000;

impl Index {
    /// Does one step of a build whose segments are built by processes of their own.
    ///
    /// All are given the same input and options, and see the same [`work`](BuildStep::work):
    /// `prepare` once, then each segment, in any order and at the same time, then `join`, which
    /// makes the index at `dir`. Its bytes are those of [`Index::build`]. Each step keeps within
    /// the memory of the build. A step that was finished is not done again, so that a build whose
    /// processes were lost goes on when its steps are asked for again.
    ///
    /// # Errors
    /// As [`Index::build`]; `NotFound` where a step that must come before has not ended; `Busy`
    /// where another process does the same one.
    pub fn build_step(
        dir: &Path,
        input: &BuildInput<'_>,
        options: &BuildOptions,
        step: &BuildStep,
        progress: &dyn Progress,
    ) -> Result<StepReport> {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        with_ids(input, |input| {
            let (plan, codebook) = planned(vfs.as_ref(), input, options, progress)?;
            let told = identity((input, options), &plan, codebook.as_ref())?;
            let work = SteppedBuild {
                vfs: &vfs,
                home: step.work.join(told.hex()),
                input,
                options,
                plan: &plan,
                codebook: codebook.as_ref(),
                progress,
            };
            work.run(dir, step.kind)
        })
    }
}

/// A build in steps.
pub(super) struct SteppedBuild<'w> {
    pub(super) vfs: &'w Arc<dyn Vfs>,
    /// Directory of this build.
    pub(super) home: PathBuf,
    pub(super) input: &'w BuildInput<'w>,
    pub(super) options: &'w BuildOptions,
    pub(super) plan: &'w BuildPlan,
    pub(super) codebook: Option<&'w SharedCodebook>,
    pub(super) progress: &'w dyn Progress,
}

impl SteppedBuild<'_> {
    /// The build of these rows, as they are given and as they are stored, in a workspace.
    pub(super) fn build_of<'b>(
        &'b self,
        (input, stored): (&'b BuildInput<'b>, &'b BuildInput<'b>),
        workspace: &'b Workspace,
        (pool, progress): (&'b ThreadPool, &'b Course<'b>),
    ) -> Build<'b> {
        Build {
            input,
            stored,
            options: self.options,
            plan: self.plan,
            codebook: self.codebook,
            regions: &[],
            workspace,
            pool,
            progress,
        }
    }

    fn run(&self, dir: &Path, kind: StepKind) -> Result<StepReport> {
        let mut stages = Stages::start();
        let (mut nodes, mut index) = (self.plan.cut.rows(), None);
        let done_before = match kind {
            StepKind::Prepare => self.prepare(&mut stages)?,
            StepKind::Segment(number) => {
                let run = self.run_of(number)?;
                nodes = run.end - run.start;
                self.segment(number, &mut stages)?
            }
            StepKind::Join => {
                index = Some(self.join(dir, &mut stages)?);
                false
            }
        };
        let joined = index.as_ref().map(|own: &BuildReport| own.seconds.clone());
        Ok(StepReport {
            step: kind.to_string(),
            done_before,
            segments: self.plan.cut.runs(),
            nodes: nodes.into(),
            build_memory_bytes: self.plan.build_memory(),
            warnings: stages.lengths.warnings(),
            seconds: joined.unwrap_or(stages.seconds),
            index,
        })
    }
}

/// What tells a build from others: what it does, and some of its rows.
fn identity(
    (input, options): (&BuildInput<'_>, &BuildOptions),
    plan: &BuildPlan,
    codebook: Option<&SharedCodebook>,
) -> Result<Fingerprint> {
    let mut print = Fingerprint::new();
    let rows = sample_rows(input.vectors.count(), TELLING_ROWS, !options.seed);
    print.add(&read_rows(input.vectors, &rows)?);
    if let Some(ids) = input.ids {
        let mut id = [0];
        for row in &rows {
            ids.read(*row, &mut id)?;
            print.add(&id[0].to_le_bytes());
        }
    }
    let queries = input.queries.map(VectorRead::count);
    print.add_json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "spec": plan.spec,
        "rows": plan.cut.rows(),
        "segments": plan.cut.runs(),
        "by_space": plan.cut.is_by_space(),
        "memory": plan.index_memory,
        "sample_rows": plan.sample_rows,
        "shard_capacity": plan.graph.capacity(),
        "part_capacity": plan.parts,
        "window_capacity": plan.graph.window(),
        "codebook": codebook.map(|own| own.uuid.0),
        "queries": queries,
        "calibration_queries": options.calibration_queries,
        "attributes": input.attributes.is_some(),
        "schema": options.schema,
        "ids": input.ids.is_some(),
    }));
    Ok(print)
}
