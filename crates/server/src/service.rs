//! What a server serves: collections by their names, within one budget.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pageway::{OsVfs, Vfs};

use crate::collection::{OpenCollection, Schema, recall_of};
use crate::failure::{Failure, Outcome};
use crate::metrics::Metrics;
use crate::registry::{CollectionEntry, Registry};
use crate::room::RequestMemory;
use crate::sampling::RecallSamples;
use crate::shelf::{Shelf, Wanted};
use crate::slow::SlowQueries;
use crate::snapshot::SnapshotFolder;

/// What a server is given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ServiceOptions {
    /// Memory of all collections together, and of requests and answers, in bytes.
    pub memory: u64,
    /// Searches at the same time.
    pub threads: usize,
    /// Recall where neither a query nor its collection asks for one.
    pub recall: f32,
    /// Requests that take longer are told of.
    pub slow: Duration,
}

/// Part of the memory that is for requests: their bodies and their answers.
const REQUEST_PART: u64 = 8;

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
    /// Memory of bodies and of answers.
    pub(crate) requests: RequestMemory,
    /// Its name, where it is a node of a cluster.
    pub(crate) node: Option<String>,
}

impl Service {
    /// Opens a directory of collections, making it where it is not there.
    ///
    /// # Errors
    /// 503 where another server has it; as files are.
    pub fn open(dir: &Path, options: ServiceOptions) -> Outcome<Self> {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let request_bytes = options.memory / REQUEST_PART;
        Ok(Self {
            registry: Registry::open(&vfs, dir)?,
            snapshots: SnapshotFolder::open(&vfs, dir)?,
            shelf: Shelf::new(options.memory - request_bytes, options.threads),
            metrics: Metrics::default(),
            recall: options.recall,
            recall_samples: RecallSamples::default(),
            slow: options.slow,
            slow_queries: SlowQueries::default(),
            requests: RequestMemory::new(request_bytes),
            node: None,
        })
    }

    /// The same as a node of a cluster: it tells how much of a shard it has, and changes none.
    #[must_use]
    pub fn as_node(mut self, name: String) -> Self {
        self.node = Some(name);
        self
    }

    /// Refuses changes of points where it is a node.
    pub(crate) fn check_changes(&self) -> Outcome<()> {
        match &self.node {
            None => Ok(()),
            Some(_) => Err(Failure::is_node()),
        }
    }

    /// Refuses to answer as another node, or for a shard of which it has less than so many changes.
    pub(crate) fn check_shard(&self, node: &str, (shard, least): (&str, u64)) -> Outcome<()> {
        if self.node.as_deref() != Some(node) {
            let own = self.node.as_deref().unwrap_or("no node");
            return Err(Failure::behind(format_args!("this server is {own}")));
        }
        let absent = |_| Failure::behind(format_args!("{node} does not have {shard}"));
        let (name, entry) = self.entry(shard).map_err(absent)?;
        let own = self.open_entry(&name, &entry)?.sequence()?;
        if own >= least {
            return Ok(());
        }
        Err(Failure::behind(format_args!(
            "{node} has {shard} up to change {own}, and {least} is asked for"
        )))
    }

    /// Makes everything durable and closes all collections.
    ///
    /// # Errors
    /// As the disk is. What was acknowledged is durable anyway.
    pub fn close(&self) -> Outcome<()> {
        self.shelf.close_all()
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
        let schema = Schema::of(&entry.config)?;
        self.shelf.get(&self.wanted(name, entry, &schema))
    }

    /// Opens a collection with twice the memory, as [`Shelf::grow`] does.
    pub(crate) fn grow(
        &self,
        name: &str,
        entry: &CollectionEntry,
        unused_since: u64,
    ) -> Outcome<bool> {
        let schema = Schema::of(&entry.config)?;
        let wanted = self.wanted(name, entry, &schema);
        self.shelf.grow(&wanted, unused_since)
    }

    fn wanted<'w>(
        &'w self,
        name: &'w str,
        entry: &CollectionEntry,
        schema: &'w Schema,
    ) -> Wanted<'w> {
        Wanted {
            registry: &self.registry,
            name,
            number: entry.number,
            schema,
            is_new: false,
        }
    }

    /// The recall of searches of a collection that ask for none.
    pub(crate) fn recall_of(&self, name: &str) -> f32 {
        let names = self.registry.names();
        let own = names.resolve(name).ok();
        let own = own.and_then(|(_, entry)| recall_of(&entry.config));
        own.unwrap_or(self.recall)
    }
}
