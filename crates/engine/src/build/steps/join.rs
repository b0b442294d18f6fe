//! The last step of a build: the files of all segments under one manifest, calibrated together.

use std::path::Path;

use super::segment::FinishedSegment;
use super::work::SteppedBuild;
use crate::build::BuildReport;
use crate::build::arrangement::ArrangedRows;
use crate::build::calibrate::held_out_rows;
use crate::build::copy::link_or_copy;
use crate::build::course::Course;
use crate::build::pipeline::Stages;
use crate::build::scratch::ScratchWish;
use crate::build::stored::StoredRows;
use crate::build::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::SegmentEntry;
use crate::threads::thread_pool;

impl SteppedBuild<'_> {
    /// Makes the index at `dir` of the segments.
    ///
    /// # Errors
    /// `NotFound` naming segments that are not there.
    pub(super) fn join(&self, dir: &Path, stages: &mut Stages) -> Result<BuildReport> {
        let finished = self.all_finished()?;
        let common = self.common(0..self.plan.cut.runs())?;
        let rows = common.arrangement.as_ref().map(|own| own.rows(self.input));
        let rows = rows.as_ref().map(ArrangedRows::input);
        let input = rows.as_ref().unwrap_or(self.input);
        let stored = StoredRows::new(input, self.plan.spec.shape.element)?;
        let wish = ScratchWish {
            dir: self.options.scratch.as_deref(),
            resumes: false,
        };
        let workspace = Workspace::open(self.vfs, dir, wish)?;
        let (mut segments, mut nodes) = (Vec::new(), Vec::new());
        self.progress.stage("join segments", finished.len() as u64);
        for (number, own) in (0..).zip(finished) {
            self.progress.check()?;
            nodes.extend_from_slice(&own.held_out);
            segments.push(self.take_over(number, &own, &workspace)?);
            self.progress.advance(1);
        }
        stages.end("join segments");
        let (pool, course) = (
            thread_pool(self.plan.threads.working)?,
            Course::of_part(self.progress),
        );
        let stored = stored.input();
        let build = self.build_of((input, &stored), &workspace, (&pool, &course));
        let held_out = held_out_rows(self.input, self.options).map(|_| nodes);
        let manifest = build.joined(segments, held_out, stages)?;
        let done = std::mem::replace(stages, Stages::start());
        let report = BuildReport::of(self.plan, self.options, &manifest, done)?;
        self.progress.check()?;
        workspace.commit(&manifest)?;
        Ok(report)
    }

    fn all_finished(&self) -> Result<Vec<FinishedSegment>> {
        let (mut all, mut missing) = (Vec::new(), Vec::new());
        for number in 0..self.plan.cut.runs() {
            match self.finished(number)? {
                Some(own) => all.push(own),
                None => missing.push(number.to_string()),
            }
        }
        if missing.is_empty() {
            return Ok(all);
        }
        Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "{}: these segments of the build are not there: {}; do their steps first, with \
                 the same data and options",
                self.home.display(),
                missing.join(", ")
            ),
        ))
    }

    /// Puts the files of a segment beside those of the others, under names of their generation.
    fn take_over(
        &self,
        number: u32,
        finished: &FinishedSegment,
        workspace: &Workspace,
    ) -> Result<SegmentEntry> {
        let several = self.plan.cut.runs() > 1;
        let suffix = |generation: u64| {
            if several {
                format!("-{generation}-{number}.pw")
            } else {
                format!("-{generation}.pw")
            }
        };
        let (before, after) = (
            suffix(finished.manifest.generation),
            suffix(workspace.generation),
        );
        let from = self.place_of(number).join("index");
        let mut segment = finished.manifest.first()?.clone();
        segment.first_row = self.run_of(number)?.start;
        for file in segment.files.built_mut() {
            let stem = file.name.strip_suffix(&before).ok_or_else(|| {
                let what = format!("{} is no file of segment {number}", file.name);
                Error::new(ErrorKind::Corrupt, what)
            })?;
            let name = format!("{stem}{after}");
            let to = workspace.dir.join(&name);
            link_or_copy(self.vfs.as_ref(), &from.join(&file.name), &to)?;
            file.name = name;
        }
        Ok(segment)
    }
}
