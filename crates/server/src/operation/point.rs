//! Changes of points.

use std::time::Duration;

use pageway::server::clock;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::{Call, Reply};
use super::collection::updated;
use crate::failure::Outcome;
use crate::wire::{BatchOperation, Operations};

/// Times that a change is tried.
const MOST_TRIES: usize = 200;
/// Pause before a collection is looked for again.
const PAUSE: Duration = Duration::from_millis(10);

/// Reads an operation out of the body and does it.
fn change<T: DeserializeOwned>(
    call: &Call<'_>,
    operation: impl FnOnce(T) -> BatchOperation,
) -> Outcome<Reply> {
    call.service
        .check_changes((call.name("collection"), call.is_routed))?;
    let request: T = call.read()?;
    let number = done(call, &operation(request))?;
    updated(call, number)
}

/// Does an operation; again, where the collection has to be opened again for it. That changes
/// nothing of what was done, since operations say what points are afterwards.
fn done(call: &Call<'_>, operation: &BatchOperation) -> Outcome<u64> {
    let mut tries = 0;
    loop {
        tries += 1;
        let open = call.service.collection(call.name("collection"))?;
        let outcome = open.change(operation.clone());
        let again = open.lack().is_some() || open.is_broken();
        let in_time = clock::now() < call.deadline;
        match outcome {
            Err(failure) if failure.status == 503 && again && in_time && tries < MOST_TRIES => {
                drop(open);
                std::thread::sleep(PAUSE);
            }
            outcome => {
                let (number, synced) = outcome?;
                call.service.metrics.note_sync(synced);
                return Ok(number);
            }
        }
    }
}

pub(super) fn upsert(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::Upsert)
}

pub(super) fn delete(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::Delete)
}

pub(super) fn set_payload(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::SetPayload)
}

pub(super) fn overwrite_payload(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::OverwritePayload)
}

pub(super) fn delete_payload(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::DeletePayload)
}

pub(super) fn clear_payload(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::ClearPayload)
}

pub(super) fn update_vectors(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::UpdateVectors)
}

pub(super) fn delete_vectors(call: &Call<'_>) -> Outcome<Reply> {
    change(call, BatchOperation::DeleteVectors)
}

/// Operations one after the other; those before one that fails are done.
pub(super) fn batch(call: &Call<'_>) -> Outcome<Reply> {
    call.service
        .check_changes((call.name("collection"), call.is_routed))?;
    let Operations { operations } = call.read()?;
    let waits = call.query.flag("wait", false)?;
    let status = if waits { "completed" } else { "acknowledged" };
    let mut results: Vec<Value> = Vec::with_capacity(operations.len());
    for operation in operations {
        let number = done(call, &operation)?;
        results.push(json!({"operation_id": number, "status": status}));
    }
    Reply::of(&results)
}
