//! For designs that overwrite pages: moves pages from a journal to their places, once no search
//! reads what they replace.

use std::sync::{Mutex, PoisonError, Weak};
use std::thread::sleep;
use std::time::Duration;

use super::checkpoint::Checkpoint;
use super::common::Common;
use super::taken::Taken;
use crate::build::{Added, overwrite};
use crate::error::Result;
use crate::execution::{LoadedSegment, Segment};
use crate::resolve::Source;

/// How often to check whether earlier searches have ended.
const WAITS: u32 = 100;
const WAIT: Duration = Duration::from_millis(2);

/// Segments whose pages a journal is to replace, as long as a search reads them.
#[derive(Default)]
pub(super) struct FormerSegments(pub(super) Mutex<Vec<Weak<LoadedSegment>>>);

impl FormerSegments {
    /// Notes a segment that is about to be replaced.
    pub(super) fn note(&self, segment: &Segment) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|segment| segment.strong_count() > 0);
        known.push(segment.downgrade());
    }

    /// Whether no search reads any of them; waits for a while.
    fn are_gone(&self) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..WAITS {
            known.retain(|segment| segment.strong_count() > 0);
            if known.is_empty() {
                return true;
            }
            sleep(WAIT);
        }
        false
    }
}

/// A source whose rows do not die.
struct Unchanged;

impl Taken for Unchanged {
    fn each_death(&mut self, _: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

impl Common {
    /// Puts the pages of a journal in place, if there is one and no search reads what they replace;
    /// otherwise they stay until the next flush. The caller holds the turns to flush and to merge.
    pub(super) fn settle_pages(&self) -> Result<()> {
        let (lease, version) = self.begin_build();
        let mut segments = version.manifest.segments.iter().enumerate();
        let Some((number, segment)) = segments.find(|(_, entry)| entry.files.has_journal()) else {
            return Ok(());
        };
        if !self.upkeep.former.are_gone() {
            return Ok(());
        }
        let source = Source {
            vfs: self.vfs.as_ref(),
            dir: &self.dir,
            segment,
        };
        let Some((entry, written_bytes)) = overwrite(source, lease.generation)? else {
            return Ok(());
        };
        drop(version);
        let added = Added {
            entry,
            calibration: None,
            written_bytes,
            temporary_bytes: 0,
            came: 0,
        };
        let checkpoint = Checkpoint {
            gone: &[number],
            added: Some(added),
            flushed: None,
            redesign: None,
            taken: &mut Unchanged,
        };
        self.checkpoint(checkpoint, lease)
    }
}
