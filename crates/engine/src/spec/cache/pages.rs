//! Which pages a cache keeps.

use serde::{Deserialize, Serialize};

use crate::spec::Sizes;
use crate::spec::policy::{Choice, Subject, Words};

/// Which pages are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PageCacheSpec {
    /// None.
    None,
    /// Those of the selection, for good.
    Hot,
    /// Those used last.
    Lru,
    /// Those used lately, by second chance.
    Clock,
}

/// Which pages are cached.
pub const PAGE_CACHES: [PageCacheSpec; 4] = [
    PageCacheSpec::None,
    PageCacheSpec::Hot,
    PageCacheSpec::Lru,
    PageCacheSpec::Clock,
];

impl PageCacheSpec {
    /// Whether no page is kept.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether pages of the selection are kept for good.
    pub const fn is_hot(self) -> bool {
        matches!(self, Self::Hot)
    }

    /// Whether what is kept follows from earlier queries.
    pub const fn learns(self) -> bool {
        matches!(self, Self::Lru | Self::Clock)
    }
}

impl Choice for PageCacheSpec {
    const ABOUT: &str = "Which pages are cached: none, hot, lru or clock";

    fn known(_: &Sizes) -> Vec<Self> {
        PAGE_CACHES.to_vec()
    }

    fn words(self, _: &Subject<'_>) -> Words {
        match self {
            Self::None => Words::new(
                "No pages are kept between queries.",
                "No memory; a page that is wanted again is read again.",
            ),
            Self::Hot => Words::new(
                "Memory that is left over holds the pages that walks need most, loaded when the \
                 index is opened.",
                "A page of memory per page; opening reads them.",
            ),
            Self::Lru => Words::new(
                "Memory that is left over holds the pages that were used last, for all queries.",
                "A page of memory per page; the first queries find none.",
            ),
            Self::Clock => Words::new(
                "Memory that is left over holds pages that were used lately, by second chance, for \
                 all queries.",
                "A page of memory per page; the first queries find none.",
            ),
        }
    }
}
