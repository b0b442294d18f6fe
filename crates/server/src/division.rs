//! How much memory the searches and the changes of each index of a collection have, and more of it
//! where that is too little.

use pageway::MemoryLack;

use crate::failure::Failure;

/// How the memory for changes is divided between flushes and merges, and rows that wait for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) enum UpdateParts {
    /// In halves.
    #[default]
    Usual,
    /// So that most rows wait where memory is little.
    Rows,
    /// So that long vectors are flushed.
    Flushes,
    /// As the index divides it, which works with the least.
    Least,
}

impl UpdateParts {
    /// That of flushes and merges, where the index does not choose it.
    const fn build_bytes(self, update: u64) -> Option<u64> {
        match self {
            Self::Usual => Some(update / 2),
            Self::Rows => Some(update * 6 / 8),
            Self::Flushes => Some(update * 7 / 8),
            Self::Least => None,
        }
    }
}

/// What the memory of a collection is too small for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lack {
    /// Rows that wait to be flushed, and their payloads.
    Rows,
    Other,
}

/// Memory of an index.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Share {
    /// Of its searches, bytes.
    pub(crate) search: u64,
    /// Of its changes.
    pub(crate) update: u64,
    pub(crate) parts: UpdateParts,
}

impl Share {
    /// All of it.
    pub(crate) const fn bytes(self) -> u64 {
        self.search + self.update
    }

    /// That of flushes and merges, where the index does not choose it.
    pub(crate) const fn build_bytes(self) -> Option<u64> {
        self.parts.build_bytes(self.update)
    }
}

/// Bounds of the memory of an index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Of its searches.
    pub(crate) search: u64,
    /// Of all of it, and what leaves room for another collection.
    pub(crate) room: u64,
    pub(crate) fair: u64,
}

impl Bounds {
    /// What is wished, as far as there is so much.
    pub(crate) fn clamp(self, wished: Share) -> Share {
        let search = wished.search.min(self.search);
        Share {
            search,
            update: wished.update.min(self.room.saturating_sub(search)),
            parts: wished.parts,
        }
    }

    /// More of what an index did not open for want of; none where there is no more.
    pub(crate) fn more(self, share: Share, failure: &Failure) -> Option<Share> {
        match failure.lack {
            Some(MemoryLack::Rows) => self.more_rows(share),
            Some(MemoryLack::Updates(_)) => self.more_for_updates(share),
            _ => (share.search < self.search).then(|| {
                let search = 2 * share.search;
                self.clamp(Share { search, ..share })
            }),
        }
    }

    /// More for updates, or other parts of it; none where there is no more.
    fn more_for_updates(self, share: Share) -> Option<Share> {
        let (limit, parts) = match share.parts {
            UpdateParts::Usual | UpdateParts::Rows => (self.fair, Some(UpdateParts::Flushes)),
            UpdateParts::Flushes => (self.room, Some(UpdateParts::Least)),
            UpdateParts::Least => (self.room, None),
        };
        let other = parts.map(|parts| Share { parts, ..share });
        more_update(share, limit).or(other)
    }

    /// More for rows that wait; none where there is no more.
    pub(crate) fn more_rows(self, share: Share) -> Option<Share> {
        if share.parts < UpdateParts::Rows {
            let parts = UpdateParts::Rows;
            return Some(Share { parts, ..share });
        }
        more_update(share, self.room)
    }

    /// More of what a collection lacks that is open, as far as there is more.
    pub(crate) fn more_of(self, share: Share, lack: Lack) -> Share {
        match lack {
            Lack::Rows => self.more_rows(share).unwrap_or(share),
            Lack::Other => self.clamp(Share {
                search: 2 * share.search,
                update: share.update + share.update / 4,
                ..share
            }),
        }
    }
}

/// More for changes, where both are less than a limit then.
fn more_update(share: Share, limit: u64) -> Option<Share> {
    let limit = limit.saturating_sub(share.search);
    (share.update < limit).then(|| Share {
        update: (share.update + share.update / 4 + 1).min(limit),
        ..share
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        search: 50,
        room: 100,
        fair: 80,
    };

    #[test]
    fn rows_get_more_until_there_is_no_more() {
        let mut share = BOUNDS.clamp(Share {
            search: 20,
            update: 40,
            parts: UpdateParts::default(),
        });
        assert_eq!(share.build_bytes(), Some(20));
        let mut updates = Vec::new();
        while let Some(more) = BOUNDS.more_rows(share) {
            share = more;
            updates.push(share.update);
        }
        assert_eq!(updates, [40, 51, 64, 80]);
        assert_eq!((share.bytes(), share.build_bytes()), (100, Some(60)));
        assert_eq!(BOUNDS.more_of(share, Lack::Rows), share);
    }

    #[test]
    fn each_lack_gets_its_own() {
        let share = Share {
            search: 20,
            update: 60,
            parts: UpdateParts::Usual,
        };
        let more = |lack, share| {
            let failure = Failure::wrong("");
            BOUNDS.more(share, &Failure { lack, ..failure })
        };
        let updates = |share| more(Some(MemoryLack::Updates(7)), share);
        let thin = updates(share).unwrap();
        let flushes = UpdateParts::Flushes;
        assert_eq!((thin.update, thin.parts), (60, flushes), "fair is enough");
        let more_of_it = updates(thin).unwrap();
        assert_eq!((more_of_it.update, more_of_it.parts), (76, flushes));
        let all = updates(more_of_it).unwrap();
        assert_eq!((all.update, all.parts), (80, flushes));
        let least = updates(all).unwrap();
        assert_eq!((least.update, least.build_bytes()), (80, None));
        assert_eq!(updates(least), None);
        let searches = more(None, share).unwrap();
        assert_eq!((searches.search, searches.update), (40, 60));
        let full = Share {
            search: 50,
            ..share
        };
        assert_eq!(more(None, full), None);
        let both = BOUNDS.more_of(share, Lack::Other);
        assert_eq!((both.search, both.update), (40, 60));
    }
}
