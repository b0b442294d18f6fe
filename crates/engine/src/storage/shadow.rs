//! Newer images of some pages of a file, which lie in other files: which page has which.
//!
//! ```text
//! map file | page u32 | image u32 | page u32 | image u32 | ..      ascending by page
//! ```
//! Images are numbered over all files that hold some, older files first. `docs/format/patches.md`.

use pageway_types::PageId;

use crate::error::{Error, ErrorKind, Result};

/// Bytes of an entry: a page and its image.
pub(crate) const SHADOW_ENTRY_BYTES: u64 = 8;

/// Where the newest images of pages are, of those that are not in the first file.
#[derive(Clone, Default, Debug)]
pub(crate) struct Shadow {
    /// Ascending.
    pages: Vec<u32>,
    /// In the order of `pages`.
    images: Vec<u32>,
    /// Images of the files before each, and of all of them.
    firsts: Vec<u32>,
}

impl Shadow {
    /// Of files with so many images each, from the bytes of a map.
    ///
    /// # Errors
    /// `Corrupt` where pages do not rise, or there is no such image.
    pub(crate) fn new(map: &[u8], counts: impl Iterator<Item = u64>) -> Result<Self> {
        let mut firsts = vec![0u32];
        for count in counts {
            let before = firsts.last().copied().unwrap_or(0);
            let behind = u32::try_from(count)
                .ok()
                .and_then(|own| before.checked_add(own));
            firsts.push(behind.ok_or_else(|| corrupt("more images than there can be"))?);
        }
        let all = firsts.last().copied().unwrap_or(0);
        let (words, rest) = map.as_chunks::<4>();
        if !rest.is_empty() || !words.len().is_multiple_of(2) {
            return Err(corrupt("a map of pages ends within an entry"));
        }
        let words = words.iter().map(|word| u32::from_le_bytes(*word));
        let pages: Vec<u32> = words.clone().step_by(2).collect();
        let images: Vec<u32> = words.skip(1).step_by(2).collect();
        if !pages.is_sorted_by(|left, right| left < right) {
            return Err(corrupt("pages of a map do not rise"));
        }
        if images.iter().any(|image| *image >= all) {
            return Err(corrupt("a page has an image that there is not"));
        }
        Ok(Self {
            pages,
            images,
            firsts,
        })
    }

    /// The bytes of its map, with images of a further file for some pages, ascending, in order.
    pub(crate) fn extended(&self, pages: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((self.pages.len() + pages.len()) * 8);
        let mut old = self.pages.iter().zip(&self.images).peekable();
        let mut push = |page: u32, image: u32| {
            bytes.extend_from_slice(&page.to_le_bytes());
            bytes.extend_from_slice(&image.to_le_bytes());
        };
        for (page, image) in pages.iter().zip(self.images_count()..) {
            while let Some((before, own)) = old.next_if(|(before, _)| *before <= page) {
                if before != page {
                    push(*before, *own);
                }
            }
            push(*page, image);
        }
        old.for_each(|(page, image)| push(*page, *image));
        bytes
    }

    /// Pages that have images, ascending.
    pub(crate) fn pages(&self) -> &[u32] {
        &self.pages
    }

    /// Images in all files, those that newer ones took the place of included.
    pub(crate) fn images_count(&self) -> u32 {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// Whether two pages have one image.
    pub(crate) fn shares_images(&self) -> bool {
        let mut images = self.images.clone();
        images.sort_unstable();
        !images.is_sorted_by(|left, right| left < right)
    }

    /// Number of the file, and of its unit, that hold a page: file 0 is the one without images.
    #[inline]
    pub(crate) fn place(&self, page: PageId) -> (u32, u64) {
        if self.pages.is_empty() {
            return (0, page.0.into());
        }
        let at = self.pages.binary_search(&page.0).ok();
        let Some(image) = at.and_then(|at| self.images.get(at)) else {
            return (0, page.0.into());
        };
        let file = self.firsts.partition_point(|first| first <= image);
        let first = file.checked_sub(1).and_then(|at| self.firsts.get(at));
        (file as u32, u64::from(image - first.copied().unwrap_or(0)))
    }

    /// Whether every page from `first` to below `end` has an image, and none behind that.
    pub(crate) fn covers_from(&self, first: u64, end: u64) -> bool {
        let from = self.pages.partition_point(|page| u64::from(*page) < first);
        let behind = self.pages.get(from..).unwrap_or_default();
        let count = end.saturating_sub(first);
        behind.len() as u64 == count && self.pages.last().is_none_or(|last| u64::from(*last) < end)
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, what.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pages_are_where_they_were_last_written(
            patches in prop::collection::vec(prop::collection::btree_set(0u32..40, 1..20), 0..6),
        ) {
            let mut shadow = Shadow::default();
            let (mut expected, mut counts) = (BTreeMap::new(), Vec::new());
            for (number, patch) in patches.iter().enumerate() {
                let pages: Vec<u32> = patch.iter().copied().collect();
                let map = shadow.extended(&pages);
                counts.push(pages.len() as u64);
                shadow = Shadow::new(&map, counts.iter().copied()).unwrap();
                for (unit, page) in pages.iter().enumerate() {
                    expected.insert(*page, (number as u32 + 1, unit as u64));
                }
            }
            for page in 0..41 {
                let place = expected.get(&page).copied().unwrap_or((0, page.into()));
                prop_assert_eq!(shadow.place(PageId(page)), place);
            }
            prop_assert!(!shadow.shares_images());
            for (first, end) in [(0, 40), (35, 40), (38, 39)] {
                let all = (first..end).all(|page| expected.contains_key(&(page as u32)));
                let none = expected.keys().all(|page| u64::from(*page) < end);
                prop_assert_eq!(shadow.covers_from(first, end), all && none);
            }
        }
    }

    #[test]
    fn maps_that_make_no_sense_are_refused() {
        let map = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        let read = |words: &[u32]| Shadow::new(&map(words), [2, 1].into_iter());
        assert!(read(&[4, 0, 7, 2]).is_ok());
        assert!(read(&[7, 0, 4, 1]).is_err());
        assert!(read(&[4, 0, 4, 1]).is_err());
        assert!(read(&[4, 3]).is_err());
        assert!(read(&[4]).is_err());
        assert!(Shadow::new(&[1, 2, 3], [2].into_iter()).is_err());
        assert!(Shadow::new(&[], [u64::MAX].into_iter()).is_err());
        assert!(read(&[4, 1, 7, 1]).unwrap().shares_images());
    }
}
