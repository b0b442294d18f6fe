//! The files of one lane, numbered from 0.

use std::io;

use super::slots::FileUnits;
use crate::page::UnitSeal;
use crate::{PageFile, PageGeometry};

/// Files whose pages are of one size; the first is the only one that may be written.
#[derive(Debug)]
pub(super) struct LaneFiles {
    first: PageFile,
    others: Vec<PageFile>,
}

impl LaneFiles {
    /// The files of a lane. `InvalidInput` where pages differ in size, or units of a lane that
    /// writes.
    pub(super) fn new(first: &PageFile, others: &[&PageFile]) -> io::Result<Self> {
        let own = first.geometry();
        let is_alike = |other: PageGeometry| {
            let same_pages = other.page_bytes() == own.page_bytes();
            other == own || (same_pages && !first.writable())
        };
        if !others.iter().all(|file| is_alike(file.geometry())) {
            let words = "the files of a lane have pages, or units to write, of several sizes";
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

    /// Bytes of a page.
    pub(super) fn page_bytes(&self) -> u32 {
        self.first.geometry().page_bytes()
    }

    /// Bytes of the largest unit.
    pub(super) fn unit_bytes(&self) -> usize {
        let bytes = self.iter().map(|file| file.geometry().unit_bytes());
        bytes.max().unwrap_or(0)
    }

    /// The seal of what may be written.
    pub(super) fn seal(&self) -> UnitSeal {
        self.first.seal()
    }

    /// Whether the first was opened to be written.
    pub(super) fn writable(&self) -> bool {
        self.first.writable()
    }

    /// The units of each file.
    pub(super) fn units(&self) -> Vec<FileUnits> {
        let units = |file: &PageFile| FileUnits {
            count: file.units(),
            geometry: file.geometry(),
        };
        self.iter().map(units).collect()
    }
}
