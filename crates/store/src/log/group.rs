//! Groups: the records that are written, and found or lost, together. Format: `docs/format/log.md`.
//!
//! ```text
//! 0 checksum   4 payload bytes   8 first LSN   16 durable LSN   24 checksum before   28 records
//! 32 flags   36 zero   40 payload: for each record its length in four bytes, and itself   zeros
//! ```
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in bytes of checked length"
)]

use super::header::GroupSeal;
use super::{Lsn, MAX_RECORD_BYTES};
use crate::frame::{u32_at, u64_at};

/// Groups begin and end at multiples of this: what a device writes atomically.
pub(super) const STEP: u64 = 512;

/// Bytes of a group before its payload.
pub(super) const HEAD_BYTES: usize = 40;

/// Payload at which a group is written, unless a single record is longer.
pub(super) const GROUP_BYTES: usize = 256 << 10;

/// Longest payload: one record of greatest length.
pub(super) const MAX_PAYLOAD_BYTES: usize = MAX_RECORD_BYTES + LENGTH_BYTES;

const LENGTH_BYTES: usize = 4;
const PAYLOAD: usize = 4;
const FIRST: usize = 8;
const DURABLE: usize = 16;
const CHAIN: usize = 24;
const RECORDS: usize = 28;
const FLAGS: usize = 32;
const ZERO: usize = 36;

const CLOSING: u32 = 1;

const _: () = assert!(GROUP_BYTES <= MAX_PAYLOAD_BYTES && ZERO + 4 == HEAD_BYTES);

/// What a group says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroupHead {
    /// Number of its first record, or of the next one to come where it has none.
    pub(super) first: Lsn,
    /// Up to which record the log was durable before this group was written.
    pub(super) durable: Lsn,
    /// Checksum of the last group with records before it.
    pub(super) chain: u32,
    pub(super) records: u32,
    /// The file ends here for good.
    pub(super) closing: bool,
    pub(super) payload_bytes: u32,
}

impl GroupHead {
    /// Reads a head, if these can be the first bytes of a group.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEAD_BYTES {
            return None;
        }
        let (flags, payload_bytes) = (u32_at(bytes, FLAGS), u32_at(bytes, PAYLOAD));
        let possible = flags & !CLOSING == 0
            && u32_at(bytes, ZERO) == 0
            && payload_bytes as usize <= MAX_PAYLOAD_BYTES
            && u64_at(bytes, FIRST) > 0;
        possible.then(|| Self {
            first: Lsn(u64_at(bytes, FIRST)),
            durable: Lsn(u64_at(bytes, DURABLE)),
            chain: u32_at(bytes, CHAIN),
            records: u32_at(bytes, RECORDS),
            closing: flags == CLOSING,
            payload_bytes,
        })
    }

    /// Bytes in the file, padding included.
    pub(super) fn file_bytes(&self) -> usize {
        padded(self.payload_bytes as usize)
    }

    /// Number of the record behind its last.
    pub(super) fn next(&self) -> Lsn {
        self.first.plus(u64::from(self.records))
    }
}

/// Bytes in a file of a group with such a payload.
pub(super) fn padded(payload_bytes: usize) -> usize {
    (HEAD_BYTES + payload_bytes).next_multiple_of(STEP as usize)
}

/// Most bytes that records take in a file, however they fall into groups.
pub(super) fn most_bytes(records: u64, bytes: u64) -> u64 {
    let payload = records
        .saturating_mul(LENGTH_BYTES as u64)
        .saturating_add(bytes);
    // A group is written when the next record does not fit: any two in a row are more than full.
    let groups = (payload / GROUP_BYTES as u64)
        .saturating_mul(2)
        .saturating_add(2);
    let waste = groups.saturating_mul(HEAD_BYTES as u64 + STEP);
    payload.saturating_add(waste)
}

/// Whether whole bytes of a group at this offset are those that were sealed.
pub(super) fn is_sealed(seal: GroupSeal, offset: u64, group: &[u8]) -> bool {
    group.len() >= HEAD_BYTES && u32_at(group, 0) == seal.crc(offset, group)
}

/// The checksum of a group.
pub(super) fn checksum(group: &[u8]) -> u32 {
    u32_at(group, 0)
}

/// Records of a sealed group, if their lengths fill its payload.
pub(super) fn records<'g>(head: &GroupHead, group: &'g [u8]) -> Option<Vec<&'g [u8]>> {
    let end = HEAD_BYTES + head.payload_bytes as usize;
    let mut rest = group.get(HEAD_BYTES..end)?;
    let count = head.records as usize;
    if count > rest.len() / LENGTH_BYTES {
        return None;
    }
    let mut records = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, behind) = rest.split_at_checked(LENGTH_BYTES)?;
        let (record, behind) = behind.split_at_checked(u32_at(length, 0) as usize)?;
        records.push(record);
        rest = behind;
    }
    rest.is_empty().then_some(records)
}

/// A group being filled. Its memory is kept for the next one.
#[derive(Debug)]
pub(super) struct GroupBuffer {
    bytes: Vec<u8>,
    records: u32,
}

impl GroupBuffer {
    pub(super) fn new() -> Self {
        let mut bytes = Vec::with_capacity(padded(GROUP_BYTES));
        bytes.resize(HEAD_BYTES, 0);
        Self { bytes, records: 0 }
    }

    pub(super) fn records(&self) -> u32 {
        self.records
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.bytes.len() - HEAD_BYTES
    }

    /// Whether a record of so many bytes goes into this group.
    pub(super) fn takes(&self, record_bytes: usize) -> bool {
        let payload = self.payload_bytes() + LENGTH_BYTES + record_bytes;
        self.records == 0 || payload <= GROUP_BYTES
    }

    /// Adds a record, given in parts, of at most [`MAX_RECORD_BYTES`].
    pub(super) fn push(&mut self, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes.extend_from_slice(&(length as u32).to_le_bytes());
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.records += 1;
    }

    /// The bytes to be written at `offset`, padded and sealed. `head` needs no counts.
    pub(super) fn seal(&mut self, seal: GroupSeal, offset: u64, head: &GroupHead) -> &[u8] {
        let payload_bytes = self.payload_bytes();
        self.bytes.resize(padded(payload_bytes), 0);
        let bytes = &mut self.bytes;
        bytes[PAYLOAD..FIRST].copy_from_slice(&(payload_bytes as u32).to_le_bytes());
        bytes[FIRST..DURABLE].copy_from_slice(&head.first.0.to_le_bytes());
        bytes[DURABLE..CHAIN].copy_from_slice(&head.durable.0.to_le_bytes());
        bytes[CHAIN..RECORDS].copy_from_slice(&head.chain.to_le_bytes());
        bytes[RECORDS..FLAGS].copy_from_slice(&self.records.to_le_bytes());
        bytes[FLAGS..ZERO].copy_from_slice(&u32::from(head.closing).to_le_bytes());
        let crc = seal.crc(offset, bytes);
        bytes[..PAYLOAD].copy_from_slice(&crc.to_le_bytes());
        &self.bytes
    }

    /// Empty again. A buffer that one long record made large becomes small.
    pub(super) fn clear(&mut self) {
        self.bytes.truncate(HEAD_BYTES);
        self.bytes.shrink_to(padded(GROUP_BYTES));
        self.records = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::header::LogHeader;
    use super::*;
    use crate::FileUuid;

    fn seal() -> GroupSeal {
        let header = LogHeader {
            log: FileUuid([3; 16]),
            sequence: 1,
            first: Lsn(1),
            capacity: 1 << 20,
            chain: 0,
        };
        header.seal()
    }

    fn head(first: u64) -> GroupHead {
        GroupHead {
            first: Lsn(first),
            durable: Lsn(first - 1),
            chain: 77,
            records: 0,
            closing: false,
            payload_bytes: 0,
        }
    }

    fn group(records: &[&[u8]]) -> Vec<u8> {
        let mut buffer = GroupBuffer::new();
        for record in records {
            buffer.push(&[record]);
        }
        buffer.seal(seal(), 4096, &head(9)).to_vec()
    }

    #[test]
    fn bytes_are_the_documented_ones() {
        let bytes = group(&[b"abc", b""]);
        assert_eq!(bytes.len(), 512);
        assert_eq!(bytes[4..8], [11, 0, 0, 0]);
        assert_eq!(bytes[8..16], [9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..24], [8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            bytes[24..40],
            [77, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(bytes[40..51], *b"\x03\0\0\0abc\0\0\0\0");
        assert!(bytes[51..].iter().all(|&byte| byte == 0));
        let mut covered = vec![3; 16];
        covered.extend([1, 0, 0, 0]);
        covered.extend(1u64.to_le_bytes());
        covered.extend(4096u64.to_le_bytes());
        covered.extend(&bytes[4..]);
        assert_eq!(bytes[..4], crc32c::crc32c(&covered).to_le_bytes());
    }

    #[test]
    fn the_example_of_the_format_document_holds() {
        let header = LogHeader {
            log: FileUuid(std::array::from_fn(|i| i as u8)),
            sequence: 1,
            first: Lsn(1),
            capacity: 1 << 20,
            chain: 0,
        };
        let mut buffer = GroupBuffer::new();
        buffer.push(&[b"abc"]);
        let head = GroupHead {
            chain: 0,
            ..head(1)
        };
        let bytes = buffer.seal(header.seal(), 4096, &head);
        assert_eq!(bytes[..8], [0x0e, 0x25, 0x32, 0x89, 7, 0, 0, 0]);
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut bytes = group(&[&[1; 600], b"x"]);
        assert!(is_sealed(seal(), 4096, &bytes));
        assert!(!is_sealed(seal(), 4608, &bytes));
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_sealed(seal(), 4096, &bytes), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn lengths_that_do_not_fill_the_payload_are_no_records() {
        let bytes = group(&[b"abc", b"de"]);
        let right = GroupHead::parse(&bytes).unwrap();
        assert_eq!(records(&right, &bytes).unwrap(), [&b"abc"[..], b"de"]);
        for count in [0, 1, 3, u32::MAX] {
            let head = GroupHead {
                records: count,
                ..right
            };
            assert_eq!(records(&head, &bytes), None, "{count}");
        }
        let beyond = GroupHead {
            payload_bytes: 4096,
            ..right
        };
        assert_eq!(records(&beyond, &bytes), None);
        assert_eq!(GroupHead::parse(&bytes[..39]), None);
        assert_eq!(GroupHead::parse(&[0; 512]), None);
        assert_eq!(GroupHead::parse(&[0xff; 512]), None);
    }

    #[test]
    fn a_buffer_gives_back_what_a_long_record_took() {
        let mut buffer = GroupBuffer::new();
        assert!(buffer.takes(MAX_RECORD_BYTES));
        buffer.push(&[&vec![1; MAX_RECORD_BYTES]]);
        assert!(!buffer.takes(0));
        buffer.clear();
        assert!(buffer.bytes.capacity() <= padded(GROUP_BYTES));
        assert_eq!((buffer.records(), buffer.payload_bytes()), (0, 0));
    }

    proptest! {
        #[test]
        fn records_round_trip(
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..700), 0..20),
            offset in 8u64..1000,
            closing: bool,
        ) {
            let mut buffer = GroupBuffer::new();
            for record in &records {
                let (a, b) = record.split_at(record.len() / 3);
                buffer.push(&[a, b]);
            }
            let said = GroupHead { closing, ..head(5) };
            let bytes = buffer.seal(seal(), offset * STEP, &said).to_vec();
            prop_assert!(is_sealed(seal(), offset * STEP, &bytes));
            let head = GroupHead::parse(&bytes).unwrap();
            prop_assert_eq!(head.file_bytes(), bytes.len());
            prop_assert_eq!(head.next(), Lsn(5 + records.len() as u64));
            prop_assert_eq!((head.durable, head.chain, head.closing), (Lsn(4), 77, closing));
            let found = super::records(&head, &bytes).unwrap();
            prop_assert_eq!(found, records.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }

        #[test]
        fn records_never_take_more_than_was_reserved(
            lengths in prop::collection::vec(0usize..400_000, 0..12),
        ) {
            let (mut buffer, mut taken) = (GroupBuffer::new(), 0);
            for &length in &lengths {
                if !buffer.takes(length) {
                    taken += padded(buffer.payload_bytes()) as u64;
                    buffer.clear();
                }
                buffer.push(&[&vec![0; length]]);
            }
            taken += padded(buffer.payload_bytes()) as u64;
            let bytes = lengths.iter().sum::<usize>() as u64;
            prop_assert!(taken <= most_bytes(lengths.len() as u64, bytes));
        }
    }
}
