//! What pages differ by from what their files hold: runs of bytes that changed since.
//!
//! ```text
//! file   | page u32 | bytes u32 | runs | page u32 | bytes u32 | runs | ..     ascending by page
//! runs   | skip | length | bytes | skip | length | bytes | ..                 numbers in LEB128
//! ```
//! A list that gains a neighbour changes some bytes of its page, so a few of them stand for a page
//! until many lists of it changed. `docs/format/patches.md`.

use std::collections::BTreeMap;

use pageway_types::PageId;

use crate::error::{Error, ErrorKind, Result};

/// Bytes of an entry beside its runs.
pub(crate) const DIFFERENCE_BYTES: u64 = 8;

/// Bytes that stay as they are between two that change, where one run takes fewer than two.
const GAP: usize = 2;

/// Runs of bytes that pages differ by.
#[derive(Clone, Default, Debug)]
pub(crate) struct Differences {
    /// Ascending.
    pages: Vec<u32>,
    /// Where the runs of each end.
    ends: Vec<u32>,
    runs: Vec<u8>,
}

impl Differences {
    /// Of the bytes of their file, for so many pages with payloads of so many bytes.
    ///
    /// # Errors
    /// `Corrupt` where pages do not rise, or runs do not lie within a page.
    pub(crate) fn new(mut file: &[u8], (pages, payload_bytes): (u32, usize)) -> Result<Self> {
        let mut own = Self::default();
        while !file.is_empty() {
            let (page, runs) = take_entry(&mut file).ok_or_else(|| corrupt("it ends within"))?;
            if page >= pages || own.pages.last().is_some_and(|last| *last >= page) {
                return Err(corrupt("its pages do not rise, or there are none such"));
            }
            let mut walk = Runs { rest: runs, at: 0 };
            let is_within = walk.all(|(at, bytes)| at + bytes.len() <= payload_bytes);
            if !is_within || !walk.rest.is_empty() {
                return Err(corrupt("bytes that are not within their page"));
            }
            own.push(page, runs)?;
        }
        Ok(own)
    }

    fn push(&mut self, page: u32, runs: &[u8]) -> Result<()> {
        self.runs.extend_from_slice(runs);
        let end = u32::try_from(self.runs.len()).map_err(|_| corrupt("more than 4 GiB"))?;
        self.pages.push(page);
        self.ends.push(end);
        Ok(())
    }

    /// Pages that differ, ascending.
    pub(crate) fn pages(&self) -> &[u32] {
        &self.pages
    }

    /// Makes the payload of a page, as its file holds it, what the page is.
    #[inline]
    pub(crate) fn apply(&self, page: PageId, payload: &mut [u8]) {
        let Ok(place) = self.pages.binary_search(&page.0) else {
            return;
        };
        for (at, bytes) in (Runs {
            rest: self.runs_at(place),
            at: 0,
        }) {
            if let Some(out) = payload.get_mut(at..at + bytes.len()) {
                out.copy_from_slice(bytes);
            }
        }
    }

    /// The bytes of the file that follows: some pages differ by other runs then, and some by none,
    /// since they were written, ascending.
    pub(crate) fn followed_by(
        &self,
        changed: &BTreeMap<u32, Vec<u8>>,
        written: &[u32],
    ) -> Result<Vec<u8>> {
        let known = (0..).zip(&self.pages);
        let known = known.filter(|(_, page)| written.binary_search(page).is_err());
        let known = known.map(|(place, page)| (*page, self.runs_at(place)));
        let mut all: BTreeMap<u32, &[u8]> = known.collect();
        all.extend(changed.iter().map(|(page, runs)| (*page, runs.as_slice())));
        let mut file = Vec::new();
        for (page, runs) in all.into_iter().filter(|(_, runs)| !runs.is_empty()) {
            let bytes = u32::try_from(runs.len()).map_err(|_| corrupt("more than 4 GiB"))?;
            file.extend_from_slice(&page.to_le_bytes());
            file.extend_from_slice(&bytes.to_le_bytes());
            file.extend_from_slice(runs);
        }
        Ok(file)
    }

    fn runs_at(&self, place: usize) -> &[u8] {
        let before = place.checked_sub(1).and_then(|at| self.ends.get(at));
        let start = before.map_or(0, |end| *end as usize);
        let end = self.ends.get(place).map_or(start, |end| *end as usize);
        self.runs.get(start..end).unwrap_or_default()
    }
}

/// The runs that make `before` what `after` is, which is as long.
pub(crate) fn difference(before: &[u8], after: &[u8]) -> Vec<u8> {
    let differs = |at: usize| before.get(at) != after.get(at);
    let count = before.len().min(after.len());
    let (mut runs, mut at, mut end) = (Vec::new(), 0, 0);
    while at < count {
        if !differs(at) {
            at += 1;
            continue;
        }
        let (first, mut behind) = (at, at + 1);
        at += 1;
        while at < count && at <= behind + GAP {
            if differs(at) {
                behind = at + 1;
            }
            at += 1;
        }
        put_number(&mut runs, first - end);
        put_number(&mut runs, behind - first);
        runs.extend_from_slice(after.get(first..behind).unwrap_or_default());
        (at, end) = (behind, behind);
    }
    runs
}

/// Runs with their places, up to the first that is none.
struct Runs<'r> {
    rest: &'r [u8],
    /// Where the last one ended.
    at: usize,
}

impl<'r> Iterator for Runs<'r> {
    type Item = (usize, &'r [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest;
        let (skip, length) = (take_number(&mut rest)?, take_number(&mut rest)?);
        let (bytes, rest) = rest.split_at_checked(length)?;
        let start = self.at + skip;
        (self.rest, self.at) = (rest, start + length);
        Some((start, bytes))
    }
}

fn take_entry<'f>(file: &mut &'f [u8]) -> Option<(u32, &'f [u8])> {
    let (page, rest) = file.split_first_chunk()?;
    let (bytes, rest) = rest.split_first_chunk()?;
    let (runs, rest) = rest.split_at_checked(u32::from_le_bytes(*bytes) as usize)?;
    *file = rest;
    Some((u32::from_le_bytes(*page), runs))
}

fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A number below 2^28, or none.
fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..28).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("differences of pages: {what}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(0u8..3, 300)
    }

    proptest! {
        #[test]
        fn differences_make_a_page_what_it_was_last(
            first in page(),
            later in prop::collection::vec((0u32..4, page(), any::<bool>()), 1..8),
        ) {
            let mut files: BTreeMap<u32, Vec<u8>> = (0..4).map(|at| (at, first.clone())).collect();
            let (mut own, mut now) = (Differences::default(), files.clone());
            for (at, after, is_written) in later {
                let mut changed = BTreeMap::new();
                let mut written = Vec::new();
                if is_written {
                    files.insert(at, after.clone());
                    written.push(at);
                } else {
                    changed.insert(at, difference(&files[&at], &after));
                }
                now.insert(at, after);
                let file = own.followed_by(&changed, &written).unwrap();
                own = Differences::new(&file, (4, 300)).unwrap();
                for (page, expected) in &now {
                    let mut payload = files[page].clone();
                    own.apply(PageId(*page), &mut payload);
                    prop_assert_eq!(&payload, expected);
                    // Once more changes nothing: runs say what bytes are, not how they change.
                    own.apply(PageId(*page), &mut payload);
                    prop_assert_eq!(&payload, expected);
                }
                let differ = now.iter().filter(|(page, expected)| files[page] != **expected);
                let differ: Vec<u32> = differ.map(|(page, _)| *page).collect();
                prop_assert_eq!(own.pages(), &differ);
            }
        }

        #[test]
        fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(own) = Differences::new(&bytes, (9, 40)) {
                for page in 0..9 {
                    own.apply(PageId(page), &mut [0; 40]);
                }
            }
        }
    }

    #[test]
    fn a_neighbour_more_takes_a_dozen_bytes() {
        let before = [0u8; 4088];
        let mut after = before;
        after[1300] = 1;
        after[1340..1343].copy_from_slice(&[7, 9, 1]);
        let runs = difference(&before, &after);
        assert_eq!(runs, [0x94, 10, 1, 1, 39, 3, 7, 9, 1]);
        assert!(difference(&before, &before).is_empty());
    }

    #[test]
    fn bytes_that_make_no_sense_are_refused() {
        let entry = |page: u32, runs: &[u8]| {
            let mut bytes = page.to_le_bytes().to_vec();
            bytes.extend((runs.len() as u32).to_le_bytes());
            bytes.extend(runs);
            bytes
        };
        let read = |bytes: &[u8]| Differences::new(bytes, (5, 40));
        let two = |one: &[u8], other: &[u8]| [one, other].concat();
        assert!(read(&two(&entry(1, &[36, 2, 7, 7]), &entry(4, &[0, 1, 9]))).is_ok());
        assert!(read(&entry(5, &[0, 1, 9])).is_err(), "no such page");
        assert!(read(&two(&entry(1, &[0, 1, 9]), &entry(1, &[0, 1, 9]))).is_err());
        assert!(read(&entry(1, &[39, 2, 7, 7])).is_err(), "behind its page");
        assert!(read(&entry(1, &[0, 3, 7, 7])).is_err(), "a run that is cut");
        assert!(read(&entry(1, &[0x80; 9])).is_err(), "a number without end");
        assert!(
            read(&entry(1, &[0, 1, 9])[..10]).is_err(),
            "an entry that is cut"
        );
    }
}
