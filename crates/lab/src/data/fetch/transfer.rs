//! A file on its way: tries one after the other, each going on where the last one stopped.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pageway::lab::{OpenMode, VfsFile};
use pageway::{Error, ErrorKind, Progress, Result};

use super::Wanted;
use super::curl::{Arrival, Curl, Failure};
use crate::data::place::Place;
use crate::files::{self, Counted, PROGRESS_BYTES};

/// Longest wait between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A wish to stop is heard that often while we wait.
const NAP: Duration = Duration::from_millis(100);

/// Brings all bytes that are wanted into `part`.
pub(super) fn transfer(
    wanted: &Wanted<'_>,
    part: &Path,
    place: &Place,
    progress: &dyn Progress,
) -> Result<()> {
    let total = wanted.enough().unwrap_or(0);
    progress.stage("fetch (MB)", total.div_ceil(PROGRESS_BYTES));
    let mut partial = Partial::open(part, progress)?;
    let mut vain = 0;
    loop {
        let before = partial.length;
        if wanted.enough().is_some_and(|enough| before >= enough) {
            return Ok(());
        }
        let Some(failure) = partial.go_on(wanted, place, progress)? else {
            return Ok(());
        };
        if failure.no_resume() && before > 0 {
            partial.restart()?;
            continue;
        }
        vain = if partial.length > before { 1 } else { vain + 1 };
        if vain >= place.attempts || !failure.passes() {
            return Err(refusal(wanted, &failure));
        }
        wait(place.pause.saturating_mul(1 << (vain - 1)), progress)?;
    }
}

fn wait(pause: Duration, progress: &dyn Progress) -> Result<()> {
    let mut left = pause.min(PAUSE_MAX);
    while !left.is_zero() {
        progress.check()?;
        let nap = left.min(NAP);
        std::thread::sleep(nap);
        left -= nap;
    }
    Ok(())
}

fn refusal(wanted: &Wanted<'_>, failure: &Failure) -> Error {
    let (from, to) = (wanted.address, wanted.to.display());
    let by_hand = if wanted.prefix.is_some() {
        "the whole file, or its first rows with their number in the header, may also be put there \
         by hand"
    } else {
        "it may also be put there by hand"
    };
    Error::new(
        ErrorKind::Io,
        format!(
            "{from} could not be fetched to {to}: {}; {by_hand}",
            failure.words
        ),
    )
}

/// The bytes that are here.
struct Partial<'p> {
    file: Arc<dyn VfsFile>,
    path: &'p Path,
    length: u64,
    counted: Counted<'p>,
}

impl<'p> Partial<'p> {
    /// Opens what a fetch before left. The file is there: its lock made it.
    fn open(path: &'p Path, progress: &'p dyn Progress) -> Result<Self> {
        let file = files::open(path, OpenMode::ReadWrite)?;
        let length = file.len().map_err(files::at(path))?;
        let mut counted = Counted::new(progress);
        counted.add(length);
        Ok(Self {
            file,
            path,
            length,
            counted,
        })
    }

    fn restart(&mut self) -> Result<()> {
        self.length = 0;
        self.file.set_len(0).map_err(files::at(self.path))
    }

    /// One transfer; `None` when it ended well or has enough.
    fn go_on(
        &mut self,
        wanted: &Wanted<'_>,
        place: &Place,
        progress: &dyn Progress,
    ) -> Result<Option<Failure>> {
        let curl = Curl::start(&place.curl, wanted.address, self.length)?;
        loop {
            progress.check()?;
            match curl.next() {
                Arrival::Silence => {}
                Arrival::End => return curl.outcome(),
                Arrival::Bytes(bytes) => {
                    let room = wanted.prefix.as_ref().map(|prefix| {
                        let left = prefix.bytes().saturating_sub(self.length);
                        left.min(bytes.len() as u64 + 1) as usize
                    });
                    let wanted_bytes = bytes.len().min(room.unwrap_or(usize::MAX));
                    self.append(bytes.get(..wanted_bytes).unwrap_or_default())?;
                    if room == Some(wanted_bytes) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all_at(bytes, self.length)
            .map_err(files::at(self.path))?;
        self.length += bytes.len() as u64;
        self.counted.add(bytes.len() as u64);
        Ok(())
    }
}
