//! Files that are sent in a form: they go to the disk as they come.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::multipart::Field;
use axum::extract::{FromRequest, Multipart, Request};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::failure::{Failure, Outcome};
use crate::service::Service;
use crate::snapshot::FileSink;

/// Time for the next part of a file to arrive.
const PART_TIME: Duration = Duration::from_secs(30);
/// The field of the form.
const FIELD: &str = "snapshot";

/// A file that was received; it goes when this is dropped.
pub(super) struct ReceivedFile {
    service: Arc<Service>,
    path: PathBuf,
}

impl ReceivedFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ReceivedFile {
    fn drop(&mut self) {
        self.service.snapshots.forget(&self.path);
    }
}

/// Receives the file of a form; none where it has no such field.
pub(super) async fn receive(
    service: &Arc<Service>,
    request: Request,
) -> Outcome<Option<ReceivedFile>> {
    let form = Multipart::from_request(request, &()).await;
    let mut form = form.map_err(|error| Failure::format(error.body_text()))?;
    loop {
        let field = timeout(PART_TIME, form.next_field()).await;
        let field = field.map_err(|_| Failure::timeout())?;
        match field.map_err(|error| Failure::format(error.body_text()))? {
            None => return Ok(None),
            Some(field) if field.name() == Some(FIELD) => return store(service, field).await,
            Some(_) => {}
        }
    }
}

async fn store(service: &Arc<Service>, mut field: Field<'_>) -> Outcome<Option<ReceivedFile>> {
    let (path, mut sink) = service.snapshots.receive()?;
    let received = ReceivedFile {
        service: Arc::clone(service),
        path,
    };
    loop {
        let part = timeout(PART_TIME, field.chunk()).await;
        let part = part.map_err(|_| Failure::timeout())?;
        let Some(part) = part.map_err(|error| Failure::format(error.body_text()))? else {
            break;
        };
        let written = spawn_blocking(move || sink.write_all(&part).map(|()| sink)).await;
        sink = done(written)?;
    }
    done(spawn_blocking(move || FileSink::finish(sink)).await)?;
    Ok(Some(received))
}

fn done<T>(outcome: Result<std::io::Result<T>, tokio::task::JoinError>) -> Outcome<T> {
    let outcome = outcome.map_err(Failure::internal)?;
    outcome.map_err(|error| pageway::Error::from(error).into())
}
