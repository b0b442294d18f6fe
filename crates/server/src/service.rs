//! What a server serves: collections by their names, within one budget.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pageway::{OsVfs, Vfs};

use crate::collection::{OpenCollection, Schema};
use crate::failure::Outcome;
use crate::metrics::Metrics;
use crate::registry::{CollectionEntry, Registry};
use crate::sampling::RecallSamples;
use crate::shelf::{Shelf, Wanted};
use crate::slow::SlowQueries;
use crate::snapshot::SnapshotFolder;

/// What a server is given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServiceOptions {
    /// Memory of all collections together, and of the bodies of requests, in bytes.
    pub memory: u64,
    /// Searches at the same time.
    pub threads: usize,
    /// Recall where a query asks for none.
    pub recall: f32,
    /// Requests that take longer are told of.
    pub slow: Duration,
}

/// Part of the memory that is for the bodies of requests.
const BODY_PART: u64 = 8;

/// Collections of a directory, open to requests of many threads.
pub struct Service {
    pub(crate) registry: Registry,
    pub(crate) shelf: Shelf,
    pub(crate) snapshots: SnapshotFolder,
    pub(crate) metrics: Metrics,
    pub(crate) recall: f32,
    pub(crate) recall_samples: RecallSamples,
    pub(crate) slow: Duration,
    pub(crate) slow_queries: SlowQueries,
    body_bytes: u64,
}

impl Service {
    /// Opens a directory of collections, making it where it is not there.
    ///
    /// # Errors
    /// 503 where another server has it; as files are.
    pub fn open(dir: &Path, options: ServiceOptions) -> Outcome<Self> {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let body_bytes = options.memory / BODY_PART;
        Ok(Self {
            registry: Registry::open(&vfs, dir)?,
            snapshots: SnapshotFolder::open(&vfs, dir)?,
            shelf: Shelf::new(options.memory - body_bytes, options.threads),
            metrics: Metrics::default(),
            recall: options.recall,
            recall_samples: RecallSamples::default(),
            slow: options.slow,
            slow_queries: SlowQueries::default(),
            body_bytes,
        })
    }

    /// Makes everything durable and closes all collections.
    ///
    /// # Errors
    /// As the disk is. What was acknowledged is durable anyway.
    pub fn close(&self) -> Outcome<()> {
        self.shelf.close_all()
    }

    /// Memory of the bodies of all requests together.
    pub(crate) const fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The settings of a collection, by its name or an alias.
    pub(crate) fn entry(&self, name: &str) -> Outcome<(String, CollectionEntry)> {
        crate::registry::check_name(name)?;
        let names = self.registry.names();
        let (name, entry) = names.resolve(name)?;
        Ok((name.to_owned(), entry.clone()))
    }

    /// A collection, opened if need be, by its name or an alias.
    pub(crate) fn collection(&self, name: &str) -> Outcome<Arc<OpenCollection>> {
        let (name, entry) = self.entry(name)?;
        self.open_entry(&name, &entry)
    }

    /// The same, where its settings are known.
    pub(crate) fn open_entry(
        &self,
        name: &str,
        entry: &CollectionEntry,
    ) -> Outcome<Arc<OpenCollection>> {
        self.shelf.get(&Wanted {
            registry: &self.registry,
            name,
            number: entry.number,
            schema: &Schema::of(&entry.config)?,
        })
    }
}
