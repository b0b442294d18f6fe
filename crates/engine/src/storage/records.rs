//! Pages off the beaten path of a query: gathered by node for caches, scanned in order for checks.

use std::io;

use pageway_store::{AlignedBuffers, PageDone, PageFile, PageRead, PageReader};
use pageway_types::PageId;

use crate::error::{Error, ErrorKind, Result};

/// Reads in flight while pages are gathered.
const GATHER_DEPTH: u32 = 32;

/// Bytes that `gather` and `scan` hold, at most, beside one unit.
pub(crate) const TRANSFER_BYTES: usize = 1 << 20;

/// Reads `pages[at]` for every `at`, each page once, and shows its payload for each `at`. The
/// order of the visits is that of completion.
pub(crate) fn gather(
    reader: &PageReader,
    pages: &[PageId],
    visit: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut wanted: Vec<(u32, u32)> = (0u32..).zip(pages).map(|(at, page)| (page.0, at)).collect();
    wanted.sort_unstable();
    let mut groups = wanted.chunk_by(|left, right| left.0 == right.0);
    let mut io = reader.lane(GATHER_DEPTH)?;
    let mut slots: Vec<&[(u32, u32)]> = vec![&[]; GATHER_DEPTH as usize];
    let mut done: Vec<PageDone> = Vec::new();
    let mut free: Vec<u32> = (0..GATHER_DEPTH).collect();
    loop {
        while let Some(buffer) = free.pop() {
            let Some(group) = groups.next() else { break };
            let unit = group.first().map_or(0, |(page, _)| u64::from(*page));
            if let Some(slot) = slots.get_mut(buffer as usize) {
                *slot = group;
            }
            io.submit(PageRead {
                unit,
                file: 0,
                buffer,
                tag: 0,
            })?;
        }
        io.wait(1, &mut done)?;
        if done.is_empty() {
            return Ok(());
        }
        for completion in done.drain(..) {
            let (unit, buffer) = (completion.unit, completion.buffer);
            completion
                .result
                .map_err(|error| read_failed(unit, error))?;
            let payload = reader.verify_unit(unit, io.buffer(buffer))?;
            for (_, at) in slots.get(buffer as usize).copied().unwrap_or_default() {
                visit(*at as usize, payload)?;
            }
            free.push(buffer);
        }
    }
}

/// Shows the payload of every page of `pages`, in order. Reads are sequential, about
/// [`TRANSFER_BYTES`] at a time.
pub(crate) fn scan(
    file: &PageFile,
    pages: std::ops::Range<u64>,
    visit: &mut dyn FnMut(PageId, &[u8]) -> Result<()>,
) -> Result<()> {
    let unit_bytes = file.geometry().unit_bytes();
    let most = (TRANSFER_BYTES / unit_bytes).max(1) as u64;
    let batch = most.min(pages.end.saturating_sub(pages.start)).max(1) as usize;
    let mut buffers = AlignedBuffers::new(batch, unit_bytes)?;
    let mut first = pages.start;
    while first < pages.end {
        let count = (batch as u64).min(pages.end - first) as usize;
        file.read_units(first, buffers.get_many_mut(0, count))?;
        for (unit, at) in (first..).zip(0..count) {
            let payload = file.verify_unit(unit, buffers.get(at))?;
            let page = u32::try_from(unit)
                .map(PageId)
                .map_err(|_| too_many_pages())?;
            visit(page, payload)?;
        }
        first += count as u64;
    }
    Ok(())
}

/// The error of a page that could not be read at all.
pub(crate) fn read_failed(unit: u64, error: io::Error) -> Error {
    Error::from(error).within(format_args!("records, page {unit}"))
}

fn too_many_pages() -> Error {
    Error::new(ErrorKind::Corrupt, "more pages than an index can have")
}
