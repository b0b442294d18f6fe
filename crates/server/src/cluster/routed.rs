//! A request to the router, and the cluster that it is about.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::Method;
use pageway::server::clock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client::NodeClient;
use super::content::ShardContents;
use super::coverage::Missing;
use super::leaders::Leaders;
use super::map::{ClusterMap, RoutedCollection};
use super::pool::{NodePool, Patience};
use crate::collection::Schema;
use crate::failure::{Failure, Outcome};
use crate::room::AnswerRoom;

/// The nodes, and what is known of them.
pub(crate) struct Cluster {
    map: RwLock<Arc<ClusterMap>>,
    pool: Mutex<NodePool>,
    pub(super) client: NodeClient,
    /// Who leads partitions.
    leaders: Mutex<Leaders>,
    /// What nodes say that shards hold.
    contents: Mutex<ShardContents>,
    began: Instant,
    /// What collections are, by the version of the map that was asked about.
    schemas: Mutex<BTreeMap<String, (u64, Arc<Schema>)>>,
}

impl Cluster {
    /// The nodes of a map, of whom nothing is known yet.
    pub(super) fn new(map: ClusterMap, client: NodeClient, seed: u64) -> Self {
        let mut pool = NodePool::new(Patience::default(), seed);
        pool.set_nodes(map.nodes.keys().map(String::as_str), Duration::ZERO);
        Self {
            map: RwLock::new(Arc::new(map)),
            pool: Mutex::new(pool),
            client,
            leaders: Mutex::default(),
            contents: Mutex::default(),
            began: clock::now(),
            schemas: Mutex::default(),
        }
    }

    /// The time since it began.
    pub(super) fn now(&self) -> Duration {
        clock::now().saturating_duration_since(self.began)
    }

    /// The map of requests that begin now.
    pub(super) fn map(&self) -> Arc<ClusterMap> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Uses another map. Requests that have begun keep theirs.
    pub(super) fn set_map(&self, map: ClusterMap) {
        let now = self.now();
        let names = map.nodes.keys().map(String::as_str);
        self.pool().set_nodes(names, now);
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
    }

    /// What is known of nodes.
    pub(super) fn pool(&self) -> MutexGuard<'_, NodePool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of partitions.
    pub(super) fn leaders(&self) -> MutexGuard<'_, Leaders> {
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What nodes say that shards hold.
    pub(super) fn contents(&self) -> MutexGuard<'_, ShardContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn schemas(&self) -> MutexGuard<'_, BTreeMap<String, (u64, Arc<Schema>)>> {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request.
pub(super) struct RoutedCall<'c> {
    pub(super) cluster: &'c Arc<Cluster>,
    pub(super) map: Arc<ClusterMap>,
    /// Names in the path, decoded.
    pub(super) path: &'c [(String, String)],
    pub(super) body: &'c [u8],
    /// When its time is up, since the router began.
    pub(super) deadline: Duration,
    pub(super) room: &'c Arc<AnswerRoom>,
    /// Whether a change is to be called completed.
    pub(super) waits: bool,
    /// Whether an answer without some shards is one.
    pub(super) allows_part: bool,
    /// Shards that did not answer.
    pub(super) missing: Mutex<Missing>,
    /// How shards searched, where that is asked for.
    pub(super) explained: Mutex<Vec<Value>>,
}

/// What all shards are asked.
pub(super) struct ShardQuestion {
    /// The name of the operation.
    pub(super) operation: &'static str,
    pub(super) method: Method,
    /// What follows the name of the collection in the path.
    pub(super) path: Cow<'static, str>,
    pub(super) body: Bytes,
}

impl ShardQuestion {
    /// A question with a body.
    pub(super) fn post(
        operation: &'static str,
        path: &'static str,
        body: &impl Serialize,
    ) -> Outcome<Self> {
        let body = serde_json::to_vec(body).map_err(Failure::internal)?;
        Ok(Self {
            operation,
            method: Method::POST,
            path: path.into(),
            body: body.into(),
        })
    }
}

impl RoutedCall<'_> {
    /// A name of the path.
    pub(super) fn name(&self, of: &str) -> &str {
        let found = self.path.iter().find(|(name, _)| name == of);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The body, read as JSON.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Outcome<T> {
        let body = match self.body.trim_ascii() {
            b"" => b"{}",
            own => own,
        };
        serde_json::from_slice(body).map_err(Failure::format)
    }

    /// A collection of the map.
    pub(super) fn collection(&self, name: &str) -> Outcome<&RoutedCollection> {
        crate::registry::check_name(name)?;
        let found = self.map.collections.get(name);
        found.ok_or_else(|| Failure::no_collection(name))
    }

    /// What a collection is, as one of its shards says.
    pub(super) async fn schema(&self, name: &str) -> Outcome<Arc<Schema>> {
        let version = self.map.version;
        let known = self.cluster.schemas().get(name).cloned();
        if let Some((_, schema)) = known.filter(|(of, _)| *of == version) {
            return Ok(schema);
        }
        let answers = self.describe(name).await?;
        let config = answers.first().and_then(|(_, own)| own.get("config"));
        let none = || Failure::internal("a shard that does not say what it is");
        let schema = Arc::new(Schema::of(config.ok_or_else(none)?)?);
        let mut schemas = self.cluster.schemas();
        schemas.insert(name.to_owned(), (version, Arc::clone(&schema)));
        Ok(schema)
    }

    /// What shards say that they are.
    pub(super) async fn describe(&self, name: &str) -> Outcome<Vec<(usize, Value)>> {
        let question = ShardQuestion {
            operation: "get_collection",
            method: Method::GET,
            path: "".into(),
            body: Bytes::new(),
        };
        self.gather(self.collection(name)?, &question).await
    }

    /// The shards that did not answer so far.
    pub(super) fn missing(&self) -> MutexGuard<'_, Missing> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What shards said of how they searched.
    pub(super) fn explained(&self) -> MutexGuard<'_, Vec<Value>> {
        self.explained
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What to say where something was not found: that it is not there, or that nobody knows.
    pub(super) fn absent(&self, failure: Failure) -> Failure {
        let missing = self.missing();
        if missing.is_none() {
            failure
        } else {
            missing.failure()
        }
    }
}
