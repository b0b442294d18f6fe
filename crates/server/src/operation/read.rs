//! Reading points and searching them.

use std::sync::Arc;

use pageway::MemoryLack;
use pageway::server::clock;
use serde::Serialize;
use serde_json::json;

use super::call::{Call, Reply};
use crate::collection::{OpenCollection, OutputWish, PointGroup, PointOutput, SearchPlan, in_time};
use crate::failure::{Failure, Outcome};
use crate::wire::older::{Older, Search};
use crate::wire::{
    Batch, Facet, GroupQuery, Grouping, Query, Recommend, Retrieve, Scroll, WithLookup, older,
};

/// Queries of a batch at most.
pub(crate) const MOST_QUERIES: usize = 1000;

/// What a query found, and how, where that is asked for.
#[derive(Serialize)]
struct QueryAnswer {
    points: Vec<PointOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pageway: Option<Explanation>,
}

/// How a query was searched.
#[derive(Serialize)]
struct Explanation {
    searches: Vec<SearchPlan>,
}

/// What a query in groups found.
#[derive(Serialize)]
pub(crate) struct GroupAnswer {
    pub(crate) groups: Vec<PointGroup>,
}

pub(super) fn point(call: &Call<'_>) -> Outcome<Reply> {
    crate::registry::check_name(call.name("collection"))?;
    let id = call.id()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&open.point(id, call.room)?)
}

pub(super) fn retrieve(call: &Call<'_>) -> Outcome<Reply> {
    let request: Retrieve = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&open.retrieve(&request, call.room)?)
}

pub(super) fn scroll(call: &Call<'_>) -> Outcome<Reply> {
    let request: Scroll = call.read()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&open.scroll(&request, (call.deadline, call.room))?)
}

/// Searches a collection; again with more memory, where that was missing and there is some.
fn searched<T>(call: &Call<'_>, search: impl Fn(&OpenCollection) -> Outcome<T>) -> Outcome<T> {
    let taken = call.room.taken();
    loop {
        let (name, entry) = call.service.entry(call.name("collection"))?;
        let outcome = search(call.service.open_entry(&name, &entry)?.as_ref());
        let lack = outcome.as_ref().err().and_then(|failure| failure.lack);
        let lacks = lack == Some(MemoryLack::Searches);
        let unused = call.service.shelf.uses();
        if !lacks || clock::now() >= call.deadline || !call.service.grow(&name, &entry, unused)? {
            return outcome;
        }
        call.room.return_to(taken);
    }
}

pub(super) fn query(call: &Call<'_>) -> Outcome<Reply> {
    let request: Query = call.read()?;
    let explains = request.wants_explanation();
    let points = queried(call, request)?;
    let explanation = || Explanation {
        searches: call.trace.plans(),
    };
    let pageway = explains.then(explanation);
    Reply::of(&QueryAnswer { points, pageway })
}

pub(super) fn search(call: &Call<'_>) -> Outcome<Reply> {
    older_query::<Search>(call)
}

pub(super) fn recommend(call: &Call<'_>) -> Outcome<Reply> {
    older_query::<Recommend>(call)
}

fn older_query<T: Older>(call: &Call<'_>) -> Outcome<Reply> {
    let query = older::query::<T>(call.read()?, call.read()?)?;
    Reply::of(&queried(call, query)?)
}

/// What a query finds.
fn queried(call: &Call<'_>, mut request: Query) -> Outcome<Vec<PointOutput>> {
    look_up(call, &mut request)?;
    searched(call, |open| open.query(&request, call.settings()))
}

/// Puts vectors in place of ids that are those of another collection.
fn look_up(call: &Call<'_>, query: &mut Query) -> Outcome<()> {
    if let Some(from) = query.lookup_from.take() {
        from.check()?;
        let other = call.service.collection(&from.collection)?;
        if let Some(examples) = query.asked_points()? {
            let name = from.vector.as_deref();
            query.ask_vector(examples.vector(|id| {
                in_time(call.deadline)?;
                other.vector_named(id, name)
            })?);
        }
    }
    let mut below = query.prefetch.iter_mut();
    below.try_for_each(|below| look_up(call, below))
}

pub(super) fn batch(call: &Call<'_>) -> Outcome<Reply> {
    let answer = |points| QueryAnswer {
        points,
        pageway: None,
    };
    let lists = all_queried(call, call.read()?)?.into_iter();
    Reply::of(&lists.map(answer).collect::<Vec<QueryAnswer>>())
}

pub(super) fn search_batch(call: &Call<'_>) -> Outcome<Reply> {
    older_batch::<Search>(call)
}

pub(super) fn recommend_batch(call: &Call<'_>) -> Outcome<Reply> {
    older_batch::<Recommend>(call)
}

fn older_batch<T: Older>(call: &Call<'_>) -> Outcome<Reply> {
    let batch = older::batch::<T>(call.read()?, call.read()?)?;
    Reply::of(&all_queried(call, batch)?)
}

/// What queries find, one after the other; none is answered where one is wrong.
fn all_queried(call: &Call<'_>, batch: Batch<Query>) -> Outcome<Vec<Vec<PointOutput>>> {
    let Batch { mut searches } = batch;
    if searches.len() > MOST_QUERIES {
        let words = format!("{} searches, {MOST_QUERIES} are possible", searches.len());
        return Err(Failure::invalid("searches", words));
    }
    for search in &mut searches {
        look_up(call, search)?;
    }
    let one = |open: &OpenCollection, (at, search)| {
        let points = open.query(search, call.settings());
        points.map_err(|failure| failure.within(format_args!("searches[{at}]")))
    };
    searched(call, |open| {
        let lists = searches.iter().enumerate().map(|search| one(open, search));
        lists.collect()
    })
}

pub(super) fn groups(call: &Call<'_>) -> Outcome<Reply> {
    grouped(call, call.read()?)
}

pub(super) fn search_groups(call: &Call<'_>) -> Outcome<Reply> {
    older_groups::<Search>(call)
}

pub(super) fn recommend_groups(call: &Call<'_>) -> Outcome<Reply> {
    older_groups::<Recommend>(call)
}

fn older_groups<T: Older>(call: &Call<'_>) -> Outcome<Reply> {
    grouped(call, older::query::<T>(call.read()?, call.read()?)?)
}

fn grouped(call: &Call<'_>, mut query: Query) -> Outcome<Reply> {
    let grouping: Grouping = call.read()?;
    look_up(call, &mut query)?;
    let request = GroupQuery { query, grouping };
    let other = match &request.grouping.with_lookup {
        Some(lookup) => Some((lookup_collection(call, lookup)?, lookup.parts())),
        None => None,
    };
    let mut groups = searched(call, |open| open.groups(&request, call.settings()))?;
    if let Some((other, (payload, vector))) = other {
        let wish = OutputWish {
            payload: &payload,
            vector: &vector,
            room: call.room,
        };
        other.look_up(&mut groups, wish)?;
    }
    Reply::of(&GroupAnswer { groups })
}

/// The collection that groups are looked up in.
fn lookup_collection(call: &Call<'_>, lookup: &WithLookup) -> Outcome<Arc<OpenCollection>> {
    let name = lookup.collection();
    let found = call.service.collection(name);
    found.map_err(|failure| match failure.status {
        404 => Failure::not_found(format_args!("Collection {name} not found")),
        _ => failure,
    })
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
