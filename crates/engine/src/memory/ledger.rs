//! The ledger: parts of an index reserve their bytes in it before they allocate them.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{format_budget, format_bytes};
use crate::error::{Error, Result};

/// A part of what an index holds in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryPart {
    /// Codes of nodes.
    Codes,
    /// Quantizers.
    Codebook,
    /// Further codes of nodes.
    SecondCodes,
    /// What finds where walks start.
    Entry,
    /// Row and user id of each node.
    Identities,
    /// Adjacency lists that a form of a design is not chosen without.
    Lists,
    /// The least that searches with.
    OneQuery,
    /// Buffers of further queries in flight.
    MoreQueries,
    /// The cache of nodes.
    CachedNodes,
    /// The cache of pages.
    CachedPages,
    /// Which pages have newer images, and where.
    Patches,
    /// What was deleted from segments.
    Dead,
    /// What predicates are turned into nodes with.
    Filters,
    /// Queries that were asked lately.
    RecentQueries,
    /// Everything that changes take, where an index was opened to be changed.
    Updates,
}

impl MemoryPart {
    /// Words for messages and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Codes => "codes",
            Self::Codebook => "codebook",
            Self::SecondCodes => "second codes",
            Self::Entry => "entry",
            Self::Identities => "identities",
            Self::Lists => "lists",
            Self::OneQuery => "one query",
            Self::MoreQueries => "more queries in flight",
            Self::CachedNodes => "cached nodes",
            Self::CachedPages => "cached pages",
            Self::Patches => "patches",
            Self::Dead => "dead rows",
            Self::Filters => "filters",
            Self::RecentQueries => "recent queries",
            Self::Updates => "updates",
        }
    }
}

impl fmt::Display for MemoryPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for MemoryPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Accounts for a budget: each part reserves before it allocates.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    budget: u64,
    /// In the order in which they were first reserved, each part once.
    entries: Vec<(MemoryPart, u64)>,
}

impl Ledger {
    /// A ledger over `budget` bytes.
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            budget,
            entries: Vec::new(),
        }
    }

    /// The whole budget.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes reserved so far.
    pub(crate) fn reserved(&self) -> u64 {
        self.entries.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Bytes still free.
    pub(crate) fn free(&self) -> u64 {
        self.budget.saturating_sub(self.reserved())
    }

    /// Bytes reserved for one of `parts`.
    pub(crate) fn reserved_for(&self, parts: &[MemoryPart]) -> u64 {
        let own = self.entries.iter().filter(|(part, _)| parts.contains(part));
        own.map(|(_, bytes)| bytes).sum()
    }

    /// What was reserved, by part, in order.
    pub(crate) fn entries(&self) -> &[(MemoryPart, u64)] {
        &self.entries
    }

    /// Notes `bytes` more for `part`; `settle` checks the sum once every part that must fit is
    /// known.
    pub(crate) fn reserve(&mut self, part: MemoryPart, bytes: u64) {
        match self.entries.iter_mut().find(|(own, _)| *own == part) {
            Some((_, sum)) => *sum += bytes,
            None => self.entries.push((part, bytes)),
        }
    }

    /// Refuses the budget when the reservations exceed it, and names the smallest that works.
    ///
    /// # Errors
    /// `InvalidInput` with each part's bytes.
    pub(crate) fn settle(&self, purpose: &str) -> Result<()> {
        let needed = self.reserved();
        if needed <= self.budget {
            return Ok(());
        }
        let parts: Vec<String> = self
            .entries
            .iter()
            .map(|(part, bytes)| format!("{part} {}", format_bytes(*bytes)))
            .collect();
        Err(Error::invalid(format!(
            "a memory budget of {} is too small for {purpose}; the smallest that works is \
             {needed} B ({}): {}",
            format_budget(self.budget),
            format_bytes(needed),
            parts.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_the_smallest_budget_and_that_budget_works() {
        let mut ledger = Ledger::new(10);
        ledger.reserve(MemoryPart::Codes, 8);
        assert!(ledger.settle("searching").is_ok());
        ledger.reserve(MemoryPart::OneQuery, 7);
        let error = ledger.settle("searching").unwrap_err();
        assert!(
            error.context().contains("smallest that works is 15 B"),
            "{error}"
        );
        let enough = Ledger {
            budget: 15,
            entries: ledger.entries.clone(),
        };
        assert!(enough.settle("searching").is_ok());
        assert_eq!(enough.free(), 0);
    }
}
