//! Reads some fixed-size records of a file in file order: data that pages need of nodes on other
//! pages, if memory does not hold it for all nodes.

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::error::Result;

/// Records of one task.
const RECORDS_PER_TASK: usize = 512;
/// Bytes between two records that are read rather than skipped, at most.
const GAP_BYTES: usize = 2048;

/// Records by their numbers.
#[derive(Default)]
pub(super) struct Gathered {
    numbers: Vec<u32>,
    bytes: Vec<u8>,
    record_bytes: usize,
}

/// Reads consecutive records from the one of a number on.
pub(super) type ReadRecords<'r> = dyn Fn(u64, &mut [u8]) -> Result<()> + Sync + 'r;

impl Gathered {
    /// Reads the records of `numbers`, each once.
    pub(super) fn read(
        mut numbers: Vec<u32>,
        record_bytes: usize,
        read: &ReadRecords<'_>,
        pool: &ThreadPool,
    ) -> Result<Self> {
        numbers.sort_unstable();
        numbers.dedup();
        let mut bytes = vec![0; numbers.len() * record_bytes];
        let tasks = numbers
            .par_chunks(RECORDS_PER_TASK)
            .zip(bytes.par_chunks_mut(RECORDS_PER_TASK * record_bytes.max(1)));
        pool.install(|| {
            tasks.try_for_each(|(numbers, out)| read_some(numbers, (record_bytes, read), out))
        })?;
        Ok(Self {
            numbers,
            bytes,
            record_bytes,
        })
    }

    /// The records, by ascending numbers.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place of a record among those read, if it was asked for.
    pub(super) fn place(&self, number: u32) -> Option<u32> {
        self.numbers.binary_search(&number).ok().map(|at| at as u32)
    }

    /// The record of a number, if it was asked for.
    pub(super) fn get(&self, number: u32) -> Option<&[u8]> {
        let at = self.place(number)? as usize * self.record_bytes;
        self.bytes.get(at..at + self.record_bytes)
    }
}

/// Reads records of ascending numbers; those that lie near each other with one read.
fn read_some(
    numbers: &[u32],
    (record_bytes, read): (usize, &ReadRecords<'_>),
    out: &mut [u8],
) -> Result<()> {
    let gap = (GAP_BYTES / record_bytes.max(1)).max(1) as u32;
    let mut out = out.chunks_exact_mut(record_bytes.max(1));
    let mut run = Vec::new();
    for near in numbers.chunk_by(|one, next| next - one <= gap) {
        let (Some(first), Some(last)) = (near.first(), near.last()) else {
            continue;
        };
        run.resize((last - first + 1) as usize * record_bytes, 0);
        read(u64::from(*first), &mut run)?;
        for (number, record) in near.iter().zip(&mut out) {
            let at = (number - first) as usize * record_bytes;
            record.copy_from_slice(run.get(at..at + record_bytes).unwrap_or_default());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::thread_pool;

    #[test]
    fn records_are_those_of_their_numbers_however_far_apart() {
        let pool = thread_pool(2).unwrap();
        let record = |number: u32| number.wrapping_mul(2_654_435_761).to_le_bytes();
        let read = |first: u64, out: &mut [u8]| {
            for (number, out) in (first as u32..).zip(out.chunks_exact_mut(4)) {
                out.copy_from_slice(&record(number));
            }
            Ok(())
        };
        let asked: Vec<u32> = (0..9000u32).map(|at| at * at % 100_003).collect();
        let found = Gathered::read(asked.clone(), 4, &read, &pool).unwrap();
        for number in asked {
            assert_eq!(found.get(number), Some(record(number).as_slice()));
        }
        assert_eq!(found.get(100_003), None);
        assert_eq!(Gathered::default().get(0), None);
    }
}
