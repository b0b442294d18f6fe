//! Files from their addresses: resumed, checked, pinned, and there whole or not at all.
//!
//! A file on its way has the suffix `.part`. A fetch that was cut off goes on where it stopped.
//! When all bytes are there they are checked, against the checksum that was published or, where
//! none was, against that of the first time, which is kept beside the file; then it gets its name.
//! Sets in files with a header are cut on the way: only the first rows are asked for.

mod archive;
mod curl;
mod prefix;
mod transfer;

use std::path::{Path, PathBuf};

use pageway::{Error, ErrorKind, OsVfs, Progress, Result, Vfs, format_bytes};

pub(super) use archive::take_member;
pub(super) use prefix::Prefix;

use super::place::Place;
use crate::files;

const PIN_SUFFIX: &str = ".sha256";

/// A file that is wanted.
pub(super) struct Wanted<'a> {
    /// Where it is published.
    pub(super) address: &'a str,
    /// Where it goes.
    pub(super) to: PathBuf,
    /// Bytes, where known.
    pub(super) bytes: Option<u64>,
    /// Checksum, where published.
    pub(super) sha256: Option<&'a str>,
    /// The first rows only.
    pub(super) prefix: Option<Prefix>,
}

impl Wanted<'_> {
    /// Bytes that end the transfer.
    fn enough(&self) -> Option<u64> {
        self.prefix.as_ref().map(Prefix::bytes).or(self.bytes)
    }
}

/// Fetches a file, or checks the one that is there.
///
/// # Errors
/// `Io` for what could not be reached, with the place where the file may be put by hand; `Corrupt`
/// for bytes that are not those that were published or first fetched; `Busy` when another process
/// fetches it; `NoSpace`; `Cancelled`.
pub(super) fn fetch(wanted: &Wanted<'_>, place: &Place, progress: &dyn Progress) -> Result<()> {
    if files::exists(&wanted.to)? {
        return check(wanted, &wanted.to, progress);
    }
    files::create_directory(files::directory_of(&wanted.to))?;
    let part = files::with_suffix(&wanted.to, ".part");
    let _lock = files::lock(&part, "fetching it")?;
    check_room(wanted, &part)?;
    transfer::transfer(wanted, &part, place, progress)?;
    let checked = finish(wanted, &part, progress);
    if checked
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::Corrupt)
    {
        // To go on with wrong bytes would never end well.
        files::remove(&part)?;
    }
    checked?;
    files::publish(&part, &wanted.to)
}

/// Refuses a file that the disk has no room for, before hours of fetching.
fn check_room(wanted: &Wanted<'_>, part: &Path) -> Result<()> {
    let Some(enough) = wanted.enough() else {
        return Ok(());
    };
    let directory = files::directory_of(part);
    let free = OsVfs.free_bytes(directory).map_err(files::at(directory))?;
    let needed = enough.saturating_sub(files::length(part)?);
    if needed <= free {
        return Ok(());
    }
    let what = format!(
        "{}: needs {} more, {} are free; a cut such as -10m needs less",
        wanted.to.display(),
        format_bytes(needed),
        format_bytes(free)
    );
    Err(Error::new(ErrorKind::NoSpace, what))
}

fn finish(wanted: &Wanted<'_>, part: &Path, progress: &dyn Progress) -> Result<()> {
    if let Some(prefix) = &wanted.prefix {
        prefix.finish(part)?;
    }
    check(wanted, part, progress)
}

/// Checks length and checksum of the bytes in `path`; without a checksum to compare with, keeps
/// the one it has.
fn check(wanted: &Wanted<'_>, path: &Path, progress: &dyn Progress) -> Result<()> {
    let corrupt = |what: String| {
        let from = wanted.address;
        let what = format!(
            "{}: {what}; remove it to fetch {from} again",
            wanted.to.display()
        );
        Err(Error::new(ErrorKind::Corrupt, what))
    };
    let length = files::length(path)?;
    if let Some(expected) = wanted.enough().filter(|expected| *expected != length) {
        return corrupt(format!("has {length} bytes, {expected} were expected"));
    }
    let pin = files::with_suffix(&wanted.to, PIN_SUFFIX);
    let pinned = pinned(&pin)?;
    let found = files::checksum(path, progress)?;
    match wanted.sha256.or(pinned.as_deref()) {
        Some(expected) if !expected.eq_ignore_ascii_case(&found) => {
            corrupt(format!("has the sha256 {found}, {expected} was expected"))
        }
        Some(_) => Ok(()),
        None => write_pin(&pin, &wanted.to, &found),
    }
}

/// The checksum of the first time.
fn pinned(pin: &Path) -> Result<Option<String>> {
    if !files::exists(pin)? {
        return Ok(None);
    }
    let text = files::read_text(pin)?;
    Ok(text.split_whitespace().next().map(str::to_owned))
}

/// Written as `sha256sum --check` reads it.
fn write_pin(pin: &Path, of: &Path, sum: &str) -> Result<()> {
    let name = of.file_name().unwrap_or_default().to_string_lossy();
    files::write(pin, format!("{sum}  {name}\n").as_bytes())
}
