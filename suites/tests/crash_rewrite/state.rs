//! What the small store of this suite holds: numbered rows that generations change and add to.
//!
//! A manifest names the current state and, while a journal is being rolled forward, the next one.
//! The table keeps of each row the unit where it lies and the epoch it was last written in.

use std::path::Path;

use pageway_store::{FileEntry, StoreError, Vfs, commit_manifest, read_manifest};
use pageway_testkit::SplitMix64;

/// Rows of generation 0.
const FIRST_ROWS: u64 = 6;
/// Rows that each generation adds, and how many it changes.
const ADDED: u64 = 2;
const CHANGED: usize = 3;

/// One generation of the store.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct State {
    pub(crate) generation: u32,
    pub(crate) units: FileEntry,
    /// Of each row: unit, and epoch.
    pub(crate) table: Vec<(u64, u32)>,
    pub(crate) journal: Option<FileEntry>,
}

/// The fields of a state, as JSON has them.
type Fields = (u32, FileEntry, Vec<(u64, u32)>, Option<FileEntry>);

/// What is committed: the state, and the one that a whole journal leads to.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) now: State,
    pub(crate) next: Option<State>,
}

impl Manifest {
    pub(crate) fn settled(now: State) -> Self {
        Self { now, next: None }
    }

    pub(crate) fn commit(&self, vfs: &dyn Vfs, dir: &Path) -> Result<(), StoreError> {
        let states = [Some(&self.now), self.next.as_ref()];
        let fields: Vec<Fields> = states.into_iter().flatten().map(State::fields).collect();
        commit_manifest(vfs, dir, &serde_json::to_vec(&fields).unwrap())
    }

    pub(crate) fn read(vfs: &dyn Vfs, dir: &Path) -> Result<Self, StoreError> {
        let json = read_manifest(vfs, dir)?;
        let fields: Vec<Fields> = serde_json::from_slice(&json).unwrap();
        let mut states = fields.into_iter().map(State::of);
        Ok(Self {
            now: states.next().unwrap(),
            next: states.next(),
        })
    }
}

impl State {
    fn fields(&self) -> Fields {
        let Self {
            generation,
            units,
            table,
            journal,
        } = self.clone();
        (generation, units, table, journal)
    }

    fn of((generation, units, table, journal): Fields) -> Self {
        Self {
            generation,
            units,
            table,
            journal,
        }
    }
}

/// Rows of a generation.
pub(crate) fn rows(generation: u32) -> u64 {
    FIRST_ROWS + ADDED * u64::from(generation)
}

/// Rows that a generation changes, ascending, and then those that it adds.
pub(crate) fn touched(generation: u32) -> Vec<u64> {
    let before = rows(generation.saturating_sub(1));
    let mut random = SplitMix64::new(u64::from(generation));
    let mut changed = std::collections::BTreeSet::new();
    while changed.len() < CHANGED {
        changed.insert(random.below(before));
    }
    changed
        .into_iter()
        .chain(before..rows(generation))
        .collect()
}

/// The bytes of a row as `generation` left it.
pub(crate) fn payload(row: u64, generation: u32) -> Vec<u8> {
    let writes = |by: &u32| *by == 0 || touched(*by).contains(&row);
    let written_by = (0..=generation).rev().find(writes).unwrap();
    let mut random = SplitMix64::new(row << 8 | u64::from(written_by));
    let words = (0..500).map(|_| random.next_u64().to_le_bytes());
    words.flatten().collect()
}
