//! Numbers that must not be mistaken for each other: each counts one kind of thing, from 0.

use serde::{Deserialize, Serialize};

/// A number of one kind.
pub trait Number: Copy + Eq + Ord {
    /// The number without its kind.
    fn number(self) -> u32;

    /// A number of this kind.
    fn of(number: u32) -> Self;
}

macro_rules! numbers {
    ($($(#[$text:meta])* $name:ident;)*) => {$(
        $(#[$text])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index into memory.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Number for $name {
            #[inline]
            fn number(self) -> u32 {
                self.0
            }

            #[inline]
            fn of(number: u32) -> Self {
                Self(number)
            }
        }
    )*};
}

numbers! {
    /// A vector inside a segment, as lists name it: dense, `0..node_count`.
    NodeId;
    /// A page of one file, counted behind the header page.
    PageId;
    /// A row of the vectors that a build takes.
    RowId;
    /// A cluster of nodes of a segment.
    ClusterId;
    /// A group of clusters.
    GroupId;
    /// Where a row or a code lies in a table in memory.
    Place;
}
