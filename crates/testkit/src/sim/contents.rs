//! The bytes of one file, durable and pending.

use std::ops::Range;
use std::sync::Arc;

use super::digest::mix;
use crate::SplitMix64;

/// What a device writes atomically: a crash may tear a write between any two of these.
pub const DEVICE_SECTOR_BYTES: usize = 512;

/// Bytes of a file, of which those behind the last that was written are zeros and take no memory:
/// files may be set aside much longer than they are.
#[derive(Clone, Default, Debug)]
pub(super) struct Bytes {
    written: Vec<u8>,
    length: usize,
    /// The sum over all words of what they are and where; zeros add nothing.
    sum: u64,
}

/// Bytes of a word of that sum.
const WORD_BYTES: usize = 8;

impl Bytes {
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The same for the same bytes. Takes no pass over them: it is kept as they change.
    pub(super) fn digest(&self) -> u64 {
        mix(mix(self.length as u64) ^ self.sum)
    }

    /// Copies what there is from `offset` on, and says how much that is.
    pub(super) fn read(&self, offset: usize, out: &mut [u8]) -> usize {
        let count = self.length.saturating_sub(offset).min(out.len());
        let out = out.get_mut(..count).unwrap_or_default();
        let written = self.written.get(offset..).unwrap_or_default();
        let known = written.len().min(count);
        let (head, tail) = out.split_at_mut(known);
        head.copy_from_slice(written.get(..known).unwrap_or_default());
        tail.fill(0);
        count
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        self.reach(end);
        self.written.resize(self.written.len().max(end), 0);
        let before = self.sum_of(offset..end);
        if let Some(range) = self.written.get_mut(offset..end) {
            range.copy_from_slice(bytes);
        }
        let after = self.sum_of(offset..end);
        self.sum = self.sum.wrapping_sub(before).wrapping_add(after);
    }

    /// The part of the sum that is that of the words in which a range lies.
    fn sum_of(&self, range: Range<usize>) -> u64 {
        let first = range.start / WORD_BYTES;
        let last = range.end.next_multiple_of(WORD_BYTES);
        let words = first * WORD_BYTES..last.min(self.written.len());
        let words = self.written.get(words).unwrap_or_default();
        let mut sum = 0_u64;
        for (place, word) in (first as u64..).zip(words.chunks(WORD_BYTES)) {
            let mut whole = [0; WORD_BYTES];
            for (byte, known) in whole.iter_mut().zip(word) {
                *byte = *known;
            }
            if whole != [0; WORD_BYTES] {
                sum = sum.wrapping_add(mix(mix(place) ^ u64::from_le_bytes(whole)));
            }
        }
        sum
    }

    /// Makes it at least so long.
    fn reach(&mut self, length: usize) {
        self.length = self.length.max(length);
    }

    fn set_length(&mut self, length: usize) {
        let cut = length.min(self.written.len())..self.written.len();
        let before = self.sum_of(cut.clone());
        self.written.truncate(length);
        let after = self.sum_of(cut);
        self.sum = self.sum.wrapping_sub(before).wrapping_add(after);
        self.length = length;
    }
}

/// Contents of a file. Clones share memory until one of them changes.
#[derive(Clone, Default, Debug)]
pub(super) struct Contents {
    durable: Arc<Bytes>,
    current: Arc<Bytes>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Length(usize),
}

impl Contents {
    /// A file whose bytes are all durable.
    pub(super) fn durable(bytes: Arc<Bytes>) -> Self {
        Self {
            durable: Arc::clone(&bytes),
            current: bytes,
            pending: Vec::new(),
        }
    }

    /// What the running program sees.
    pub(super) fn current(&self) -> &Bytes {
        &self.current
    }

    /// The digest of what the running program sees.
    pub(super) fn digest(&self) -> u64 {
        self.current.digest()
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
        if self.pending.is_empty() {
            return;
        }
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
    pub(super) fn crash(&self, random: &mut SplitMix64, eighths: u64) -> Arc<Bytes> {
        let mut bytes = Arc::clone(&self.durable);
        for change in &self.pending {
            change.apply_partly(Arc::make_mut(&mut bytes), random, eighths);
        }
        bytes
    }
}

impl Change {
    fn apply(&self, file: &mut Bytes) {
        match self {
            Self::Write { offset, bytes } => file.put(*offset, bytes),
            Self::Length(bytes) => file.set_length(*bytes),
        }
    }

    fn apply_partly(&self, file: &mut Bytes, random: &mut SplitMix64, eighths: u64) {
        match self {
            Self::Length(_) if random.chance(eighths) => self.apply(file),
            Self::Length(_) => {}
            Self::Write { offset, bytes } => {
                // The length can reach the device without the bytes.
                if random.chance(eighths) {
                    file.reach(offset + bytes.len());
                }
                for (at, piece) in device_sectors(*offset, bytes) {
                    if random.chance(eighths) {
                        file.put(at, piece);
                    }
                }
            }
        }
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
    use std::collections::HashMap;

    use super::*;

    fn all(bytes: &Bytes) -> Vec<u8> {
        let mut out = vec![9; bytes.length() + 1];
        let count = bytes.read(0, &mut out);
        assert_eq!(count, bytes.length());
        out.truncate(count);
        out
    }

    #[test]
    fn what_was_not_written_is_zeros() {
        let mut bytes = Bytes::default();
        bytes.set_length(10);
        bytes.put(2, b"abc");
        assert_eq!(all(&bytes), b"\0\0abc\0\0\0\0\0");
        bytes.set_length(4);
        bytes.set_length(6);
        assert_eq!(all(&bytes), b"\0\0ab\0\0");
        let mut two = [9; 2];
        assert_eq!((bytes.read(3, &mut two), two), (2, *b"b\0"));
        assert_eq!(bytes.read(5, &mut two), 1);
        assert_eq!(bytes.read(6, &mut two), 0);
        assert_eq!(bytes.read(60, &mut two), 0);
    }

    #[test]
    fn a_digest_tells_bytes_from_others_however_they_came_there() {
        let mut random = SplitMix64::new(3);
        let mut known: HashMap<u64, Vec<u8>> = HashMap::new();
        let mut bytes = Bytes::default();
        for _ in 0..20_000 {
            let (offset, count) = (random.below(30) as usize, random.below(12) as usize);
            if random.chance(2) {
                bytes.set_length(offset);
            } else {
                bytes.put(offset, &vec![random.below(2) as u8; count]);
            }
            let mut fresh = Bytes::default();
            fresh.put(0, &all(&bytes));
            assert_eq!(bytes.digest(), fresh.digest());
            let one = known.entry(bytes.digest()).or_insert_with(|| all(&bytes));
            assert_eq!(*one, all(&bytes));
        }
        assert!(known.len() > 1000);
    }

    #[test]
    fn a_crash_keeps_all_nothing_or_whole_device_sectors() {
        let mut contents = Contents::default();
        contents.write(&[1; 1024], 0);
        contents.sync();
        contents.write(&[2; 1024], 256);
        let mut random = SplitMix64::new(1);
        assert_eq!(all(&contents.crash(&mut random, 0)), vec![1; 1024]);
        assert_eq!(
            all(&contents.crash(&mut random, 8)),
            all(contents.current())
        );
        let mut torn = 0;
        for _ in 0..100 {
            let image = all(&contents.crash(&mut random, 4));
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
        assert_eq!(all(contents.current()), b"lost");
        assert_eq!(all(&contents.crash(&mut SplitMix64::new(1), 8)), b"");
        contents.write(b"kept", 2);
        contents.sync();
        assert_eq!(
            all(&contents.crash(&mut SplitMix64::new(1), 0)),
            b"\0\0kept"
        );
    }
}
