//! What a server serves: collections by their names, within one budget.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pageway::{OsVfs, Vfs};
use pageway_object::open_url;
use serde_json::Value;

use crate::cluster::{ShardNeed, is_plain};
use crate::collection::{OpenCollection, Schema, recall_of};
use crate::failure::{Failure, Outcome};
use crate::metrics::Metrics;
use crate::partition::{Replica, ReplicaOptions, read_position};
use crate::registry::{CollectionEntry, Registry};
use crate::remote::RemoteShard;
use crate::room::RequestMemory;
use crate::sampling::RecallSamples;
use crate::shelf::{Shelf, Wanted};
use crate::slow::SlowQueries;
use crate::snapshot::{SnapshotEntry, SnapshotFolder, SnapshotHead};

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
    /// What the latency of searches is to stay within while collections change, if anything.
    pub latency_target: Option<Duration>,
}

/// Part of the memory that is for requests: their bodies and their answers.
const REQUEST_PART: u64 = 8;

/// Memory of a server whose collections have so many bytes, in whole megabytes.
pub(crate) fn memory_for(collections: u64) -> u64 {
    let whole = collections
        .div_ceil(REQUEST_PART - 1)
        .saturating_mul(REQUEST_PART);
    whole.div_ceil(1 << 20) << 20
}

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
    /// Collections whose history lies in an object store, by name.
    pub(crate) partitions: BTreeMap<String, Arc<Replica>>,
    /// Collections that are indexes in object storage, by name.
    remote: BTreeMap<String, RemoteShard>,
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
            shelf: Shelf::new(
                options.memory - request_bytes,
                options.threads,
                options.latency_target,
            ),
            metrics: Metrics::default(),
            recall: options.recall,
            recall_samples: RecallSamples::default(),
            slow: options.slow,
            slow_queries: SlowQueries::default(),
            requests: RequestMemory::new(request_bytes),
            node: None,
            partitions: BTreeMap::new(),
            remote: BTreeMap::new(),
        })
    }

    /// The same as a node of a cluster: it tells how much of a shard it has, and changes none but
    /// those of partitions that it leads.
    #[must_use]
    pub fn as_node(mut self, name: String) -> Self {
        self.node = Some(name);
        self
    }

    /// The same with a partition, whose history lies below the URL of a store, and which it leads
    /// for a term at a time where no other node does.
    ///
    /// # Errors
    /// 422 where it is no name of a partition; as stores and files are.
    pub fn with_partition(
        mut self,
        name: &str,
        (store, options): (&str, ReplicaOptions),
    ) -> Outcome<Self> {
        crate::registry::check_name(name)?;
        if !name.bytes().all(is_plain) {
            let words = "letters, digits, `-`, `_` and `.` make the name of a partition";
            return Err(Failure::invalid_parameter("partition", words));
        }
        let objects = open_url(&format!("{}/{name}", store.trim_end_matches('/')));
        let objects = objects.map_err(|error| Failure::wrong(format_args!("{store}: {error}")))?;
        let node = self.node.as_deref().unwrap_or_default();
        let replica = Replica::new(objects, (name, node), options);
        if let Ok((_, entry)) = self.entry(name) {
            let dir = self.registry.dir_of(entry.number);
            replica.resume(read_position(self.registry.vfs().as_ref(), &dir)?);
        }
        self.partitions.insert(name.to_owned(), Arc::new(replica));
        Ok(self)
    }

    /// The same with a collection that is an index in object storage, and does not change.
    ///
    /// # Errors
    /// 409 where another collection has the name; 400 for an index that is no collection; as
    /// stores are.
    pub fn with_shard(mut self, name: &str, shard: RemoteShard) -> Outcome<Self> {
        crate::registry::check_name(name)?;
        if self.partitions.contains_key(name) || self.remote.contains_key(name) {
            return Err(Failure::conflict(format_args!("{name} is given twice")));
        }
        let registry = &self.registry;
        let turn = registry.turn();
        registry.change(&turn, |names| {
            let known = names.collections.get(name);
            if known.is_some_and(|known| known.url.is_none()) || names.aliases.contains_key(name) {
                let words = format!("{name} is a collection of the directory already");
                return Err(Failure::conflict(words));
            }
            let number = match known {
                Some(known) => known.number,
                None => names.reserve(),
            };
            names
                .collections
                .insert(name.to_owned(), shard.entry(number)?);
            Ok(())
        })?;
        drop(turn);
        self.remote.insert(name.to_owned(), shard);
        Ok(self)
    }

    /// The same without collections of object storage that it was given before and is not now.
    ///
    /// # Errors
    /// As files are.
    pub fn without_other_shards(self) -> Outcome<Self> {
        let turn = self.registry.turn();
        self.registry.change(&turn, |names| {
            let is_there = |name: &String| self.remote.contains_key(name);
            names
                .collections
                .retain(|name, entry| entry.url.is_none() || is_there(name));
            Ok(())
        })?;
        drop(turn);
        Ok(self)
    }

    /// Refuses changes of points that this server does not make: those of a node which are not of a
    /// partition that it leads, or do not come from a router.
    pub(crate) fn check_changes(&self, (name, is_routed): (&str, bool)) -> Outcome<()> {
        match (&self.node, self.partitions.get(name)) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(Failure::is_node()),
            (Some(_), Some(_)) if !is_routed => Err(Failure::not_routed(name)),
            (Some(_), Some(replica)) => replica.check_leads(),
        }
    }

    /// Refuses what would put another history in place of that of a partition.
    pub(crate) fn check_history(&self, name: &str) -> Outcome<()> {
        let names = self.registry.names();
        let own = names.aliases.get(name).map_or(name, String::as_str);
        if self.partitions.contains_key(own) {
            return Err(Failure::is_partition(own));
        }
        if self.remote.contains_key(own) {
            return Err(Failure::is_fixed());
        }
        Ok(())
    }

    /// Refuses to answer as another node, or for a shard of which it has less than so many changes.
    /// One that is about to be made need not be there.
    pub(crate) fn check_shard(&self, need: &ShardNeed, shard: &str, is_made: bool) -> Outcome<()> {
        let (node, least) = (need.node.as_str(), need.least);
        if self.node.as_deref() != Some(node) {
            let own = self.node.as_deref().unwrap_or("no node");
            return Err(Failure::behind(format_args!("this server is {own}")));
        }
        let absent = || Failure::behind(format_args!("{node} does not have {shard}"));
        if let Some(replica) = self.partitions.get(shard) {
            if is_made {
                return Ok(());
            }
            self.entry(shard).map_err(|_| absent())?;
            return replica.check_read(least);
        }
        let (name, entry) = self.entry(shard).map_err(|_| absent())?;
        let own = self.open_entry(&name, &entry)?.sequence()?;
        if own < least {
            return Err(Failure::behind(format_args!(
                "{node} has {shard} up to change {own}, and {least} is asked for"
            )));
        }
        let has = entry.content.filter(|has| has.sequence == own);
        match (has, &need.content) {
            (Some(has), Some(asked)) if has.differs(asked) => Err(Failure::behind(format_args!(
                "{node} has another {shard} with change {own} than is asked for"
            ))),
            _ => Ok(()),
        }
    }

    /// Makes a collection, and opens it.
    ///
    /// # Errors
    /// 409 where there is one; 400 for settings that it cannot have; 507 where it does not open for
    /// want of memory.
    pub(crate) fn make_collection(&self, name: &str, config: Value) -> Outcome<()> {
        let schema = Schema::of(&config)?;
        let registry = &self.registry;
        let turn = registry.turn();
        let names = registry.names();
        if names.aliases.contains_key(name) {
            let words = format!("Can't create collection with name {name}: an alias has that name");
            return Err(Failure::wrong(words));
        }
        if names.collections.contains_key(name) {
            let words = format!("Collection `{name}` already exists!");
            return Err(Failure::conflict(words));
        }
        registry.change(&turn, |names| {
            let number = names.add(name, config);
            let dir = registry.dir_of(number);
            // What an attempt that failed has left there is of no use.
            self.shelf.forget(number);
            registry.remove_files(number)?;
            OpenCollection::create(registry.vfs(), &dir, &schema)?;
            let opened = self.shelf.get(&Wanted {
                registry,
                name,
                number,
                schema: &schema,
                is_new: true,
                remote: None,
            });
            opened.map(drop).inspect_err(|_| {
                self.shelf.forget(number);
                // What stays of it goes when the number is given again.
                let _ = registry.remove_files(number);
            })
        })
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
        let open = self.shelf.get(&self.wanted(name, entry, &schema))?;
        if let Some(replica) = self.partitions.get(name) {
            open.share(replica);
        }
        Ok(open)
    }

    /// Makes an archive of a collection, by its name or an alias, in the folder of archives.
    pub(crate) fn archive(&self, name: &str) -> Outcome<SnapshotEntry> {
        let (name, entry) = self.entry(name)?;
        let open = self.open_entry(&name, &entry)?;
        let indexes = Schema::of(&entry.config)?.dense.len().max(1);
        let head = SnapshotHead::new(entry.config, entry.payload_schema, indexes);
        self.snapshots
            .create((&name, &head), |dir| open.copy_into(dir))
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

    /// Divides the memory of a collection again, as [`Shelf::divide_again`] does.
    pub(crate) fn divide_again(&self, name: &str, entry: &CollectionEntry) -> Outcome<bool> {
        let schema = Schema::of(&entry.config)?;
        self.shelf.divide_again(&self.wanted(name, entry, &schema))
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
            remote: self.remote.get(name),
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
