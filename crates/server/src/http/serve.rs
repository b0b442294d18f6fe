//! Connections: accepted up to a number, closed when they are idle for too long, and let to an end
//! when the server stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::EXPECT;
use axum::http::{Request, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::head::{HEAD_TIME, HeadTurn, HeadWatch};
use super::tls::Tls;
use super::unread::SharedBody;

/// Connections at the same time.
const MAX_CONNECTIONS: usize = 4096;
/// Time of rest between two requests.
const REST_TIME: Duration = Duration::from_secs(60);
/// Bytes of the head of a request, about.
const HEAD_BYTES: usize = 16 << 10;
/// Time that requests have to end when the server stops, unless told otherwise.
const STOP_TIME: Duration = Duration::from_secs(30);
/// Time for a connection to become an encrypted one.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Listening {
    /// Where: the port that was given, or the system's choice for 0.
    pub address: SocketAddr,
    listener: TcpListener,
    stop_time: Duration,
}

/// Listens at an address.
///
/// # Errors
/// Where it is taken, or none of this machine.
pub async fn listen(address: SocketAddr) -> std::io::Result<Listening> {
    let listener = TcpListener::bind(address).await?;
    Ok(Listening {
        address: listener.local_addr()?,
        listener,
        stop_time: STOP_TIME,
    })
}

impl Listening {
    /// The same with another time that requests have to end when the server stops.
    #[must_use]
    pub fn with_stop_time(self, stop_time: Duration) -> Self {
        Self { stop_time, ..self }
    }

    /// Serves until `stop` says so, then lets requests come to an end.
    pub async fn serve(
        self,
        router: Router,
        tls: Option<Arc<Tls>>,
        mut stop: oneshot::Receiver<()>,
    ) {
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let accept = std::pin::pin!(self.listener.accept());
            let stream = match first_of(accept, &mut stop).await {
                None => break,
                Some(Ok((stream, _))) => stream,
                Some(Err(_)) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            // One too many is closed at once.
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
                continue;
            };
            // Small answers are not held back.
            let _ = stream.set_nodelay(true);
            let (watcher, router) = (graceful.watcher(), router.clone());
            let acceptor = tls.as_ref().map(|tls| tls.acceptor());
            tokio::spawn(async move {
                // What a client does to its connection is its own affair.
                match acceptor {
                    None => {
                        let _ = watcher.watch(connection(stream, router)).await;
                    }
                    Some(acceptor) => {
                        let accepted = timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await;
                        if let Ok(Ok(stream)) = accepted {
                            let _ = watcher.watch(connection(stream, router)).await;
                        }
                    }
                }
                drop(place);
            });
        }
        drop(self.listener);
        let _ = timeout(self.stop_time, graceful.shutdown()).await;
    }
}

/// What the future gives, or none where the other comes first.
async fn first_of<F: Future + Unpin>(
    mut future: F,
    stop: &mut oneshot::Receiver<()>,
) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        use std::task::Poll;
        let stop = std::pin::Pin::new(&mut *stop);
        if stop.poll(context).is_ready() {
            return Poll::Ready(None);
        }
        std::pin::Pin::new(&mut future).poll(context).map(Some)
    })
    .await
}

fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> {
    let turn = Arc::new(HeadTurn::default());
    let own = Arc::clone(&turn);
    let service = service_fn(move |mut request: Request<Incoming>| {
        trim(request.uri_mut());
        let (router, turn) = (router.clone(), Arc::clone(&own));
        turn.end();
        // Who asks whether to send sends nothing that is refused.
        let sends = !request.headers().contains_key(EXPECT);
        async move {
            use hyper_util::service::TowerToHyperService;
            let service = TowerToHyperService::new(router);
            let (head, body) = request.into_parts();
            let body = SharedBody::new(body);
            let request = Request::from_parts(head, Body::new(body.clone()));
            let answer = hyper::service::Service::call(&service, request).await;
            if sends {
                body.drain().await;
            }
            turn.begin();
            answer
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REST_TIME)
        .max_buf_size(2 * HEAD_BYTES)
        .serve_connection(
            TokioIo::new(HeadWatch::new(stream, turn, HEAD_TIME)),
            service,
        )
}

/// Takes slashes off the end of a path.
fn trim(uri: &mut Uri) {
    let path = uri.path();
    if path.len() < 2 || !path.ends_with('/') {
        return;
    }
    let path = format!("/{}", path.trim_matches('/'));
    let whole = uri
        .query()
        .map_or(path.clone(), |query| format!("{path}?{query}"));
    if let Ok(trimmed) = whole.parse() {
        *uri = trimmed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end_go() {
        for (given, own) in [
            ("/a/b/", "/a/b"),
            ("/a//?x=1", "/a?x=1"),
            ("/", "/"),
            ("/a", "/a"),
        ] {
            let mut uri: Uri = given.parse().unwrap();
            trim(&mut uri);
            assert_eq!(uri.to_string(), own);
        }
    }
}
