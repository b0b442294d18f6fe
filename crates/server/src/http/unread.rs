//! What an answer left unread of a body: it is read and dropped, so that a client that sends all
//! before it reads sees the answer, and not a connection that was reset.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// Time for the rest of a body to arrive.
const UNREAD_TIME: Duration = Duration::from_secs(10);

/// The body of a request, which outlives what reads it.
#[derive(Clone)]
pub(super) struct SharedBody(Arc<Mutex<Incoming>>);

impl SharedBody {
    pub(super) fn new(body: Incoming) -> Self {
        Self(Arc::new(Mutex::new(body)))
    }

    fn lock(&self) -> MutexGuard<'_, Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is left.
    pub(super) async fn drain(mut self) {
        if self.is_end_stream() {
            return;
        }
        let rest = poll_fn(|context| {
            while let Some(Ok(_)) = ready!(Pin::new(&mut self).poll_frame(context)) {}
            Poll::Ready(())
        });
        // Who takes longer sees the connection closed.
        let _ = timeout(UNREAD_TIME, rest).await;
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut *self.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().size_hint()
    }
}
