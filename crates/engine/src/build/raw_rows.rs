//! Rows that are wanted in no order, read in ascending order.

use pageway_types::VectorRead;

use crate::error::{Error, Result};

/// Some raw rows, each once.
pub(super) struct RawRows {
    /// Their numbers, ascending.
    rows: Vec<u32>,
    bytes: Vec<u8>,
    row_bytes: usize,
}

impl RawRows {
    /// Reads rows that may be named several times; those that follow each other at once.
    ///
    /// # Errors
    /// As reading them fails.
    pub(super) fn read(vectors: &dyn VectorRead, mut rows: Vec<u32>) -> Result<Self> {
        rows.sort_unstable();
        rows.dedup();
        let row_bytes = vectors.shape().row_bytes();
        let mut bytes = vec![0; rows.len() * row_bytes];
        let mut left = bytes.as_mut_slice();
        for run in rows.chunk_by(|row, next| row + 1 == *next) {
            let (own, rest) = left
                .split_at_mut_checked(run.len() * row_bytes)
                .ok_or_else(|| Error::invalid("rows of two lengths"))?;
            if let Some(first) = run.first() {
                vectors.read((*first).into(), own)?;
            }
            left = rest;
        }
        Ok(Self {
            rows,
            bytes,
            row_bytes,
        })
    }

    pub(super) fn get(&self, row: u32) -> Option<&[u8]> {
        let start = self.rows.binary_search(&row).ok()? * self.row_bytes;
        self.bytes.get(start..start + self.row_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use pageway_types::{ElementType, VectorShape};

    use super::*;

    /// Rows of two bytes, and what was read of them.
    struct Watched(Mutex<Vec<(u64, usize)>>);

    impl VectorRead for Watched {
        fn count(&self) -> u64 {
            100
        }

        fn shape(&self) -> VectorShape {
            VectorShape {
                dimension: 2,
                element: ElementType::U8,
            }
        }

        fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.lock().unwrap().push((first, out.len() / 2));
            let bytes = (first..).flat_map(|row| [row as u8, !row as u8]);
            out.iter_mut()
                .zip(bytes)
                .for_each(|(out, byte)| *out = byte);
            Ok(())
        }
    }

    #[test]
    fn rows_that_follow_each_other_are_read_at_once() {
        let watched = Watched(Mutex::default());
        let rows = RawRows::read(&watched, vec![9, 3, 5, 4, 9, 3, 50]).unwrap();
        assert_eq!(*watched.0.lock().unwrap(), [(3, 3), (9, 1), (50, 1)]);
        for row in [3, 4, 5, 9, 50] {
            assert_eq!(rows.get(row).unwrap(), [row as u8, !row as u8]);
        }
        assert!(rows.get(6).is_none() && rows.get(99).is_none());
        assert!(
            RawRows::read(&watched, Vec::new())
                .unwrap()
                .get(0)
                .is_none()
        );
    }
}
