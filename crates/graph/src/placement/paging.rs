//! How an order of nodes is cut into pages.

use std::ops::Range;

/// Nodes of a page, and where the first page begins.
///
/// ```text
/// 3 nodes per page, 2 places taken:   . . 4 | 7 0 9 | 3 1      a page begins before this order
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paging {
    /// Nodes of a full page, at least 1.
    pub nodes_per_page: u32,
    /// Places of the first page that nodes before this order have, fewer than a page has.
    pub taken: u32,
}

impl Paging {
    /// Pages that begin with the first node.
    pub const fn whole(nodes_per_page: u32) -> Self {
        Self {
            nodes_per_page,
            taken: 0,
        }
    }

    /// The same for the nodes behind the first `count`.
    #[must_use]
    pub fn behind(self, count: u64) -> Self {
        let per_page = u64::from(self.nodes_per_page.max(1));
        Self {
            taken: ((u64::from(self.taken) + count) % per_page) as u32,
            ..self
        }
    }

    /// Pages of `count` nodes.
    pub(crate) const fn pages(self, count: u32) -> u32 {
        (self.taken + count).div_ceil(self.nodes_per_page)
    }

    /// The page of the node at a place of the order.
    pub(crate) const fn page_at(self, place: usize) -> u32 {
        ((place + self.taken as usize) / self.nodes_per_page as usize) as u32
    }

    /// The places of the order of `count` nodes that are on a page.
    pub(crate) fn places(self, page: u32, count: usize) -> Range<usize> {
        let (per_page, taken) = (self.nodes_per_page as usize, self.taken as usize);
        let first = page as usize * per_page;
        let end = (first + per_page).saturating_sub(taken).min(count);
        first.saturating_sub(taken).min(end)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_pages_agree() {
        for (per_page, taken, count) in [(3, 2, 6), (3, 0, 7), (5, 4, 1), (4, 3, 0), (2, 1, 9)] {
            let paging = Paging {
                nodes_per_page: per_page,
                taken,
            };
            let pages = paging.pages(count as u32);
            let mut next = 0;
            for page in 0..pages {
                let places = paging.places(page, count);
                assert_eq!(places.start, next);
                next = places.end;
                assert!(
                    places
                        .into_iter()
                        .all(|place| paging.page_at(place) == page)
                );
            }
            assert_eq!(next, count);
        }
        let paging = Paging::whole(5).behind(13);
        assert_eq!((paging.taken, paging.behind(2).taken), (3, 0));
    }
}
