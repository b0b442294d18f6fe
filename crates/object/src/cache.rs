//! Blocks in one file on local disk: slots of one size, given up by a clock. Nothing in the files
//! is believed: whoever takes a block compares it with its checksum.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pageway_store::{LockGuard, OpenMode, OsVfs, Vfs, VfsFile, create_directory};

use crate::BLOCK_BYTES;

/// Bytes of an entry: hash of the object, number of the block.
const ENTRY_BYTES: u64 = 40;
/// Fewest slots: a read may span some blocks.
const MIN_SLOTS: u64 = 16;

/// A block: the SHA-256 of its object, and its number.
pub(crate) type BlockKey = ([u8; 32], u64);

/// A cache of blocks. One process has it at a time; it survives.
#[derive(Debug)]
pub struct BlockCache {
    data: Arc<dyn VfsFile>,
    table: Arc<dyn VfsFile>,
    state: Mutex<Clock>,
    _lock: Box<dyn LockGuard>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    key: Option<BlockKey>,
    used: bool,
    filling: bool,
}

#[derive(Debug)]
struct Clock {
    places: HashMap<BlockKey, usize>,
    slots: Vec<Slot>,
    hand: usize,
}

impl BlockCache {
    /// Opens the cache in `dir`, or makes one. `bytes` bounds both of its files.
    ///
    /// # Errors
    /// `InvalidInput` below the least that works, `ResourceBusy` where another process has it.
    pub fn open(dir: &Path, bytes: u64) -> io::Result<Self> {
        let count = bytes / (BLOCK_BYTES + ENTRY_BYTES);
        if count < MIN_SLOTS {
            let least = MIN_SLOTS * (BLOCK_BYTES + ENTRY_BYTES);
            let words = format!("a cache of {bytes} bytes: the least that works is {least}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        create_directory(&OsVfs, dir).map_err(io::Error::other)?;
        let lock = OsVfs.lock(&dir.join("LOCK"))?.ok_or_else(|| {
            let words = format!(
                "{}: another process or index uses this cache: name another directory",
                dir.display()
            );
            io::Error::new(io::ErrorKind::ResourceBusy, words)
        })?;
        let count = count as usize;
        let data = file(&dir.join("blocks"), count as u64 * BLOCK_BYTES)?;
        let table = file(&dir.join("table"), count as u64 * ENTRY_BYTES)?;
        let clock = Clock::read(table.as_ref(), count)?;
        Ok(Self {
            data,
            table,
            state: Mutex::new(clock),
            _lock: lock,
        })
    }

    /// Blocks it can hold.
    pub fn capacity(&self) -> u64 {
        self.state().slots.len() as u64
    }

    fn state(&self) -> MutexGuard<'_, Clock> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a block of this key, whatever its bytes are.
    pub(crate) fn holds(&self, key: &BlockKey) -> bool {
        self.state().places.contains_key(key)
    }

    /// What is kept of a block, to be compared with its checksum; none where there is nothing.
    pub(crate) fn get(&self, key: &BlockKey, bytes: &mut [u8]) -> io::Result<bool> {
        let Some(slot) = self.state().find(key) else {
            return Ok(false);
        };
        self.data
            .read_exact_at(bytes, slot as u64 * BLOCK_BYTES)
            .map(|()| true)
    }

    /// Keeps a block in place of one that was not used for long.
    pub(crate) fn put(&self, key: BlockKey, bytes: &[u8]) -> io::Result<()> {
        let Some(slot) = self.state().claim(&key) else {
            return Ok(());
        };
        let written = self
            .data
            .write_all_at(bytes, slot as u64 * BLOCK_BYTES)
            .and_then(|()| {
                let mut entry = [0; ENTRY_BYTES as usize];
                let (hash, number) = entry.split_at_mut(32);
                hash.copy_from_slice(&key.0);
                number.copy_from_slice(&key.1.to_le_bytes());
                self.table.write_all_at(&entry, slot as u64 * ENTRY_BYTES)
            });
        self.state().settle(slot, written.is_ok().then_some(key));
        written
    }
}

impl Clock {
    /// What a table names; of two entries of a block the last.
    fn read(table: &dyn VfsFile, count: usize) -> io::Result<Self> {
        let mut bytes = vec![0; count * ENTRY_BYTES as usize];
        table.read_exact_at(&mut bytes, 0)?;
        let mut clock = Self {
            places: HashMap::new(),
            slots: vec![Slot::default(); count],
            hand: 0,
        };
        for (at, entry) in bytes.chunks_exact(ENTRY_BYTES as usize).enumerate() {
            let (hash, number) = entry.split_at(32);
            let (Ok(hash), Ok(number)) = (hash.try_into(), number.try_into()) else {
                continue;
            };
            if hash != [0; 32] {
                clock.settle(at, Some((hash, u64::from_le_bytes(number))));
            }
        }
        Ok(clock)
    }

    fn find(&mut self, key: &BlockKey) -> Option<usize> {
        let at = *self.places.get(key)?;
        if let Some(slot) = self.slots.get_mut(at) {
            slot.used = true;
        }
        Some(at)
    }

    /// A slot to be filled: that of the key, or one whose turn it is; none while all are filled.
    fn claim(&mut self, key: &BlockKey) -> Option<usize> {
        let own = self.places.get(key).copied();
        let count = self.slots.len();
        let turns = own.into_iter().chain((0..2 * count).map(|_| {
            let at = self.hand;
            self.hand = (at + 1) % count;
            at
        }));
        for at in turns {
            let Some(slot) = self.slots.get_mut(at) else {
                continue;
            };
            if slot.filling {
                continue;
            }
            if slot.used && own != Some(at) {
                slot.used = false;
                continue;
            }
            slot.filling = true;
            if let Some(before) = slot.key.take() {
                self.places.remove(&before);
            }
            return Some(at);
        }
        None
    }

    /// Ends the filling of a slot.
    fn settle(&mut self, at: usize, key: Option<BlockKey>) {
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        *slot = Slot {
            key,
            used: true,
            filling: false,
        };
        if let Some(other) = key.and_then(|key| self.places.insert(key, at))
            && other != at
            && let Some(slot) = self.slots.get_mut(other)
        {
            *slot = Slot::default();
        }
    }
}

/// A file of this length, made where there is none.
fn file(path: &Path, bytes: u64) -> io::Result<Arc<dyn VfsFile>> {
    let mode = if OsVfs.exists(path)? {
        OpenMode::ReadWrite
    } else {
        OpenMode::CreateNew
    };
    let file = OsVfs.open(path, mode)?;
    if file.len()? != bytes {
        file.set_len(bytes)?;
    }
    Ok(file)
}
