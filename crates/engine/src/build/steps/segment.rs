//! A segment of a build in steps: an index of its own until it is joined with the others, and the
//! nodes of it that stand in for queries.

use std::path::PathBuf;

use pageway_store::OpenMode;
use pageway_types::NodeId;

use super::common::{CommonParts, KEPT};
use super::work::SteppedBuild;
use crate::build::arrangement::ArrangedRows;
use crate::build::calibrate::held_out_rows;
use crate::build::course::Course;
use crate::build::cut::Run;
use crate::build::disk::peak_temporary_bytes;
use crate::build::pipeline::Stages;
use crate::build::scratch::{ScratchWish, TemporaryFiles};
use crate::build::stored::StoredRows;
use crate::build::whole::{SegmentRows, stopped};
use crate::build::workspace::Workspace;
use crate::error::{ErrorKind, Result};
use crate::manifest::{Manifest, SegmentEntry};
use crate::plan::index_bytes;
use crate::threads::thread_pool;

const HELD_OUT: &str = "held-out";

/// A segment that a step finished.
pub(super) struct FinishedSegment {
    pub(super) manifest: Manifest,
    /// Its nodes, among those of all, that stand in for queries.
    pub(super) held_out: Vec<NodeId>,
}

impl SteppedBuild<'_> {
    /// Builds a segment, unless it is there. Tells whether it was.
    pub(super) fn segment(&self, number: u32, stages: &mut Stages) -> Result<bool> {
        if self.finished(number)?.is_some() {
            return Ok(true);
        }
        let common = self.common(number..number + 1)?;
        let wish = ScratchWish {
            dir: self.options.scratch.as_deref(),
            resumes: self.options.resume,
        };
        let workspace = Workspace::open(self.vfs, &self.place_of(number).join("index"), wish)?;
        // Another process may have had it until now.
        if self.finished(number)?.is_some() {
            return Ok(true);
        }
        let built = self.build_segment((number, &common), &workspace, stages);
        let (manifest, held_out) = built.map_err(|error| stopped(error, self.options.resume))?;
        self.keep_held_out(number, &held_out)?;
        self.progress.check()?;
        workspace.commit(&manifest)?;
        Ok(false)
    }

    fn build_segment(
        &self,
        (number, common): (u32, &CommonParts),
        workspace: &Workspace,
        stages: &mut Stages,
    ) -> Result<(Manifest, Vec<NodeId>)> {
        let run = self.run_of(number)?;
        let plan = self.plan.of_segment(run.end - run.start);
        let own_bytes = index_bytes(&plan.spec, plan.node_count)?;
        workspace.check_space(own_bytes, peak_temporary_bytes(&plan))?;
        let arranged = common.arrangement.as_ref();
        let rows = arranged.map(|own| own.rows(self.input));
        let rows = rows.as_ref().map(ArrangedRows::input);
        let input = rows.as_ref().unwrap_or(self.input);
        let stored = StoredRows::new(input, self.plan.spec.shape.element)?;
        let stored = stored.input();
        // The order that was kept is that of this segment alone.
        let among = match arranged {
            Some(_) => 0..run.end - run.start,
            None => run.clone(),
        };
        let own = Run::new(&stored, &among);
        let held_out = held_out_rows(self.input, self.options);
        let rows = SegmentRows {
            stored: &own.input(),
            run,
            number,
            region: arranged.and_then(|own| own.regions.first()),
            held_out: held_out.as_deref(),
        };
        let (pool, course) = (
            thread_pool(self.plan.threads.working)?,
            Course::of_part(self.progress),
        );
        let build = self.build_of((input, &stored), workspace, (&pool, &course));
        let (built, nodes) = build.segment(&rows, common.quantizers.as_ref(), stages)?;
        let alone = SegmentEntry {
            first_row: 0,
            ..built.entry
        };
        Ok((build.manifest(vec![alone]), nodes))
    }

    /// Keeps which nodes are held out. The caller holds the lock of the segment.
    fn keep_held_out(&self, number: u32, nodes: &[NodeId]) -> Result<()> {
        let files = TemporaryFiles::open(self.vfs, &self.place_of(number), KEPT)?;
        files.clean()?;
        let bytes: Vec<u8> = nodes.iter().flat_map(|node| node.0.to_le_bytes()).collect();
        files.keep_bytes(HELD_OUT.to_owned(), HELD_OUT, &bytes)
    }

    /// A segment as a step left it, where one did, with all its files.
    pub(super) fn finished(&self, number: u32) -> Result<Option<FinishedSegment>> {
        let place = self.place_of(number);
        let index = place.join("index");
        let manifest = match Manifest::read(self.vfs.as_ref(), &index) {
            Ok(manifest) => manifest,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        for file in manifest.files() {
            let own = self.vfs.open(&index.join(&file.name), OpenMode::Read);
            let bytes = own.and_then(|own| own.len()).ok();
            if bytes != Some(file.file_bytes()?) {
                return Ok(None);
            }
        }
        let notes = TemporaryFiles::open(self.vfs, &place, KEPT)?;
        let Some(nodes) = notes.find_bytes(HELD_OUT)? else {
            return Ok(None);
        };
        let nodes = nodes.as_chunks::<4>().0.iter();
        Ok(Some(FinishedSegment {
            manifest,
            held_out: nodes
                .map(|word| NodeId(u32::from_le_bytes(*word)))
                .collect(),
        }))
    }

    /// Where what a segment needs lies.
    pub(super) fn place_of(&self, number: u32) -> PathBuf {
        self.home.join(format!("segment-{number}"))
    }
}
