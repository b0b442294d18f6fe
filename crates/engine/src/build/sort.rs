//! Sorts pairs of a key and a value, both bytes, within a memory budget.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::Arc;

use pageway_store::Vfs;

use super::spill::{BUFFER_BYTES, Spill, SpillReader, SpillWriter};
use crate::error::Result;

/// Least bytes of a sorted run.
const LEAST_RUN: usize = 1 << 20;
/// Bytes of a pair beside its own.
const PAIR_BYTES: usize = 24;

/// Takes pairs in any order and gives them back in that of keys, then values.
///
/// Holds as many bytes as it is given. The rest goes to temporary files, which take a buffer of 64
/// KiB each while they are merged.
pub(super) struct Sorter {
    vfs: Arc<dyn Vfs>,
    /// Where temporary files go, a number behind each.
    stem: PathBuf,
    most: usize,
    bytes: Vec<u8>,
    pairs: Vec<Pair>,
    spills: Vec<Spill>,
}

/// A function that takes a key and a value.
type VisitPair<'v> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'v;

/// Where a pair lies in the bytes of a run.
#[derive(Clone, Copy)]
struct Pair {
    start: usize,
    key: u32,
    value: u32,
}

impl Pair {
    fn of(self, bytes: &[u8]) -> (&[u8], &[u8]) {
        let behind = bytes.get(self.start..).unwrap_or_default();
        let whole = behind.get(..(self.key + self.value) as usize);
        whole.unwrap_or_default().split_at(self.key as usize)
    }
}

impl Sorter {
    /// A sorter within so many bytes.
    pub(super) fn new(vfs: &Arc<dyn Vfs>, stem: PathBuf, memory_bytes: u64) -> Self {
        Self {
            vfs: Arc::clone(vfs),
            stem,
            // A `Vec` that grows to twice its capacity holds three times its bytes meanwhile.
            most: (memory_bytes / 3).max(LEAST_RUN as u64) as usize,
            bytes: Vec::new(),
            pairs: Vec::new(),
            spills: Vec::new(),
        }
    }

    /// Takes a pair.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let own = key.len() + value.len() + PAIR_BYTES;
        let held = self.bytes.len() + self.pairs.len() * PAIR_BYTES;
        if held + own > self.most && !self.pairs.is_empty() {
            self.spill()?;
        }
        self.pairs.push(Pair {
            start: self.bytes.len(),
            key: key.len() as u32,
            value: value.len() as u32,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Calls `visit` with all pairs in order.
    ///
    /// # Errors
    /// Of temporary files; what `visit` gives.
    pub(super) fn finish(mut self, visit: &mut VisitPair<'_>) -> Result<()> {
        if self.spills.is_empty() {
            self.sort();
            for pair in &self.pairs {
                let (key, value) = pair.of(&self.bytes);
                visit(key, value)?;
            }
            return Ok(());
        }
        self.spill()?;
        (self.bytes, self.pairs) = (Vec::new(), Vec::new());
        self.narrow()?;
        merge(&self.spills, visit)
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.pairs
            .sort_unstable_by(|one, next| one.of(bytes).cmp(&next.of(bytes)));
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut out = self.writer(self.spills.len())?;
        for pair in &self.pairs {
            write(&mut out, pair.of(&self.bytes))?;
        }
        self.spills.push(out.finish()?);
        self.bytes.clear();
        self.pairs.clear();
        Ok(())
    }

    fn writer(&self, number: usize) -> Result<SpillWriter> {
        let mut path = self.stem.clone().into_os_string();
        path.push(format!("-{number}.pw"));
        SpillWriter::create(&self.vfs, &PathBuf::from(path), BUFFER_BYTES)
    }

    /// Merges runs until memory has a buffer for each that is left.
    fn narrow(&mut self) -> Result<()> {
        let most = (self.most / BUFFER_BYTES).max(2);
        let mut number = self.spills.len();
        while self.spills.len() > most {
            let first: Vec<Spill> = self.spills.drain(..most).collect();
            let mut out = self.writer(number)?;
            number += 1;
            merge(&first, &mut |key, value| write(&mut out, (key, value)))?;
            self.spills.push(out.finish()?);
        }
        Ok(())
    }
}

fn write(out: &mut SpillWriter, (key, value): (&[u8], &[u8])) -> Result<()> {
    let lengths = u64::from(key.len() as u32) << 32 | u64::from(value.len() as u32);
    out.write(&lengths.to_le_bytes())?;
    out.write(key)?;
    out.write(value)
}

/// A pair that was read back: it sorts by key, then value.
type Owned = (Vec<u8>, Vec<u8>);

fn next(reader: &mut SpillReader<'_>) -> Result<Option<Owned>> {
    let mut lengths = [0; 8];
    if !reader.read(&mut lengths)? {
        return Ok(None);
    }
    let lengths = u64::from_le_bytes(lengths);
    let mut key = vec![0; (lengths >> 32) as usize];
    let mut value = vec![0; lengths as u32 as usize];
    let whole = reader.read(&mut key)? && reader.read(&mut value)?;
    Ok(whole.then_some((key, value)))
}

fn merge(spills: &[Spill], visit: &mut VisitPair<'_>) -> Result<()> {
    let mut readers: Vec<_> = spills.iter().map(Spill::reader).collect();
    let mut heads = BinaryHeap::with_capacity(readers.len());
    for (number, reader) in readers.iter_mut().enumerate() {
        heads.extend(next(reader)?.map(|pair| Reverse((pair, number))));
    }
    while let Some(Reverse(((key, value), number))) = heads.pop() {
        visit(&key, &value)?;
        if let Some(reader) = readers.get_mut(number) {
            heads.extend(next(reader)?.map(|pair| Reverse((pair, number))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pageway_store::OsVfs;

    use super::*;

    #[test]
    fn pairs_come_back_in_order_whatever_the_memory() {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let pairs: Vec<Owned> = (0..60_000u32)
            .map(|at| {
                let mixed = at.wrapping_mul(2_654_435_761) >> 12;
                let key = format!("{}", mixed % 3000).into_bytes();
                (key, mixed.to_be_bytes().repeat(1 + at as usize % 3))
            })
            .collect();
        let mut expected = pairs.clone();
        expected.sort();
        for (memory, files) in [(0, true), (1 << 30, false)] {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(&vfs, dir.path().join("run"), memory);
            for (key, value) in &pairs {
                sorter.push(key, value).unwrap();
            }
            assert_eq!(!sorter.spills.is_empty(), files);
            let mut found = Vec::new();
            let mut keep = |key: &[u8], value: &[u8]| {
                found.push((key.to_vec(), value.to_vec()));
                Ok(())
            };
            sorter.finish(&mut keep).unwrap();
            assert!(found == expected);
            assert!(!vfs.exists(&dir.path().join("run-0.pw")).unwrap());
        }
    }
}
