//! The bytes of one file, durable and pending.

use std::sync::Arc;

use crate::SplitMix64;

/// What a device writes atomically: a crash may tear a write between any two of these.
pub const DEVICE_SECTOR_BYTES: usize = 512;

/// Contents of a file. Clones share memory until one of them changes.
#[derive(Clone, Default, Debug)]
pub(super) struct Contents {
    durable: Arc<Vec<u8>>,
    current: Arc<Vec<u8>>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Length(usize),
}

impl Contents {
    /// A file whose bytes are all durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        let bytes = Arc::new(bytes);
        Self {
            durable: Arc::clone(&bytes),
            current: bytes,
            pending: Vec::new(),
        }
    }

    /// What the running program sees.
    pub(super) fn current(&self) -> &[u8] {
        &self.current
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        self.change(Change::Write {
            offset,
            bytes: bytes.into(),
        });
    }

    pub(super) fn set_len(&mut self, bytes: usize) {
        self.change(Change::Length(bytes));
    }

    fn change(&mut self, change: Change) {
        change.apply(Arc::make_mut(&mut self.current));
        self.pending.push(change);
    }

    /// Everything pending becomes durable.
    pub(super) fn sync(&mut self) {
        let durable = Arc::make_mut(&mut self.durable);
        for change in self.pending.drain(..) {
            change.apply(durable);
        }
    }

    /// A sync that failed: what was pending is forgotten, though it can still be read.
    pub(super) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// The bytes after a crash that keeps each pending device sector with the given chance.
    pub(super) fn crash(&self, random: &mut SplitMix64, eighths: u64) -> Vec<u8> {
        let mut bytes = self.durable.as_ref().clone();
        for change in &self.pending {
            change.apply_partly(&mut bytes, random, eighths);
        }
        bytes
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => put(file, *offset, bytes),
            Self::Length(bytes) => file.resize(*bytes, 0),
        }
    }

    fn apply_partly(&self, file: &mut Vec<u8>, random: &mut SplitMix64, eighths: u64) {
        match self {
            Self::Length(_) if random.chance(eighths) => self.apply(file),
            Self::Length(_) => {}
            Self::Write { offset, bytes } => {
                // The length can reach the device without the bytes.
                if random.chance(eighths) {
                    file.resize(file.len().max(offset + bytes.len()), 0);
                }
                for (at, piece) in device_sectors(*offset, bytes) {
                    if random.chance(eighths) {
                        put(file, at, piece);
                    }
                }
            }
        }
    }
}

fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    file.resize(file.len().max(end), 0);
    if let Some(range) = file.get_mut(offset..end) {
        range.copy_from_slice(bytes);
    }
}

/// The parts of a write that lie in different device sectors, with their offsets.
fn device_sectors(mut offset: usize, mut bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let room = DEVICE_SECTOR_BYTES - offset % DEVICE_SECTOR_BYTES;
        let (piece, rest) = bytes.split_at(room.min(bytes.len()));
        pieces.push((offset, piece));
        offset += piece.len();
        bytes = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_keeps_all_nothing_or_whole_device_sectors() {
        let mut contents = Contents::durable(vec![1; 1024]);
        contents.write(&[2; 1024], 256);
        let mut random = SplitMix64::new(1);
        assert_eq!(contents.crash(&mut random, 0), vec![1; 1024]);
        assert_eq!(contents.crash(&mut random, 8), contents.current());
        let mut torn = 0;
        for _ in 0..100 {
            let image = contents.crash(&mut random, 4);
            let runs = [&image[256..512], &image[512..1024]];
            for run in runs {
                assert!(run.iter().all(|byte| byte == &run[0]));
            }
            torn += usize::from(runs[0][0] != runs[1][0]);
        }
        assert!(torn > 20);
    }

    #[test]
    fn after_a_failed_sync_the_next_one_saves_nothing() {
        let mut contents = Contents::default();
        contents.write(b"lost", 0);
        contents.forget_pending();
        contents.sync();
        assert_eq!(contents.current(), b"lost");
        assert_eq!(contents.crash(&mut SplitMix64::new(1), 8), b"");
        contents.write(b"kept", 2);
        contents.sync();
        assert_eq!(contents.crash(&mut SplitMix64::new(1), 0), b"\0\0kept");
    }
}
