//! What the segments of a build have in common, found once and kept for the steps that build them:
//! which rows are in which, where those lie, and what codes mean.

use std::ops::Range;

use pageway_quant::Quantizer;
use pageway_store::FileUuid;

use super::work::SteppedBuild;
use crate::build::arrangement::{ArrangedRows, Arrangement};
use crate::build::calibrate::held_out_rows;
use crate::build::course::Course;
use crate::build::cut::Run;
use crate::build::encode::{CodebookFile, Quantizers};
use crate::build::pipeline::Stages;
use crate::build::scratch::{ScratchWish, TemporaryFiles};
use crate::build::stored::StoredRows;
use crate::build::whole::{Build, SegmentRows, arrangement};
use crate::build::workspace::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Region;
use crate::threads::thread_pool;

/// Kept last: all else is there.
const END: &str = "end";
const CODEBOOKS: [&str; 2] = ["shared-codebook", "shared-second-codebook"];
const UUID_BYTES: usize = 16;

/// What some segments have in common with the others.
pub(super) struct CommonParts {
    /// Of the rows of these segments, where rows are cut by space.
    pub(super) arrangement: Option<Arrangement>,
    /// Where there are several segments.
    pub(super) quantizers: Option<Quantizers>,
}

/// Where finished stages are kept.
pub(super) const KEPT: ScratchWish<'static> = ScratchWish {
    dir: None,
    resumes: true,
};

impl SteppedBuild<'_> {
    /// Finds what segments have in common, unless that is known. Tells whether it was.
    pub(super) fn prepare(&self, stages: &mut Stages) -> Result<bool> {
        let workspace = Workspace::open(self.vfs, &self.home.join("common"), KEPT)?;
        if workspace.scratch.find_bytes(END)?.is_some() {
            return Ok(true);
        }
        let pool = thread_pool(self.plan.threads.working)?;
        let given = (self.input, self.options);
        let cut = self.plan.cut;
        let arranged = cut.is_by_space();
        let arrangement = arranged.then(|| arrangement(given, self.plan, &pool, self.progress));
        let arrangement = arrangement.transpose()?;
        stages.end("cut by space");
        let rows = arrangement.as_ref().map(|own| own.rows(self.input));
        let rows = rows.as_ref().map(ArrangedRows::input);
        let input = rows.as_ref().unwrap_or(self.input);
        let stored = StoredRows::new(input, self.plan.spec.shape.element)?;
        let course = Course::of_part(self.progress);
        let stored = stored.input();
        let build = self.build_of((input, &stored), &workspace, (&pool, &course));
        let all = build.check_input()?;
        stages.end("check rows");
        let quantizers = if cut.runs() > 1 && build.trains_on_first() {
            Some(self.first_quantizers(&build, stages)?)
        } else {
            build.shared_quantizers(all)?
        };
        stages.end("train codes");
        self.keep(
            &workspace.scratch,
            arrangement.as_ref(),
            quantizers.as_ref(),
        )?;
        Ok(false)
    }

    /// The quantizers of the first segment, with the temporary files that takes.
    fn first_quantizers(&self, build: &Build<'_>, stages: &mut Stages) -> Result<Quantizers> {
        let wish = ScratchWish {
            dir: self.options.scratch.as_deref(),
            resumes: false,
        };
        let workspace = Workspace::open(self.vfs, &self.home.join("first"), wish)?;
        let run = self.run_of(0)?;
        let own = Run::new(build.stored, &run);
        let held_out = held_out_rows(self.input, self.options);
        let rows = SegmentRows {
            stored: &own.input(),
            run,
            number: 0,
            region: None,
            held_out: held_out.as_deref(),
        };
        let build = Build {
            workspace: &workspace,
            ..*build
        };
        build.first_quantizers(&rows, stages)
    }

    fn keep(
        &self,
        files: &TemporaryFiles,
        arrangement: Option<&Arrangement>,
        quantizers: Option<&Quantizers>,
    ) -> Result<()> {
        let keep = |key: &str, bytes: &[u8]| files.keep_bytes(key.to_owned(), key, bytes);
        for (number, run) in self.plan.cut.all().enumerate() {
            let Some(arrangement) = arrangement else {
                break;
            };
            let rows = arrangement.run(&run).iter();
            let rows: Vec<u8> = rows.flat_map(|row| row.to_le_bytes()).collect();
            keep(&format!("order-{number}"), &rows)?;
            let region = arrangement.regions.get(number).map(Region::to_bytes);
            keep(&format!("region-{number}"), &region.unwrap_or_default())?;
        }
        if let Some(own) = quantizers {
            let all = [Some(&own.first), own.second.as_ref()];
            for (key, (quantizer, file)) in CODEBOOKS.iter().zip(all.into_iter().flatten()) {
                let uuid = match file {
                    CodebookFile::Own(uuid) => uuid.0,
                    CodebookFile::Shared(file) => file.uuid.0,
                };
                keep(key, &[uuid.as_slice(), &quantizer.to_bytes()].concat())?;
            }
        }
        keep(END, &self.plan.cut.runs().to_le_bytes())
    }

    /// What was kept, with the rows of these segments.
    ///
    /// # Errors
    /// `NotFound` where it was not found yet; `Corrupt`.
    pub(super) fn common(&self, segments: Range<u32>) -> Result<CommonParts> {
        let files = TemporaryFiles::open(self.vfs, &self.home.join("common"), KEPT)?;
        if files.find_bytes(END)?.is_none() {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "{}: what segments of this build have in common is not there: do the step \
                     'prepare' first, with the same data and options",
                    self.home.display()
                ),
            ));
        }
        let find = |key: &str| -> Result<Vec<u8>> {
            files.find_bytes(key)?.ok_or_else(|| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!("{}: {key} is damaged", self.home.display()),
                )
            })
        };
        let arrangement = if self.plan.cut.is_by_space() {
            Some(self.kept_arrangement(segments, &find)?)
        } else {
            None
        };
        Ok(CommonParts {
            arrangement,
            quantizers: self.kept_quantizers(&find)?,
        })
    }

    fn kept_arrangement(
        &self,
        segments: Range<u32>,
        find: &dyn Fn(&str) -> Result<Vec<u8>>,
    ) -> Result<Arrangement> {
        let dimension = self.plan.spec.shape.dimension as usize;
        let (mut order, mut regions) = (Vec::new(), Vec::new());
        for number in segments {
            let rows = find(&format!("order-{number}"))?;
            let words = rows.as_chunks::<4>().0.iter();
            order.extend(words.map(|word| u32::from_le_bytes(*word)));
            let region = find(&format!("region-{number}"))?;
            let region = Region::from_bytes(&region, dimension);
            regions.push(region.ok_or_else(|| damaged("a region"))?);
        }
        Ok(Arrangement::of(order, regions))
    }

    fn kept_quantizers(
        &self,
        find: &dyn Fn(&str) -> Result<Vec<u8>>,
    ) -> Result<Option<Quantizers>> {
        if self.plan.cut.runs() == 1 {
            return Ok(None);
        }
        let read = |key: &str| -> Result<(Quantizer, CodebookFile)> {
            let bytes = find(key)?;
            let split = bytes.split_first_chunk::<UUID_BYTES>();
            let (uuid, bytes) = split.ok_or_else(|| damaged(key))?;
            let quantizer = Quantizer::from_bytes(bytes).map_err(|_| damaged(key))?;
            Ok((quantizer, CodebookFile::Own(FileUuid(*uuid))))
        };
        let [first, second] = CODEBOOKS;
        let has_second = self.plan.second_quantizer().is_some();
        Ok(Some(Quantizers {
            first: read(first)?,
            second: has_second.then(|| read(second)).transpose()?,
        }))
    }

    /// The rows of a segment, among all of the build.
    ///
    /// # Errors
    /// `InvalidInput` where there is no such segment.
    pub(super) fn run_of(&self, number: u32) -> Result<Range<u32>> {
        let runs = self.plan.cut.runs();
        let run = self.plan.cut.all().nth(number as usize);
        run.ok_or_else(|| {
            Error::invalid(format!(
                "step {number}: the segments of this build are 0 to {}",
                runs - 1
            ))
        })
    }
}

fn damaged(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("{what} that was kept for the steps of a build is damaged"),
    )
}
