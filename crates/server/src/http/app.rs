//! From a request to its answer: the route, the key, the body, the queue, the envelope.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use pageway::server::{clock, return_freed_memory};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::auth::Keys;
use super::body::receive;
use super::envelope::{answer, file, words};
use super::route::{parameters, with_operations};
use super::{console, upload};
use crate::cluster::{SHARD, ShardNeed};
use crate::collection::{SampledSearch, SearchTotal, SearchTrace};
use crate::failure::{Failure, Outcome};
use crate::log::{Level, Log};
use crate::operation::{Access, BodyKind, Call, Operation, RESULT, Reply};
use crate::partition::Keepers;
use crate::room::{AnswerRoom, held_bytes};
use crate::sampling::measure;
use crate::service::Service;
use crate::slow::SlowQuery;
use crate::upkeep::Upkeep;
use crate::workers::Workers;

/// Memory of a body from which on it goes back to the system when the request is done.
const RETURNED_FROM: u64 = 1 << 20;
/// Changes that wait or are under way, at most.
const WRITE_QUEUE: usize = 64;
/// Threads of changes.
const WRITE_THREADS: usize = 4;
/// Reads that wait, for each thread.
const READS_EACH: usize = 8;
/// Files that are sent at the same time.
const DOWNLOADS: usize = 8;
/// Pause while a measurement waits for others to end, and its pauses at most.
const SAMPLE_PAUSE: Duration = Duration::from_millis(20);
const SAMPLE_PAUSES: usize = 500;

/// Where a task is: in the queue, in a thread, or not to be done any more.
const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// The names in the path of a request, what its searches cost, and the room of its answer.
type AnsweredFor<'a> = (
    Vec<(String, String)>,
    &'a Arc<SearchTrace>,
    &'a Arc<AnswerRoom>,
);

/// What answers requests. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

struct AppParts {
    service: Arc<Service>,
    keys: Keys,
    reads: Workers,
    writes: Workers,
    /// Measures the recall of searches that were answered.
    samples: Workers,
    log: Log,
    _upkeep: Upkeep,
    _keepers: Keepers,
    /// Places for files that are sent.
    downloads: Arc<Semaphore>,
    stops: AtomicBool,
}

impl App {
    /// Answers for a service, with so many threads for reads.
    ///
    /// # Errors
    /// Where threads cannot be made.
    pub fn new(
        service: Arc<Service>,
        keys: Keys,
        (threads, log): (usize, Log),
    ) -> std::io::Result<Self> {
        Ok(Self(Arc::new(AppParts {
            _upkeep: Upkeep::start(Arc::clone(&service), log)?,
            _keepers: Keepers::start(&service, log)?,
            service,
            keys,
            reads: Workers::new("read", (threads, READS_EACH * threads))?,
            writes: Workers::new("write", (WRITE_THREADS, WRITE_QUEUE))?,
            samples: Workers::new("sample", (1, 1))?,
            log,
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
            stops: AtomicBool::new(false),
        })))
    }

    /// The routes of all operations, and of the console.
    pub fn router(&self) -> Router {
        with_operations(console::routes(), Self::handle).with_state(self.clone())
    }

    /// Refuses requests from now on, but those that ask how the server is.
    pub fn stop(&self) {
        self.0.stops.store(true, Ordering::Release);
    }

    async fn handle(
        self,
        operation: &'static Operation,
        path: Vec<(String, String)>,
        request: Request,
    ) -> Response<Body> {
        let began = clock::now();
        let parts = &self.0;
        if let Err((status, text)) = parts.keys.check(request.headers(), operation.access) {
            parts.service.metrics.reject("key");
            let metrics = &parts.service.metrics;
            metrics.count(
                (operation.name, status),
                Duration::ZERO,
                &SearchTotal::default(),
            );
            return words(status, text);
        }
        let collection = path.iter().find(|(name, _)| name == "collection");
        let collection = collection.map(|(_, own)| own.clone()).unwrap_or_default();
        let trace = Arc::new(SearchTrace::default());
        let room = Arc::new(AnswerRoom::new(&parts.service.requests));
        let outcome = self.run(operation, (path, &trace, &room), request).await;
        let place = match &outcome {
            Ok(Reply::File(..)) => Arc::clone(&parts.downloads).try_acquire_owned().ok(),
            _ => None,
        };
        let took = clock::now().saturating_duration_since(began);
        self.tell(operation, took, outcome.as_ref().err(), &trace, collection);
        match (outcome, place) {
            (Ok(Reply::File(own, length)), Some(place)) => file(own, length, place),
            (Ok(Reply::File(..)), None) => answer(Err(Failure::busy()), (took, room)),
            (outcome, _) => answer(outcome, (took, room)),
        }
    }

    /// Counts a request, and tells of it where that is due.
    fn tell(
        &self,
        operation: &'static Operation,
        took: Duration,
        failure: Option<&Failure>,
        trace: &SearchTrace,
        collection: String,
    ) {
        let (parts, service) = (&self.0, &self.0.service);
        let status = failure.map_or(200, |failure| failure.status);
        let counted = (operation.name, status);
        service.metrics.count(counted, took, &trace.total());
        let level = match status {
            500 | 507 => Level::Error,
            _ if took > service.slow => Level::Warn,
            _ => Level::Debug,
        };
        let request = SlowQuery {
            operation: operation.name,
            time: clock::unix_seconds().unwrap_or(0),
            milliseconds: took.as_secs_f64() * 1e3,
            searches: trace.plans(),
            collection,
        };
        let text = failure.map(|failure| failure.text.as_str());
        parts.log.request(level, status, &request, text);
        if let Some(sample) = trace.take_sample() {
            self.measure(request.collection.clone(), sample);
        }
        if took > service.slow && !request.searches.is_empty() {
            service.slow_queries.note(request);
        }
    }

    /// Measures the recall of a search when nobody waits, soon or not at all.
    fn measure(&self, collection: String, sample: SampledSearch) {
        let service = Arc::clone(&self.0.service);
        let (reads, own) = (self.0.reads.watch(), self.0.samples.watch());
        // One at a time: what comes meanwhile is left out.
        self.0.samples.submit(move || {
            for _ in 0..SAMPLE_PAUSES {
                if own.ends() {
                    return;
                }
                if reads.waiting() == 0 {
                    return measure(&service, &collection, &sample);
                }
                std::thread::sleep(SAMPLE_PAUSE);
            }
        });
    }

    async fn run(
        &self,
        operation: &'static Operation,
        (path, trace, room): AnsweredFor<'_>,
        request: Request,
    ) -> Outcome<Reply> {
        let parts = &self.0;
        let is_stopping = parts.stops.load(Ordering::Acquire);
        if is_stopping && (operation.access != Access::Open || operation.name == "readyz") {
            return Err(Failure::stopping());
        }
        let query = parameters(request.uri())?;
        let shard = shard_of(request.headers())?;
        let deadline = query.deadline(operation.is_long)?;
        let is_later = operation.is_long && !query.flag("wait", true)?;
        let (body, body_room, file) = match operation.body {
            BodyKind::Json => {
                let own = &parts.service;
                let request = (request, operation.takes_vectors());
                let (body, room) = receive(&own.requests, &own.metrics, request).await?;
                (body, Some(room), None)
            }
            BodyKind::File => {
                let file = upload::receive(&parts.service, request).await?;
                (Bytes::new(), None, file)
            }
        };
        let (service, trace) = (Arc::clone(&parts.service), Arc::clone(trace));
        let room = Arc::clone(room);
        let work = move || {
            let held = body_room.as_ref().map_or(0, held_bytes);
            let call = Call {
                service: &service,
                path: &path,
                query: &query,
                is_routed: shard.is_some(),
                body: &body,
                upload: file.as_ref().map(upload::ReceivedFile::path),
                deadline,
                trace: &trace,
                room: &room,
            };
            let fits = match &shard {
                Some(need) => service.check_shard(need, call.name("collection"), operation.makes()),
                None => Ok(()),
            };
            let reply = fits.and_then(|()| operation.answer(&call));
            // The next thread would need as much again beside what the allocator keeps for this.
            if held > RETURNED_FROM {
                return_freed_memory();
            }
            drop(body_room);
            reply
        };
        match operation.access {
            Access::Write if is_later => self.later(operation.name, work),
            Access::Open | Access::Known => {
                let waiting = parts.reads.waiting() + parts.writes.waiting();
                parts.service.metrics.note_waiting(waiting);
                work()
            }
            Access::Read => self.queue(&parts.reads, (deadline, None), work).await,
            Access::Write => {
                let queue = &parts.writes;
                self.queue(queue, (deadline, operation.unfinished), work)
                    .await
            }
        }
    }

    /// Lets a thread do something that nobody waits for.
    fn later(
        &self,
        name: &'static str,
        work: impl FnOnce() -> Outcome<Reply> + Send + 'static,
    ) -> Outcome<Reply> {
        let log = self.0.log;
        let task = move || {
            let began = clock::now();
            if let Err(failure) = work() {
                let took = clock::now().saturating_duration_since(began);
                let more = serde_json::json!({
                    "op": name, "status": failure.status, "ms": took.as_secs_f64() * 1e3,
                    "error": failure.text,
                });
                log.tell(Level::Error, "request", more);
            }
        };
        if self.0.writes.submit(task) {
            return Ok(Reply::Accepted);
        }
        self.0.service.metrics.reject("queue");
        Err(Failure::busy())
    }

    /// Lets a thread do something, and waits until the time is up. What has begun by then goes on,
    /// and is told of as unfinished where there are words for that; what waits is not done.
    async fn queue(
        &self,
        workers: &Workers,
        (deadline, unfinished): (Instant, Option<&'static str>),
        work: impl FnOnce() -> Outcome<Reply> + Send + 'static,
    ) -> Outcome<Reply> {
        let (sender, receiver) = oneshot::channel();
        let turn = Arc::new(AtomicU8::new(WAITS));
        let own = Arc::clone(&turn);
        let task = move || {
            // Nobody waits for what a client that left has asked for.
            if !sender.is_closed() && own.swap(BEGUN, Ordering::AcqRel) == WAITS {
                let _ = sender.send(work());
            }
        };
        if !workers.submit(task) {
            self.0.service.metrics.reject("queue");
            return Err(Failure::busy());
        }
        let left = deadline.saturating_duration_since(clock::now());
        match timeout(left, receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Failure::internal("the thread of this request panicked")),
            Err(_) => {
                self.0.service.metrics.reject("timeout");
                let has_begun = turn.swap(GIVEN_UP, Ordering::AcqRel) == BEGUN;
                let words = unfinished.filter(|_| has_begun);
                let reply = words.map(|words| Reply::Json([RESULT, words.as_bytes()].concat()));
                reply.ok_or_else(Failure::timeout)
            }
        }
    }
}

/// The node that a router means, and what it must have.
fn shard_of(headers: &HeaderMap) -> Outcome<Option<ShardNeed>> {
    let Some(own) = headers.get(SHARD) else {
        return Ok(None);
    };
    let need = own.to_str().ok().and_then(ShardNeed::parse);
    let wrong = || Failure::wrong(format_args!("{SHARD}: a name and a number are expected"));
    need.ok_or_else(wrong).map(Some)
}
