//! The files of one lane, numbered from 0.

use std::io;

use crate::page::UnitSeal;
use crate::{PageFile, PageGeometry};

/// Files whose units are of one size; the first is the only one that may be written.
#[derive(Debug)]
pub(super) struct LaneFiles {
    first: PageFile,
    others: Vec<PageFile>,
}

impl LaneFiles {
    /// The files of a lane. `InvalidInput` where units differ in size.
    pub(super) fn new(first: &PageFile, others: &[&PageFile]) -> io::Result<Self> {
        let geometry = first.geometry();
        if others.iter().any(|file| file.geometry() != geometry) {
            let words = "the files of a lane have units of several sizes";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(Self {
            first: first.clone(),
            others: others.iter().map(|file| (*file).clone()).collect(),
        })
    }

    /// File number `at`; the first for a number that no request could be accepted with.
    #[inline]
    pub(super) fn get(&self, at: u32) -> &PageFile {
        let other = (at as usize).checked_sub(1);
        other
            .and_then(|at| self.others.get(at))
            .unwrap_or(&self.first)
    }

    /// Every file, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PageFile> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Page and unit sizes.
    pub(super) fn geometry(&self) -> PageGeometry {
        self.first.geometry()
    }

    /// The seal of what may be written.
    pub(super) fn seal(&self) -> UnitSeal {
        self.first.seal()
    }

    /// Whether the first was opened to be written.
    pub(super) fn writable(&self) -> bool {
        self.first.writable()
    }

    /// Units of each file.
    pub(super) fn units(&self) -> Vec<u64> {
        self.iter().map(PageFile::units).collect()
    }
}
