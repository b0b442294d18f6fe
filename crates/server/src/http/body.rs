//! Bodies of requests, read into room that is set aside for them.

use std::error::Error;
use std::time::Duration;

use axum::body::{Bytes, HttpBody, to_bytes};
use axum::extract::Request;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::weight::weight;
use crate::failure::{Failure, Outcome};
use crate::metrics::Metrics;
use crate::room::RequestMemory;

/// Bytes of a body at most.
const MAX_BODY_BYTES: u64 = 32 << 20;
/// Bytes of a body that is looked through where it arrives, at most.
const WEIGHED_AT_ONCE: usize = 1 << 20;
/// Time for a body to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The body of a request, and the room that it takes until the request is done.
pub(crate) async fn receive(
    memory: &RequestMemory,
    metrics: &Metrics,
    (request, takes_vectors): (Request, bool),
) -> Outcome<(Bytes, OwnedSemaphorePermit)> {
    let length = request.headers().get("content-length");
    let length = length.and_then(|own| own.to_str().ok()?.parse::<u64>().ok());
    let length = length.or_else(|| request.body().size_hint().upper());
    let most = MAX_BODY_BYTES.min(memory.bytes());
    if length.is_some_and(|length| length > most) {
        return Err(Failure::too_large(most));
    }
    let room = memory.acquire(length.unwrap_or(most));
    let Ok(Some(room)) = timeout(BODY_TIME, room).await else {
        metrics.reject("bodies");
        return Err(Failure::busy());
    };
    let read = to_bytes(request.into_body(), most as usize);
    match timeout(BODY_TIME, read).await {
        Ok(Ok(body)) => room_of((memory, metrics), (body, takes_vectors), room).await,
        Ok(Err(error)) if is_of_connection(&error) => Err(Failure::format(error)),
        Ok(Err(_)) => Err(Failure::too_large(most)),
        Err(_) => Err(Failure::timeout()),
    }
}

/// Whether a body broke off or was not well formed, and was not too long.
fn is_of_connection(error: &axum::Error) -> bool {
    let first: &(dyn Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |&cause| cause.source());
    causes.any(<dyn Error>::is::<hyper::Error>)
}

/// More room for a body of many values, which take more than their text.
async fn room_of(
    (memory, metrics): (&RequestMemory, &Metrics),
    (body, takes_vectors): (Bytes, bool),
    room: OwnedSemaphorePermit,
) -> Outcome<(Bytes, OwnedSemaphorePermit)> {
    let own = memory.bytes();
    let bytes = weight_of(&body, takes_vectors).await;
    if bytes > own {
        return Err(Failure::too_many_values(bytes, own));
    }
    let wanted = body.len() as u64 + bytes;
    if memory.places_of(wanted) <= room.num_permits() as u32 {
        return Ok((body, room));
    }
    // All of it at once: two that wait for more of what each other has would wait for good.
    drop(room);
    let room = memory.acquire(wanted);
    let Ok(Some(room)) = timeout(BODY_TIME, room).await else {
        metrics.reject("bodies");
        return Err(Failure::busy());
    };
    Ok((body, room))
}

/// What the values of a body take; long ones are looked through off the runtime.
async fn weight_of(body: &Bytes, takes_vectors: bool) -> u64 {
    if body.len() <= WEIGHED_AT_ONCE {
        return weight(body, takes_vectors);
    }
    let own = body.clone();
    let weighed = tokio::task::spawn_blocking(move || weight(&own, takes_vectors)).await;
    weighed.unwrap_or(u64::MAX)
}
