//! The bytes of a manifest file: a header of 64 bytes, then the payload.
//! Format: `docs/format/manifest.md`.
#![expect(
    clippy::indexing_slicing,
    reason = "constant offsets in a header of checked length"
)]

use std::path::Path;

use crate::StoreError;
use crate::frame::{self, Frame, check_zero, corrupt, u64_at};

/// Version of the container that this build writes, and the newest it reads.
pub const MANIFEST_VERSION: u32 = 2;

/// Oldest version that this build reads: the payload of version 1 describes other records.
const OLDEST_MANIFEST_VERSION: u32 = 2;

/// Bytes before the payload.
pub const MANIFEST_HEADER_BYTES: usize = frame::FRAME_BYTES;

/// Largest payload. A manifest lists tens of files; this bounds what a damaged length can ask for.
pub const MAX_MANIFEST_BYTES: usize = 16 << 20;

const FRAME: Frame = Frame {
    magic: *b"\x8dPWM\r\n\x1a\n",
    version: MANIFEST_VERSION,
    oldest: OLDEST_MANIFEST_VERSION,
    foreign: "not a manifest",
};

const RESERVED_LOW: usize = frame::FIELDS;
const LENGTH: usize = 16;
const RESERVED_HIGH: usize = 24;

/// Header and payload as one file. `Invalid` above [`MAX_MANIFEST_BYTES`].
pub(super) fn encode(payload: &[u8]) -> Result<Vec<u8>, StoreError> {
    if payload.len() > MAX_MANIFEST_BYTES {
        return Err(StoreError::invalid(format!(
            "a manifest of {} bytes: the limit is {MAX_MANIFEST_BYTES}",
            payload.len()
        )));
    }
    let mut file = vec![0; MANIFEST_HEADER_BYTES];
    file[LENGTH..RESERVED_HIGH].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    file.extend_from_slice(payload);
    FRAME.seal(&mut file);
    Ok(file)
}

/// The payload of a whole file.
pub(super) fn decode(path: &Path, mut file: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    FRAME.check(path, &file)?;
    check_zero(path, &file, RESERVED_LOW..LENGTH)?;
    check_zero(path, &file, RESERVED_HIGH..frame::CRC)?;
    let (stored, length) = (
        u64_at(&file, LENGTH),
        (file.len() - MANIFEST_HEADER_BYTES) as u64,
    );
    if stored != length {
        return Err(corrupt(path, LENGTH, "manifest length", stored, length));
    }
    file.drain(..MANIFEST_HEADER_BYTES);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_copy(file: &[u8]) -> Result<Vec<u8>, StoreError> {
        decode(Path::new("MANIFEST"), file.to_vec())
    }

    #[test]
    fn bytes_are_the_documented_ones() {
        let file = encode(b"{}").unwrap();
        assert_eq!(file[..16], *b"\x8dPWM\r\n\x1a\n\x02\0\0\0\0\0\0\0");
        assert_eq!(file[16..24], [2, 0, 0, 0, 0, 0, 0, 0]);
        assert!(file[24..60].iter().all(|&byte| byte == 0));
        assert_eq!(file[64..], *b"{}");
    }

    #[test]
    fn round_trips_up_to_the_limit() {
        for payload in [&b""[..], b"{}", &[7; 5000]] {
            assert_eq!(decode_copy(&encode(payload).unwrap()).unwrap(), payload);
        }
        assert!(encode(&vec![0; MAX_MANIFEST_BYTES]).is_ok());
        assert!(encode(&vec![0; MAX_MANIFEST_BYTES + 1]).is_err());
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let mut file = encode(br#"{"files":[]}"#).unwrap();
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(decode_copy(&file), Err(StoreError::Corrupt { .. })),
                "bit {bit}"
            );
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn an_older_version_is_refused_by_number() {
        let mut file = encode(b"{}").unwrap();
        Frame {
            version: 1,
            ..FRAME
        }
        .seal(&mut file);
        assert!(matches!(
            decode_copy(&file),
            Err(StoreError::Incompatible {
                found: 1,
                oldest: 2,
                newest: 2,
                ..
            })
        ));
    }

    #[test]
    fn sealed_nonsense_is_refused() {
        for at in [RESERVED_LOW, 15, LENGTH, 23, RESERVED_HIGH, 59] {
            let mut file = encode(b"{}").unwrap();
            file[at] ^= 0x80;
            FRAME.seal(&mut file);
            assert!(
                matches!(decode_copy(&file), Err(StoreError::Corrupt { .. })),
                "byte {at}"
            );
        }
    }
}
