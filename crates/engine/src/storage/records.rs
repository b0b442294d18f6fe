//! Records off the beaten path of a query: gathered by node for caches, scanned in order for
//! checks.

use std::io;

use pageway_store::{AlignedBuffers, PageDone, PageFile, PageRead, PageReader};
use pageway_types::{NodeId, PageId};

use crate::error::{Error, ErrorKind, Result};
use crate::layout::{PageCodec, PageView, Record};

/// Reads in flight while records are gathered.
const GATHER_DEPTH: u32 = 32;

/// Bytes that `gather` and `scan` hold, at most, beside one unit.
pub(crate) const TRANSFER_BYTES: usize = 1 << 20;

/// Reads the records of `nodes`, each page once, and shows them with their position in `nodes`. The
/// order of the visits is that of completion.
pub(crate) fn gather<C: PageCodec>(
    codec: &C,
    reader: &PageReader,
    nodes: &[NodeId],
    visit: &mut dyn FnMut(usize, Record<'_>) -> Result<()>,
) -> Result<()> {
    let address = codec.address();
    let mut wanted: Vec<(u32, u32)> = (0u32..)
        .zip(nodes)
        .map(|(at, node)| (address.page_of(*node).0, at))
        .collect();
    wanted.sort_unstable();
    let mut pages = wanted.chunk_by(|left, right| left.0 == right.0);
    let mut io = reader.lane(GATHER_DEPTH)?;
    let mut slots: Vec<&[(u32, u32)]> = vec![&[]; GATHER_DEPTH as usize];
    let mut done: Vec<PageDone> = Vec::new();
    let mut free: Vec<u32> = (0..GATHER_DEPTH).collect();
    loop {
        while let Some(buffer) = free.pop() {
            let Some(page) = pages.next() else { break };
            let unit = page.first().map_or(0, |(page, _)| u64::from(*page));
            if let Some(slot) = slots.get_mut(buffer as usize) {
                *slot = page;
            }
            io.submit(PageRead {
                unit,
                buffer,
                tag: 0,
            })?;
        }
        io.wait(1, &mut done)?;
        if done.is_empty() {
            return Ok(());
        }
        for PageDone {
            buffer,
            unit,
            result,
            ..
        } in done.drain(..)
        {
            result.map_err(|error| read_failed(unit, error))?;
            let payload = reader.verify_unit(unit, io.buffer(buffer))?;
            let view = codec.view(PageId(unit as u32), payload)?;
            for (_, at) in slots.get(buffer as usize).copied().unwrap_or_default() {
                let Some(node) = nodes.get(*at as usize) else {
                    continue;
                };
                visit(*at as usize, view.record(*node)?)?;
            }
            free.push(buffer);
        }
    }
}

/// Shows every record of the pages `first .. first + count`, in node order. Reads are sequential,
/// about [`TRANSFER_BYTES`] at a time.
pub(crate) fn scan<C: PageCodec>(
    codec: &C,
    file: &PageFile,
    pages: std::ops::Range<u64>,
    visit: &mut dyn FnMut(Record<'_>) -> Result<()>,
) -> Result<()> {
    let unit_bytes = file.geometry().unit_bytes();
    let batch = (TRANSFER_BYTES / unit_bytes).max(1);
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
            let mut failed = Ok(());
            codec
                .view(page, payload)?
                .for_each_resident(&mut |record| {
                    if failed.is_ok() {
                        failed = visit(record);
                    }
                    Ok(())
                })?;
            failed?;
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
