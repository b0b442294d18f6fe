//! Answers as they are sent: `{"result": .., "status": "ok", "time": seconds}`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};

use pageway::server::VfsFile;
use tokio::sync::OwnedSemaphorePermit;

use super::download::FileBody;
use crate::failure::{Failure, Outcome};
use crate::operation::Reply;
use crate::room::AnswerRoom;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The answer of an operation that took so long, which keeps its room until it is sent.
pub(crate) fn answer(
    outcome: Outcome<Reply>,
    (took, room): (Duration, Arc<AnswerRoom>),
) -> Response<Body> {
    let seconds = took.as_secs_f64();
    match outcome {
        Ok(Reply::Json(mut bytes)) => {
            bytes.extend(format!(",\"status\":\"ok\",\"time\":{seconds}}}").bytes());
            sent(
                200,
                JSON,
                Bytes::from_owner(HeldBytes { bytes, _room: room }),
            )
        }
        Ok(Reply::Bare(bytes)) => whole(200, JSON, bytes),
        Ok(Reply::Text(text)) => whole(200, TEXT, text.into_bytes()),
        Ok(Reply::Accepted) => {
            let body = format!("{{\"status\":\"accepted\",\"time\":{seconds}}}");
            whole(202, JSON, body.into_bytes())
        }
        // Files are sent by `file`.
        Ok(Reply::File(..)) => failed(&Failure::internal("a file is no JSON"), seconds),
        Err(failure) => failed(&failure, seconds),
    }
}

/// The answer that is a file.
pub(super) fn file(
    file: Arc<dyn VfsFile>,
    length: u64,
    place: OwnedSemaphorePermit,
) -> Response<Body> {
    let mut response = Response::new(Body::new(FileBody::new(file, length, place)));
    response.headers_mut().insert(CONTENT_TYPE, BYTES);
    response
}

/// The answer of a request that no operation has seen.
pub(super) fn refused(failure: &Failure) -> Response<Body> {
    failed(failure, 0.0)
}

fn failed(failure: &Failure, seconds: f64) -> Response<Body> {
    let body = serde_json::json!({"status": {"error": failure.text}, "time": seconds});
    let mut response = whole(failure.status, JSON, body.to_string().into_bytes());
    if matches!(failure.status, 429 | 503) {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// An answer of words, as keys are refused.
pub(crate) fn words(status: u16, text: &str) -> Response<Body> {
    whole(status, TEXT, text.as_bytes().to_vec())
}

/// Bytes of an answer, and their room.
struct HeldBytes {
    bytes: Vec<u8>,
    _room: Arc<AnswerRoom>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn whole(status: u16, kind: HeaderValue, bytes: Vec<u8>) -> Response<Body> {
    sent(status, kind, Bytes::from(bytes))
}

fn sent(status: u16, kind: HeaderValue, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
