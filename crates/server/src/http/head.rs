//! The head of a request is given little time from its first byte on, so that connections which
//! send it slowly do not keep others out. What rests between two requests may do so for longer.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Time from the first byte of a head to its last.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(5);

/// Whether what comes belongs to a head, or to a request that is being answered.
#[derive(Default)]
pub(super) struct HeadTurn {
    is_answering: AtomicBool,
}

impl HeadTurn {
    /// The head of the next request may come.
    pub(super) fn begin(&self) {
        self.is_answering.store(false, Ordering::Release);
    }

    /// The head is there.
    pub(super) fn end(&self) {
        self.is_answering.store(true, Ordering::Release);
    }
}

/// A connection that fails where a head takes too long.
pub(super) struct HeadWatch<S> {
    stream: S,
    turn: Arc<HeadTurn>,
    /// From the first byte of a head to its last.
    most: Duration,
    /// When the head that has begun must be there.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> HeadWatch<S> {
    pub(super) fn new(stream: S, turn: Arc<HeadTurn>, most: Duration) -> Self {
        Self {
            stream,
            turn,
            most,
            until: None,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadWatch<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let own = self.get_mut();
        let is_head = !own.turn.is_answering.load(Ordering::Acquire);
        if !is_head {
            own.until = None;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut own.stream).poll_read(context, buffer);
        if is_head && own.until.is_none() && buffer.filled().len() > before {
            own.until = Some(Box::pin(sleep(own.most)));
        }
        let is_late = |until: &mut Pin<Box<Sleep>>| until.as_mut().poll(context).is_ready();
        if own.until.as_mut().is_some_and(is_late) {
            return Poll::Ready(Err(Error::from(ErrorKind::TimedOut)));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadWatch<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::runtime::Builder;
    use tokio::time::timeout;

    use super::*;

    /// Short, as the test waits for it.
    const MOST: Duration = Duration::from_millis(100);

    #[test]
    fn a_head_that_has_begun_ends_soon_and_a_rest_may_last() {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut client, server) = duplex(64);
            let turn = Arc::new(HeadTurn::default());
            let mut watched = HeadWatch::new(server, Arc::clone(&turn), MOST);
            let mut part = [0; 8];
            let mut rest = async || timeout(4 * MOST, watched.read(&mut part)).await;
            assert!(rest().await.is_err(), "nothing has begun");
            client.write_all(b"GET").await.unwrap();
            assert_eq!(rest().await.unwrap().unwrap(), 3);
            turn.end();
            assert!(rest().await.is_err(), "a body may take its time");
            turn.begin();
            client.write_all(b"GET").await.unwrap();
            assert_eq!(rest().await.unwrap().unwrap(), 3);
            let late = rest().await.unwrap().unwrap_err();
            assert_eq!(late.kind(), ErrorKind::TimedOut);
        });
    }
}
