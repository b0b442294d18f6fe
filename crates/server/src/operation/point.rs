//! Changes of points.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::call::{Call, Reply};
use super::collection::updated;
use crate::failure::Outcome;
use crate::wire::{BatchOperation, Operations};

/// Reads an operation out of the body and does it.
fn change<T: DeserializeOwned>(
    call: &Call<'_>,
    operation: impl FnOnce(T) -> BatchOperation,
) -> Outcome<Reply> {
    let request: T = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    let number = open.change(operation(request))?;
    updated(call, number)
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
    let Operations { operations } = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    let waits = call.query.flag("wait", false)?;
    let status = if waits { "completed" } else { "acknowledged" };
    let mut results: Vec<Value> = Vec::with_capacity(operations.len());
    for operation in operations {
        let number = open.change(operation)?;
        results.push(json!({"operation_id": number, "status": status}));
    }
    Reply::of(&results)
}
