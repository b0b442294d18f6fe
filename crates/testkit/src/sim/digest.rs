//! What a file system holds, in digests of 64 bits.

use std::collections::BTreeSet;

use pageway_types::SplitMix64;

/// Another number for each number, without a pattern.
pub(super) fn mix(number: u64) -> u64 {
    SplitMix64::new(number).next_u64()
}

/// Digests of all that can be read in a file system.
#[derive(Default, Debug)]
pub(super) struct Digest {
    /// Of all names, and which of them are one file.
    pub(super) names: u64,
    /// Files in the order of their first names: numbers, and digests of what they hold.
    pub(super) files: Vec<(usize, u64)>,
}

impl Digest {
    /// The digest of everything.
    pub(super) fn whole(&self) -> u64 {
        self.files
            .iter()
            .fold(self.names, |all, (_, file)| mix(all ^ file))
    }

    /// The digest of what some files hold, which are given by their places.
    pub(super) fn part(&self, places: &[usize]) -> u64 {
        let files = places.iter().filter_map(|place| self.files.get(*place));
        files.fold(self.names, |all, (_, file)| mix(all ^ file))
    }

    /// The places of files that are given by their numbers.
    pub(super) fn places(&self, numbers: &BTreeSet<usize>) -> Vec<usize> {
        let files = self.files.iter().enumerate();
        let wanted = files.filter(|(_, (number, _))| numbers.contains(number));
        wanted.map(|(place, _)| place).collect()
    }
}
