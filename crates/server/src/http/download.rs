//! A file as an answer: read a part at a time, off the threads of the network.

use std::future::Future;
use std::io::{Error, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use pageway::server::VfsFile;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes of a part.
const PART_BYTES: u64 = 256 << 10;

/// The rest of a file.
pub(super) struct FileBody {
    file: Arc<dyn VfsFile>,
    at: u64,
    end: u64,
    reading: Option<JoinHandle<Result<Bytes>>>,
    _place: OwnedSemaphorePermit,
}

impl FileBody {
    pub(super) fn new(file: Arc<dyn VfsFile>, length: u64, place: OwnedSemaphorePermit) -> Self {
        Self {
            file,
            at: 0,
            end: length,
            reading: None,
            _place: place,
        }
    }

    fn read(&self) -> JoinHandle<Result<Bytes>> {
        let (file, at) = (Arc::clone(&self.file), self.at);
        let count = PART_BYTES.min(self.end - at);
        spawn_blocking(move || {
            let mut part = vec![0; count as usize];
            file.read_exact_at(&mut part, at)?;
            Ok(Bytes::from(part))
        })
    }
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>>>> {
        if self.at >= self.end {
            return Poll::Ready(None);
        }
        let mut reading = self.reading.take().unwrap_or_else(|| self.read());
        match Pin::new(&mut reading).poll(context) {
            Poll::Pending => {
                self.reading = Some(reading);
                Poll::Pending
            }
            Poll::Ready(read) => {
                let read = read.map_err(Error::other).flatten();
                self.at += read.as_ref().map_or(0, |part| part.len() as u64);
                Poll::Ready(Some(read.map(Frame::data)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end - self.at)
    }
}
