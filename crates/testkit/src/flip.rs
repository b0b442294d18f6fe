//! Flipped bits.

use std::io;
use std::path::Path;

use pageway_store::{OpenMode, Vfs};

/// Flips one bit, counted from the lowest of the first byte. Does nothing behind the end.
pub fn flip_bit(bytes: &mut [u8], bit: u64) {
    if let Some(byte) = usize::try_from(bit / 8)
        .ok()
        .and_then(|at| bytes.get_mut(at))
    {
        *byte ^= 1 << (bit % 8);
    }
}

/// Flips one bit of a file in place, by a read and a write of its byte.
pub fn flip_file_bit(vfs: &dyn Vfs, path: &Path, bit: u64) -> io::Result<()> {
    let file = vfs.open(path, OpenMode::ReadWrite)?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, bit / 8)?;
    flip_bit(&mut byte, bit % 8);
    file.write_all_at(&byte, bit / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flip_changes_one_bit_and_a_second_one_restores_it() {
        let mut bytes = [0u8; 3];
        flip_bit(&mut bytes, 17);
        assert_eq!(bytes, [0, 0, 2]);
        flip_bit(&mut bytes, 17);
        flip_bit(&mut bytes, 24);
        assert_eq!(bytes, [0; 3]);
    }
}
