//! Pages off the beaten path of a query: gathered by node for caches, scanned in order for checks.

use std::io;

use pageway_store::{AlignedBuffers, PageDone, PageRead};
use pageway_types::PageId;

use super::RecordPages;
use crate::error::{Error, ErrorKind, Result};

/// Reads in flight while pages are gathered.
const GATHER_DEPTH: u32 = 32;

/// Bytes that `gather` and `scan` hold, at most, beside one unit.
pub(crate) const TRANSFER_BYTES: usize = 1 << 20;

/// Reads `pages[at]` for every `at`, each page once, and shows its payload for each `at`. The
/// order of the visits is that of completion.
pub(crate) fn gather(
    records: &RecordPages,
    pages: &[PageId],
    visit: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let mut wanted: Vec<(u32, u32)> = (0u32..).zip(pages).map(|(at, page)| (page.0, at)).collect();
    wanted.sort_unstable();
    let mut groups = wanted.chunk_by(|left, right| left.0 == right.0);
    let mut io = records.lane(GATHER_DEPTH)?;
    let mut slots: Vec<&[(u32, u32)]> = vec![&[]; GATHER_DEPTH as usize];
    let mut done: Vec<PageDone> = Vec::new();
    let mut free: Vec<u32> = (0..GATHER_DEPTH).collect();
    loop {
        while let Some(buffer) = free.pop() {
            let Some(group) = groups.next() else { break };
            let page = group.first().map_or(0, |(page, _)| *page);
            let (file, unit) = records.place(PageId(page));
            if let Some(slot) = slots.get_mut(buffer as usize) {
                *slot = group;
            }
            io.submit(PageRead {
                unit,
                file,
                buffer,
                tag: page.into(),
            })?;
        }
        io.wait(1, &mut done)?;
        if done.is_empty() {
            return Ok(());
        }
        for completion in done.drain(..) {
            let (page, buffer) = (PageId(completion.tag as u32), completion.buffer);
            completion
                .result
                .map_err(|error| read_failed(page, error))?;
            let payload = records.verify(page, io.buffer_mut(buffer))?;
            for (_, at) in slots.get(buffer as usize).copied().unwrap_or_default() {
                visit(*at as usize, payload)?;
            }
            free.push(buffer);
        }
    }
}

/// Shows the payload of every page of `pages`, in order. Reads are sequential, about so many bytes
/// at a time, a page at least.
pub(crate) fn scan(
    records: &RecordPages,
    (pages, transfer_bytes): (std::ops::Range<u64>, usize),
    visit: &mut dyn FnMut(PageId, &[u8]) -> Result<()>,
) -> Result<()> {
    let unit_bytes = records.geometry().unit_bytes();
    let most = (transfer_bytes / unit_bytes).max(1) as u64;
    let batch = most.min(pages.end.saturating_sub(pages.start)).max(1) as usize;
    let mut buffers = AlignedBuffers::new(batch, unit_bytes)?;
    u32::try_from(pages.end).map_err(|_| too_many_pages())?;
    let mut first = pages.start;
    while first < pages.end {
        let count = (batch as u64).min(pages.end - first) as usize;
        records.read_run(PageId(first as u32), (&mut buffers, count))?;
        for (page, at) in (first as u32..).map(PageId).zip(0..count) {
            let payload = records.verify(page, buffers.get_mut(at))?;
            visit(page, payload)?;
        }
        first += count as u64;
    }
    Ok(())
}

/// The error of a page that could not be read at all.
pub(crate) fn read_failed(page: PageId, error: io::Error) -> Error {
    Error::from(error).within(format_args!("records, page {}", page.0))
}

fn too_many_pages() -> Error {
    Error::new(ErrorKind::Corrupt, "more pages than an index can have")
}
