//! The bytes of a manifest file: a header of 64 bytes, then the payload.
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in a header of checked length"
)]

use std::path::Path;

use crc32c::{crc32c, crc32c_append};

use crate::StoreError;

/// Version of the container that this build writes, and the newest it reads.
pub const MANIFEST_VERSION: u32 = 1;

/// Bytes before the payload.
pub const MANIFEST_HEADER_BYTES: usize = 64;

/// Largest payload. A manifest lists tens of files; this bounds what a damaged length can ask for.
pub const MAX_MANIFEST_BYTES: usize = 16 << 20;

/// High bit, name, CR LF, end-of-text, LF, as in page files.
const MAGIC: [u8; 8] = *b"\x8dPWM\r\n\x1a\n";

const VERSION: usize = 8;
const RESERVED_LOW: usize = 12;
const LENGTH: usize = 16;
const RESERVED_HIGH: usize = 24;
const CRC: usize = 60;

const _: () = assert!(CRC + 4 == MANIFEST_HEADER_BYTES);

/// Header and payload as one file. `Invalid` above [`MAX_MANIFEST_BYTES`].
pub(super) fn encode(payload: &[u8]) -> Result<Vec<u8>, StoreError> {
    if payload.len() > MAX_MANIFEST_BYTES {
        return Err(StoreError::invalid(format!(
            "a manifest of {} bytes: the limit is {MAX_MANIFEST_BYTES}",
            payload.len()
        )));
    }
    let mut file = vec![0; MANIFEST_HEADER_BYTES];
    file[..VERSION].copy_from_slice(&MAGIC);
    file[VERSION..RESERVED_LOW].copy_from_slice(&MANIFEST_VERSION.to_le_bytes());
    file[LENGTH..RESERVED_HIGH].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    file.extend_from_slice(payload);
    let crc = checksum(&file);
    file[CRC..MANIFEST_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    Ok(file)
}

/// The payload of a whole file. Magic, version and checksum keep their places in all versions.
pub(super) fn decode(path: &Path, mut file: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    let corrupt = |offset: usize, what, expected, found| {
        let (path, offset) = (path.to_path_buf(), offset as u64);
        Err(StoreError::Corrupt {
            path,
            page: None,
            offset,
            what,
            expected,
            found,
        })
    };
    if file.len() < MANIFEST_HEADER_BYTES {
        let (expected, found) = (MANIFEST_HEADER_BYTES as u64, file.len() as u64);
        return corrupt(0, "manifest header length", expected, found);
    }
    if file[..VERSION] != MAGIC {
        return corrupt(
            0,
            "not a manifest",
            u64::from_le_bytes(MAGIC),
            u64_at(&file, 0),
        );
    }
    let (stored, crc) = (u32_at(&file, CRC), checksum(&file));
    if stored != crc {
        return corrupt(CRC, "manifest checksum", u64::from(stored), u64::from(crc));
    }
    let version = u32_at(&file, VERSION);
    if version > MANIFEST_VERSION {
        let (path, supported) = (path.to_path_buf(), MANIFEST_VERSION);
        return Err(StoreError::Incompatible {
            path,
            found: version,
            supported,
        });
    }
    let clear = |range: std::ops::Range<usize>| file[range].iter().all(|&byte| byte == 0);
    if version == 0 || !clear(RESERVED_LOW..LENGTH) || !clear(RESERVED_HIGH..CRC) {
        return corrupt(VERSION, "version or reserved bytes", 1, u64::from(version));
    }
    let (stored, length) = (
        u64_at(&file, LENGTH),
        (file.len() - MANIFEST_HEADER_BYTES) as u64,
    );
    if stored != length {
        return corrupt(LENGTH, "manifest length", stored, length);
    }
    file.drain(..MANIFEST_HEADER_BYTES);
    Ok(file)
}

/// CRC-32C of the file without the four bytes that hold it.
fn checksum(file: &[u8]) -> u32 {
    crc32c_append(crc32c(&file[..CRC]), &file[MANIFEST_HEADER_BYTES..])
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]])
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from(u32_at(file, at)) | u64::from(u32_at(file, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_at(file: &[u8]) -> Result<Vec<u8>, StoreError> {
        decode(Path::new("MANIFEST"), file.to_vec())
    }

    fn resealed(mut file: Vec<u8>) -> Vec<u8> {
        let crc = checksum(&file);
        file[CRC..MANIFEST_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        file
    }

    #[test]
    fn round_trips() {
        for payload in [&b""[..], b"{}", &[7; 5000]] {
            assert_eq!(decode_at(&encode(payload).unwrap()).unwrap(), payload);
        }
        assert!(encode(&vec![0; MAX_MANIFEST_BYTES + 1]).is_err());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let mut file = encode(br#"{"files":[]}"#).unwrap();
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            let found = matches!(decode_at(&file), Err(StoreError::Corrupt { .. }));
            assert!(found, "bit {bit}");
            file[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..file.len() {
            assert!(decode_at(&file[..length]).is_err(), "cut to {length}");
        }
        file.push(0);
        assert!(decode_at(&file).is_err());
        assert!(decode_at(&resealed(file)).is_err());
    }

    #[test]
    fn newer_versions_are_refused_by_name_and_reserved_bytes_must_be_zero() {
        let mut file = encode(b"{}").unwrap();
        file[VERSION] = 9;
        let newer = decode_at(&resealed(file.clone()));
        assert!(matches!(
            newer,
            Err(StoreError::Incompatible {
                found: 9,
                supported: 1,
                ..
            })
        ));
        for at in [RESERVED_LOW, 15, RESERVED_HIGH, 59] {
            let mut file = encode(b"{}").unwrap();
            file[at] ^= 0x80;
            assert!(decode_at(&resealed(file)).is_err(), "byte {at}");
        }
    }
}
