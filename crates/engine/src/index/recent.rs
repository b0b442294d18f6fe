//! Recent queries, kept if the caller asks for it, to calibrate recall with.
//!
//! Once all places are taken, each query replaces a random one, so older ones become ever fewer:
//! half are gone after 0.7 times as many queries as there are places.

use std::sync::{Mutex, PoisonError};

use pageway_store::PerProcess;
use pageway_types::SplitMix64;

use super::Index;
use crate::options::Queries;

/// Seed of the places.
const SEED: u64 = 0x007e_c3a7;

/// The recent queries of one process.
#[derive(Default)]
pub(super) struct RecentQueries(PerProcess<Mutex<Kept>>);

/// Raw rows of one length.
struct Kept {
    rows: Vec<u8>,
    random: SplitMix64,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            random: SplitMix64::new(SEED),
        }
    }
}

impl Kept {
    /// Keeps a query; replaces another if there are `most`.
    fn note(&mut self, row: &[u8], most: usize) {
        let held = self.rows.len() / row.len().max(1);
        if held < most {
            self.rows.reserve_exact((most - held) * row.len());
            self.rows.extend_from_slice(row);
            return;
        }
        let start = self.random.below(most as u64) as usize * row.len();
        if let Some(place) = self.rows.get_mut(start..start + row.len()) {
            place.copy_from_slice(row);
        }
    }
}

impl Index {
    /// Raw rows of queries that were asked lately, in no order: at most as many as the index was
    /// opened to keep, which [`OpenOptions`](crate::OpenOptions) says. Give them to
    /// [`Index::calibrate`], and recall is measured on what is really asked.
    pub fn recent_queries(&self) -> Vec<u8> {
        let kept = self.recent.0.get().lock();
        kept.unwrap_or_else(PoisonError::into_inner).rows.clone()
    }

    /// Keeps queries that are asked, if the index was opened to.
    pub(super) fn note_recent(&self, queries: &Queries<'_>) {
        let most = self.options.recent_queries as usize;
        if most == 0 || queries.held_out.is_some() {
            return;
        }
        let kept = self.recent.0.get().lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        for row in queries.rows.chunks_exact(queries.shape.row_bytes()) {
            kept.note(row, most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_queries_take_the_places_of_early_ones() {
        let mut kept = Kept::default();
        for number in 0..50_u16 {
            kept.note(&number.to_le_bytes(), 100);
        }
        assert_eq!(kept.rows.len(), 100, "all of the first");
        for number in 50..1000_u16 {
            kept.note(&number.to_le_bytes(), 100);
        }
        let pairs = kept.rows.chunks_exact(2);
        let mut numbers: Vec<u16> = pairs
            .map(|own| u16::from_le_bytes([own[0], own[1]]))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers.len(), 100);
        assert!(numbers[50] > 850 && numbers[0] < 850, "{numbers:?}");
        numbers.dedup();
        assert_eq!(numbers.len(), 100, "none twice");
    }
}
