//! From a request to the router to its answer: the route, the key, the body, the envelope.

use std::path::Path as FilePath;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::routing::get;
use pageway::server::clock;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::client::NodeClient;
use super::map::ClusterMap;
use super::routed::{Cluster, RoutedCall};
use super::watch::watch;
use crate::collection::SearchTotal;
use crate::failure::{Failure, Outcome};
use crate::http::{Keys, answer, parameters, receive, with_operations, words};
use crate::log::{Level, Log};
use crate::metrics::{Metrics, MetricsPage};
use crate::operation::{Access, Operation, Parameters, Reply};
use crate::room::{AnswerRoom, RequestMemory};

/// Requests at the same time; one more is refused.
const MOST_REQUESTS: usize = 512;
/// The path of what the router says of its cluster.
const STATE: &str = "/pageway/cluster";

/// What a router is given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RouterOptions {
    /// Memory of requests and answers, in bytes.
    pub memory: u64,
    /// Whether an answer without some shards is one, where a request does not say.
    pub allows_part: bool,
    /// Requests that take longer are told of.
    pub slow: Duration,
    /// Fixes which of two nodes comes first.
    pub seed: u64,
}

/// What answers for a cluster. Cheap to clone.
#[derive(Clone)]
pub struct RouterApp(Arc<RouterParts>);

struct RouterParts {
    cluster: Arc<Cluster>,
    keys: Keys,
    options: RouterOptions,
    metrics: Metrics,
    requests: RequestMemory,
    places: Semaphore,
    log: Log,
    stops: AtomicBool,
}

/// The names in the path of a request, and the room of its answer.
type AnsweredFor<'a> = (&'a [(String, String)], &'a Arc<AnswerRoom>);

impl RouterApp {
    /// Answers by the nodes of a map.
    pub fn new(
        (map, client): (ClusterMap, NodeClient),
        keys: Keys,
        options: RouterOptions,
        log: Log,
    ) -> Self {
        Self(Arc::new(RouterParts {
            cluster: Arc::new(Cluster::new(map, client, options.seed)),
            keys,
            options,
            metrics: Metrics::default(),
            requests: RequestMemory::new(options.memory),
            places: Semaphore::new(MOST_REQUESTS),
            log,
            stops: AtomicBool::new(false),
        }))
    }

    /// Watches nodes and the file of the map, for good.
    pub async fn watch(self, file: &FilePath) {
        watch(Arc::clone(&self.0.cluster), file, self.0.log).await;
    }

    /// The routes of all operations.
    pub fn router(&self) -> Router {
        let router = Router::new().route(
            STATE,
            get(async |app: State<Self>, request: Request| app.0.state(&request)),
        );
        with_operations(router, Self::handle).with_state(self.clone())
    }

    /// Refuses requests from now on, but those that ask whether it is there.
    pub fn stop(&self) {
        self.0.stops.store(true, Ordering::Release);
    }

    async fn handle(
        self,
        operation: &'static Operation,
        path: Vec<(String, String)>,
        request: Request,
    ) -> Response<Body> {
        let (began, parts) = (clock::now(), &self.0);
        if let Err((status, text)) = parts.keys.check(request.headers(), operation.access) {
            parts.metrics.reject("key");
            return words(status, text);
        }
        let room = Arc::new(AnswerRoom::new(&parts.requests));
        let outcome = self.run(operation, (path.as_slice(), &room), request).await;
        let took = clock::now().saturating_duration_since(began);
        let failure = outcome.as_ref().err();
        let status = failure.map_or(200, |failure| failure.status);
        let counted = (operation.name, status);
        parts.metrics.count(counted, took, &SearchTotal::default());
        let level = match status {
            500..=599 => Level::Error,
            _ if took > parts.options.slow => Level::Warn,
            _ => Level::Debug,
        };
        let more = serde_json::json!({
            "op": operation.name, "status": status, "ms": took.as_secs_f64() * 1e3,
            "error": failure.map(|failure| &failure.text),
        });
        parts.log.tell(level, "request", more);
        answer(outcome, (took, room))
    }

    async fn run(
        &self,
        operation: &'static Operation,
        (path, room): AnsweredFor<'_>,
        request: Request,
    ) -> Outcome<Reply> {
        let parts = &self.0;
        let is_stopping = parts.stops.load(Ordering::Acquire);
        if is_stopping && (operation.access != Access::Open || operation.name == "readyz") {
            return Err(Failure::stopping());
        }
        if operation.name == "metrics" {
            return Ok(Reply::Text(self.metrics()));
        }
        let query = parameters(request.uri())?;
        let _place = parts.places.try_acquire().map_err(|_| Failure::busy())?;
        let request = (request, operation.takes_vectors());
        let (body, _body_room) = receive(&parts.requests, &parts.metrics, request).await?;
        let call = self.call((path, room), &query, &body)?;
        let left = call.deadline.saturating_sub(parts.cluster.now());
        // Shards are given up by then; this is for all else.
        match timeout(left + Duration::from_secs(1), call.answer(operation)).await {
            Ok(reply) => call.told(reply?),
            Err(_) => Err(Failure::timeout()),
        }
    }

    fn call<'c>(
        &'c self,
        (path, room): AnsweredFor<'c>,
        query: &Parameters,
        body: &'c [u8],
    ) -> Outcome<RoutedCall<'c>> {
        let cluster = &self.0.cluster;
        let left = query.deadline(false)?;
        let left = left.saturating_duration_since(clock::now());
        Ok(RoutedCall {
            cluster,
            map: cluster.map(),
            path,
            body,
            deadline: cluster.now() + left,
            room,
            waits: query.flag("wait", false)?,
            allows_part: query.flag("allow_partial", self.0.options.allows_part)?,
            missing: Mutex::default(),
            explained: Mutex::default(),
        })
    }

    fn state(&self, request: &Request) -> Response<Body> {
        let began = clock::now();
        if let Err((status, text)) = self.0.keys.check(request.headers(), Access::Known) {
            return words(status, text);
        }
        let room = Arc::new(AnswerRoom::new(&self.0.requests));
        let (path, query) = (Vec::new(), Parameters::default());
        let outcome = self.call((path.as_slice(), &room), &query, &[]);
        let outcome = outcome.and_then(|call| call.state());
        answer(
            outcome,
            (clock::now().saturating_duration_since(began), room),
        )
    }

    /// The numbers of the router and of its nodes.
    fn metrics(&self) -> String {
        let (parts, mut page) = (&self.0, MetricsPage::default());
        let (map, now) = (parts.cluster.map(), parts.cluster.now());
        page.gauge("pageway_map_version", "version of the map", map.version);
        {
            let pool = parts.cluster.pool();
            let states = pool.states(now);
            page.family("pageway_node_up", "gauge", "whether a node is in rotation");
            for (name, _, is_in) in &states {
                page.row("pageway_node_up", &[("node", *name)], u8::from(*is_in));
            }
            let name = "pageway_node_calls_total";
            page.family(name, "counter", "calls to nodes, and those that failed");
            for (node, state, _) in &states {
                let (calls, failed) = state.calls;
                page.row(name, &[("node", *node), ("outcome", "any")], calls);
                page.row(name, &[("node", *node), ("outcome", "failed")], failed);
            }
        }
        parts.metrics.write(&mut page);
        page.text()
    }
}
