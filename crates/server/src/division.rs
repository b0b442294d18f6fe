//! How much memory the searches and the changes of each index of a collection have, and more of it
//! where that is too little.

use crate::failure::Failure;

/// Eighths of the memory for changes that flushes and merges have at first; those that let most
/// rows wait where memory is little; and those that flush long vectors.
const USUAL_EIGHTHS: u64 = 4;
const ROWS_EIGHTHS: u64 = 6;
const MOST_EIGHTHS: u64 = 7;

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
    /// Eighths of that for flushes and merges; the others are for rows that wait.
    pub(crate) eighths: u64,
}

impl Share {
    /// All of it.
    pub(crate) const fn bytes(self) -> u64 {
        self.search + self.update
    }

    /// That of flushes and merges.
    pub(crate) const fn build_bytes(self) -> u64 {
        self.update * self.eighths / 8
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
            eighths: wished.eighths.max(USUAL_EIGHTHS),
        }
    }

    /// More of what an index did not open for want of; none where there is no more.
    pub(crate) fn more(self, share: Share, failure: &Failure) -> Option<Share> {
        if failure.lacks_room() {
            return self.more_rows(share);
        }
        if !failure.lacks_update_memory() {
            return (share.search < self.search).then(|| {
                let search = 2 * share.search;
                self.clamp(Share { search, ..share })
            });
        }
        let is_thin = share.eighths == MOST_EIGHTHS;
        let limit = if is_thin { self.room } else { self.fair };
        let eighths = MOST_EIGHTHS;
        let other = (!is_thin).then_some(Share { eighths, ..share });
        more_update(share, limit).or(other)
    }

    /// More for rows that wait; none where there is no more.
    pub(crate) fn more_rows(self, share: Share) -> Option<Share> {
        if share.eighths < ROWS_EIGHTHS {
            let eighths = ROWS_EIGHTHS;
            return Some(Share { eighths, ..share });
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
            eighths: 0,
        });
        assert_eq!(share.build_bytes(), 20);
        let mut updates = Vec::new();
        while let Some(more) = BOUNDS.more_rows(share) {
            share = more;
            updates.push(share.update);
        }
        assert_eq!(updates, [40, 51, 64, 80]);
        assert_eq!((share.bytes(), share.build_bytes()), (100, 60));
        assert_eq!(BOUNDS.more_of(share, Lack::Rows), share);
    }

    #[test]
    fn each_lack_gets_its_own() {
        let share = Share {
            search: 20,
            update: 60,
            eighths: 4,
        };
        let more = |words: &str, share| BOUNDS.more(share, &Failure::wrong(words));
        let thin = more("memory for updates", share).unwrap();
        assert_eq!((thin.update, thin.eighths), (60, 7), "fair is enough");
        let all = more("memory for updates", thin).unwrap();
        assert_eq!(
            (all.update, more("memory for updates", all)),
            (76, Some(Share { update: 80, ..all }))
        );
        let searches = more("searches", share).unwrap();
        assert_eq!((searches.search, searches.update), (40, 60));
        assert_eq!(
            more(
                "searches",
                Share {
                    search: 50,
                    ..share
                }
            ),
            None
        );
        let both = BOUNDS.more_of(share, Lack::Other);
        assert_eq!((both.search, both.update), (40, 60));
    }
}
