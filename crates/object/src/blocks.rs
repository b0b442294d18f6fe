//! A file of a version in blocks: from the cache, or by a request, always against its checksum.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::Objects;
use crate::cache::{BlockCache, BlockKey};
use crate::version::{RemoteFile, hash_of, object_name};

/// Bytes of a block: what is cached, and least that is asked for.
pub const BLOCK_BYTES: u64 = 64 << 10;

/// Requests for bytes that were published and come otherwise, before it is an error.
const MAX_WRONG: u32 = 4;

/// Most blocks of one request.
const MAX_RUN: u64 = 64;

/// A file of a version.
#[derive(Debug)]
pub(crate) struct Blocks {
    objects: Arc<Objects>,
    cache: Arc<BlockCache>,
    name: String,
    hash: [u8; 32],
    bytes: u64,
    /// CRC-32C of each block.
    sums: Vec<u32>,
    /// Blocks that are asked for at a time, where the first is not there.
    ahead: u64,
    /// Blocks that were asked for and are not in the cache yet.
    underway: Mutex<HashSet<u64>>,
    arrived: Condvar,
}

/// Blocks that one read asks for; others wait for them until this is dropped.
struct Request<'b> {
    file: &'b Blocks,
    blocks: Range<u64>,
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        let mut underway = self.file.underway();
        self.blocks.clone().for_each(|number| {
            underway.remove(&number);
        });
        drop(underway);
        self.file.arrived.notify_all();
    }
}

impl Blocks {
    /// A file, with the checksums of its blocks.
    pub(crate) fn open(
        objects: &Arc<Objects>,
        cache: &Arc<BlockCache>,
        file: &RemoteFile,
        ahead: u64,
    ) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::other(format!("{}: {what}", objects.url()));
        let sums = match objects.get(&object_name(&file.sums))? {
            Some((sums, _)) if hash_of(&sums) == file.sums => sums,
            Some(_) => return Err(wrong("checksums of blocks have other bytes than published")),
            None => return Err(wrong("checksums of blocks are not there: publish it again")),
        };
        let (sums, rest) = sums.as_chunks::<4>();
        if sums.len() as u64 != file.bytes.div_ceil(BLOCK_BYTES) || !rest.is_empty() {
            return Err(wrong("checksums of blocks are not as many as blocks"));
        }
        let hash = bytes_of(&file.sha256).ok_or_else(|| wrong("a hash is not one"))?;
        Ok(Self {
            objects: Arc::clone(objects),
            cache: Arc::clone(cache),
            name: object_name(&file.sha256),
            hash,
            bytes: file.bytes,
            sums: sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect(),
            ahead: ahead.clamp(1, MAX_RUN),
            underway: Mutex::default(),
            arrived: Condvar::new(),
        })
    }

    /// Length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Reads up to the end of the file.
    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.bytes.min(offset.saturating_add(buf.len() as u64));
        if offset >= end {
            return Ok(0);
        }
        let blocks = offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES);
        let mut number = blocks.start;
        while number < blocks.end {
            let run = self.block_run(number, blocks.end)?;
            let begin = number * BLOCK_BYTES;
            let (from, to) = (offset.max(begin), end.min(begin + run.len() as u64));
            let source = run.get((from - begin) as usize..(to - begin) as usize);
            let target = buf.get_mut((from - offset) as usize..(to - offset) as usize);
            if let (Some(source), Some(target)) = (source, target) {
                target.copy_from_slice(source);
            }
            number += (run.len() as u64).div_ceil(BLOCK_BYTES);
        }
        Ok((end - offset) as usize)
    }

    /// Brings blocks from this one on into the cache that are not there.
    pub(crate) fn prefetch(&self) -> io::Result<()> {
        let mut number = 0;
        while number < self.sums.len() as u64 {
            let run = self.block_run(number, self.sums.len() as u64)?;
            number += (run.len() as u64).div_ceil(BLOCK_BYTES);
        }
        Ok(())
    }

    fn key(&self, number: u64) -> BlockKey {
        (self.hash, number)
    }

    fn length_of(&self, number: u64) -> u64 {
        BLOCK_BYTES.min(self.bytes - number * BLOCK_BYTES)
    }

    /// One block that is kept, or those from here on that are not, by one request.
    fn block_run(&self, number: u64, needed: u64) -> io::Result<Vec<u8>> {
        let mut kept = vec![0; self.length_of(number) as usize];
        loop {
            if self.cache.get(&self.key(number), &mut kept)? && self.agrees(number, &kept) {
                return Ok(kept);
            }
            if let Some(request) = self.request(number, needed) {
                return self.fetch(request.blocks.start, request.blocks.end);
            }
        }
    }

    /// The blocks from `number` on to be asked for at once; none after a wait for that block, which
    /// another read had asked for.
    fn request(&self, number: u64, needed: u64) -> Option<Request<'_>> {
        let mut underway = self.underway();
        if underway.contains(&number) {
            while underway.contains(&number) {
                let waited = self.arrived.wait(underway);
                underway = waited.unwrap_or_else(PoisonError::into_inner);
            }
            return None;
        }
        let last = needed.max(number + self.ahead).min(number + MAX_RUN);
        let last = last.min(self.sums.len() as u64);
        let is_missing = |next: &u64| {
            let is_kept = self.cache.holds(&self.key(*next));
            !is_kept && !underway.contains(next)
        };
        let missing = (number + 1..last).take_while(is_missing).last();
        let blocks = number..missing.map_or(number + 1, |next| next + 1);
        underway.extend(blocks.clone());
        Some(Request { file: self, blocks })
    }

    fn underway(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, number: u64, end: u64) -> io::Result<Vec<u8>> {
        let range = number * BLOCK_BYTES..self.bytes.min(end * BLOCK_BYTES);
        for turn in 0..MAX_WRONG {
            if turn > 0 {
                self.objects.count_retry();
            }
            let bytes = self.objects.get_range(&self.name, range.clone())?;
            let blocks = || (number..).zip(bytes.chunks(BLOCK_BYTES as usize));
            if blocks().all(|(number, block)| self.agrees(number, block)) {
                for (number, block) in blocks() {
                    self.cache.put(self.key(number), block)?;
                }
                return Ok(bytes);
            }
        }
        let words = format!(
            "{}/{}: the store gives other bytes than were published, {MAX_WRONG} times",
            self.objects.url(),
            self.name
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, words))
    }

    fn agrees(&self, number: u64, block: &[u8]) -> bool {
        self.sums.get(number as usize) == Some(&crc32c::crc32c(block))
    }
}

/// The hash that 64 hexadecimal digits say.
fn bytes_of(digits: &str) -> Option<[u8; 32]> {
    let pairs = digits.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect::<Option<Vec<_>>>()?.try_into().ok()
}
