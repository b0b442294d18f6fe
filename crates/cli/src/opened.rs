//! What an open index is like: how it reads and what it holds. The names of the fields are stable
//! keys of `--json`.

use pageway::{BackendReport, Index, MemoryReport, format_bytes};
use serde::Serialize;

use crate::text::{self, Facts};

/// All of it.
#[derive(Serialize)]
pub(crate) struct Opened {
    io_backend: &'static str,
    io_reason: String,
    /// Whether reads bypass the page cache.
    io_direct: bool,
    memory_budget_bytes: u64,
    /// Nodes whose record or list is cached.
    cached_nodes: usize,
    cached_pages: usize,
    /// Bits per neighbour in cached lists, with what finds them; null where none are.
    cached_edge_bits: Option<f64>,
    /// Highest resident set of the process so far; null where the system does not tell.
    peak_memory_bytes: Option<u64>,
}

impl Opened {
    pub(crate) fn new(index: &Index) -> Self {
        let BackendReport {
            io_backend,
            reason,
            direct,
            ..
        } = index.backend();
        let MemoryReport {
            budget_bytes,
            cached_nodes,
            cached_pages,
            cached_edge_bits,
            ..
        } = index.memory();
        Self {
            io_backend,
            io_reason: reason,
            io_direct: direct,
            memory_budget_bytes: budget_bytes,
            cached_nodes,
            cached_pages,
            cached_edge_bits,
            peak_memory_bytes: pageway::lab::peak_memory_bytes(),
        }
    }

    /// Adds it for people; `more` follows the memory.
    pub(crate) fn add_to(&self, facts: Facts, more: &str) -> Facts {
        facts
            .fact("reads by", self.describe_reads())
            .fact("memory", self.describe_memory() + more)
            .known("cached", self.describe_cached())
    }

    fn describe_reads(&self) -> String {
        let through = if self.io_direct {
            ""
        } else {
            "; through the page cache"
        };
        format!("{} ({}){through}", self.io_backend, self.io_reason)
    }

    fn describe_memory(&self) -> String {
        let budget = format_bytes(self.memory_budget_bytes);
        let peak = self.peak_memory_bytes.map_or(String::new(), |peak| {
            format!("; the whole process peaked at {}", format_bytes(peak))
        });
        format!("budget {budget}{peak}")
    }

    /// What is cached, where anything is.
    fn describe_cached(&self) -> Option<String> {
        let counted = |number: usize, what: &str| {
            (number > 0).then(|| format!("{} {what}", text::count(number as u64)))
        };
        let nodes = counted(self.cached_nodes, "nodes").map(|nodes| match self.cached_edge_bits {
            Some(bits) => format!("lists of {nodes}, {bits:.1} bits per neighbour"),
            None => nodes,
        });
        let pages = counted(self.cached_pages, "pages");
        let parts: Vec<String> = nodes.into_iter().chain(pages).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
