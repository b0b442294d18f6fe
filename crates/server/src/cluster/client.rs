//! Requests to nodes, over connections that are kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderValue, Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pageway::{Error, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::SHARD;
use super::content::{ShardContent, ShardNeed};
use super::fan_out::CallEnd;
use super::map::authority;
use crate::failure::Failure;
use crate::partition::ReplicaSign;
use crate::room::AnswerRoom;

/// Time for a connection.
const CONNECT_TIME: Duration = Duration::from_millis(500);
/// Time that a connection is kept without a request: less than a server keeps it.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Times the bytes of an answer that its values take, about.
const ANSWER_TIMES: u64 = 4;
/// Bytes of a sign of life at most.
const SIGN_BYTES: usize = 1 << 20;

/// What asks nodes.
pub struct NodeClient {
    client: Client<HttpConnector, Body>,
    key: Option<HeaderValue>,
}

/// A request to a node.
#[derive(Clone, Debug)]
pub(crate) struct NodeRequest {
    pub(crate) method: Method,
    /// Encoded.
    pub(crate) path: String,
    pub(crate) body: Bytes,
    /// Which node is meant, and what it must have.
    pub(crate) shard: ShardNeed,
}

/// Why there is no answer.
enum SendError {
    /// There was no connection: nothing was sent.
    Unreached(String),
    /// Nobody knows what was done.
    Lost(String),
}

impl SendError {
    fn words(self) -> String {
        match self {
            Self::Unreached(why) | Self::Lost(why) => why,
        }
    }
}

/// What a node answers.
#[derive(Deserialize)]
struct Envelope<T> {
    result: T,
}

#[derive(Deserialize)]
struct Refusal {
    status: RefusalStatus,
}

#[derive(Deserialize)]
struct RefusalStatus {
    error: String,
}

/// What a node says of itself.
#[derive(Deserialize)]
pub(crate) struct SignOfLife {
    pub(crate) name: String,
    /// How its partitions are.
    #[serde(default)]
    pub(crate) partitions: Vec<ReplicaSign>,
    /// What other shards were made of.
    #[serde(default)]
    pub(crate) shards: BTreeMap<String, ShardContent>,
}

impl NodeClient {
    /// Asks with a key, where nodes want one.
    ///
    /// # Errors
    /// `InvalidInput` for a key that cannot stand in a header.
    pub fn new(key: Option<&str>) -> Result<Self> {
        let wrong = |_| Error::invalid("the key of nodes cannot stand in a header");
        let key = key.map(|key| HeaderValue::from_str(key).map_err(wrong));
        let mut key = key.transpose()?;
        if let Some(key) = &mut key {
            key.set_sensitive(true);
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIME));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .build(connector);
        Ok(Self { client, key })
    }

    /// Asks, for as long as there is time, and takes room for the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        address: &str,
        request: &NodeRequest,
        (left, room): (Duration, &AnswerRoom),
    ) -> CallEnd<T> {
        let asked = async {
            let response = match self.send(address, request).await {
                Ok(response) => response,
                Err(SendError::Unreached(why)) => return CallEnd::Unreached(why),
                Err(SendError::Lost(why)) => return CallEnd::Failed(why),
            };
            let status = response.status().as_u16();
            let length = response.headers().get("content-length");
            let length = length.and_then(|own| own.to_str().ok()?.parse::<u64>().ok());
            if let Err(failure) = room.take(ANSWER_TIMES * length.unwrap_or(0)) {
                return CallEnd::Refused(failure);
            }
            let most = length.unwrap_or(room.left() / ANSWER_TIMES) as usize;
            match to_bytes(Body::new(response.into_body()), most).await {
                Ok(bytes) => ended(status, &bytes),
                Err(error) => CallEnd::Failed(words_of(&error)),
            }
        };
        let late = || CallEnd::Failed("no answer in time".to_owned());
        timeout(left, asked).await.unwrap_or_else(|_| late())
    }

    /// What a node says that is alive.
    pub(crate) async fn sign_of(
        &self,
        address: &str,
        left: Duration,
    ) -> std::result::Result<SignOfLife, String> {
        let request = NodeRequest {
            method: Method::GET,
            path: "/pageway/node".to_owned(),
            body: Bytes::new(),
            shard: ShardNeed::default(),
        };
        let asked = async {
            let sent = self.send(address, &request).await;
            let response = sent.map_err(SendError::words)?;
            let status = response.status().as_u16();
            let bytes = to_bytes(Body::new(response.into_body()), SIGN_BYTES);
            let bytes = bytes.await.map_err(|error| words_of(&error))?;
            match ended::<SignOfLife>(status, &bytes) {
                CallEnd::Answered(sign) => Ok(sign),
                CallEnd::Refused(failure) => Err(failure.text),
                CallEnd::Failed(why) | CallEnd::Unreached(why) | CallEnd::Behind(why) => Err(why),
            }
        };
        let late = |_| Err("no sign of life in time".to_owned());
        timeout(left, asked).await.unwrap_or_else(late)
    }

    async fn send(
        &self,
        address: &str,
        request: &NodeRequest,
    ) -> std::result::Result<Response<hyper::body::Incoming>, SendError> {
        let authority = authority(address).map_err(SendError::Unreached)?;
        let mut head = Request::builder()
            .method(&request.method)
            .uri(format!("http://{authority}{}", request.path))
            .header("content-type", "application/json");
        if !request.shard.node.is_empty() {
            head = head.header(SHARD, request.shard.header());
        }
        if let Some(key) = &self.key {
            head = head.header("api-key", key);
        }
        let whole = head.body(Body::from(request.body.clone()));
        let whole = whole.map_err(|error| SendError::Unreached(error.to_string()))?;
        let answer = self.client.request(whole).await;
        answer.map_err(|error| {
            let words = words_of(&error);
            if error.is_connect() {
                SendError::Unreached(words)
            } else {
                SendError::Lost(words)
            }
        })
    }
}

/// What an answer of a status is.
fn ended<T: DeserializeOwned>(status: u16, bytes: &[u8]) -> CallEnd<T> {
    if status == 200 {
        return match serde_json::from_slice::<Envelope<T>>(bytes) {
            Ok(envelope) => CallEnd::Answered(envelope.result),
            Err(error) => CallEnd::Failed(format!("no answer of this operation: {error}")),
        };
    }
    let text = match serde_json::from_slice::<Refusal>(bytes) {
        Ok(refusal) => refusal.status.error,
        Err(_) => format!("status {status}"),
    };
    match status {
        400 | 404 | 405 | 409 | 413 | 422 => CallEnd::Refused(Failure::new(status, text)),
        401 | 403 => CallEnd::Failed("the node does not take the key of the router".to_owned()),
        412 => CallEnd::Behind(text),
        _ => CallEnd::Failed(text),
    }
}

/// What an error says, and what is behind it.
fn words_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut behind = error.source();
    while let Some(own) = behind {
        let _ = write!(words, ": {own}");
        behind = own.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_is_refused_is_told_from_one_that_breaks() {
        use std::net::TcpListener;

        use crate::room::RequestMemory;

        let client = NodeClient::new(None).unwrap();
        let request = NodeRequest {
            method: Method::POST,
            path: "/x".to_owned(),
            body: Bytes::from_static(b"{}"),
            shard: ShardNeed::default(),
        };
        let room = AnswerRoom::new(&RequestMemory::new(1 << 20));
        let left = Duration::from_secs(10);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let breaks = std::thread::spawn(move || drop(listener.accept()));
        let end = client.ask::<u32>(&address, &request, (left, &room)).await;
        assert!(matches!(end, CallEnd::Failed(_)), "{end:?}");
        breaks.join().unwrap();
        // Nobody listens there any more.
        let end = client.ask::<u32>(&address, &request, (left, &room)).await;
        assert!(matches!(end, CallEnd::Unreached(_)), "{end:?}");
    }

    #[test]
    fn statuses_say_who_is_at_fault() {
        let end = |status, body: &str| ended::<u32>(status, body.as_bytes());
        assert_eq!(end(200, "{\"result\": 3}"), CallEnd::Answered(3));
        assert!(matches!(
            end(200, "{\"result\": \"x\"}"),
            CallEnd::Failed(_)
        ));
        let refusal = "{\"status\": {\"error\": \"Wrong input: x\"}}";
        assert_eq!(end(400, refusal), CallEnd::Refused(Failure::wrong("x")));
        assert!(matches!(end(412, refusal), CallEnd::Behind(why) if why.contains("Wrong")));
        for status in [401, 403, 408, 429, 500, 503, 507] {
            assert!(
                matches!(end(status, refusal), CallEnd::Failed(_)),
                "{status}"
            );
        }
        assert_eq!(end(502, "<html>"), CallEnd::Failed("status 502".to_owned()));
    }
}
