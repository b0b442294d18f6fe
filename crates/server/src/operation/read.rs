//! Reading points and searching them.

use serde::Serialize;
use serde_json::json;

use super::call::{Call, Reply};
use crate::collection::{PointGroup, PointOutput};
use crate::failure::{Failure, Outcome};
use crate::wire::{Facet, GroupQuery, Query, QueryBatch, Retrieve, Scroll};

/// Queries of a batch at most.
const MOST_QUERIES: usize = 1000;

/// What a query found.
#[derive(Serialize)]
struct QueryAnswer {
    points: Vec<PointOutput>,
}

/// What a query in groups found.
#[derive(Serialize)]
struct GroupAnswer {
    groups: Vec<PointGroup>,
}

pub(super) fn point(call: &Call<'_>) -> Outcome<Reply> {
    crate::registry::check_name(call.name("collection"))?;
    let id = call.id()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&open.point(id)?)
}

pub(super) fn retrieve(call: &Call<'_>) -> Outcome<Reply> {
    let request: Retrieve = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&open.retrieve(&request)?)
}

pub(super) fn scroll(call: &Call<'_>) -> Outcome<Reply> {
    let request: Scroll = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&open.scroll(&request, call.deadline)?)
}

pub(super) fn query(call: &Call<'_>) -> Outcome<Reply> {
    let request: Query = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    let points = open.query(&request, call.settings())?;
    Reply::of(&QueryAnswer { points })
}

/// Queries one after the other; none is answered where one is wrong.
pub(super) fn batch(call: &Call<'_>) -> Outcome<Reply> {
    let QueryBatch { searches } = call.read()?;
    if searches.len() > MOST_QUERIES {
        let words = format!("{} searches, {MOST_QUERIES} are possible", searches.len());
        return Err(Failure::invalid("searches", words));
    }
    let open = call.service.collection(call.name("collection"))?;
    let mut answers = Vec::with_capacity(searches.len());
    for (at, search) in searches.iter().enumerate() {
        let points = open.query(search, call.settings());
        let points = points.map_err(|failure| failure.within(format_args!("searches[{at}]")))?;
        answers.push(QueryAnswer { points });
    }
    Reply::of(&answers)
}

pub(super) fn groups(call: &Call<'_>) -> Outcome<Reply> {
    let request: GroupQuery = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    let groups = open.groups(&request, call.settings())?;
    Reply::of(&GroupAnswer { groups })
}

pub(super) fn facet(call: &Call<'_>) -> Outcome<Reply> {
    let request: Facet = call.read()?;
    let (name, entry) = call.service.entry(call.name("collection"))?;
    let kind = entry.payload_schema.get(&request.key);
    let kind = kind.and_then(|info| info.get("data_type")?.as_str());
    if !matches!(kind, Some("keyword" | "integer" | "bool" | "uuid")) {
        return Err(Failure::wrong(format_args!(
            "Index required but not found for \"{}\" of one of the following types: [keyword, \
             integer, bool, uuid]. Help: Create an index for this key or use a different filter.",
            request.key
        )));
    }
    let open = call.service.open_entry(&name, &entry)?;
    Reply::of(&json!({"hits": open.facet(&request, (kind == Some("uuid"), call.deadline))?}))
}
