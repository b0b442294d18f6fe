//! The table of operations.

use super::call::{Call, Reply};
use super::{alias, collection, point, read, snapshot, system};
use crate::failure::{Failure, Outcome};

/// Who may ask for an operation, and where it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Anybody; done at once.
    Open,
    /// Who has a key; done at once.
    Known,
    /// Who has a key; waits in the queue of reads.
    Read,
    /// Who has the key that changes things; waits in the queue of changes.
    Write,
}

/// What the body of a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyKind {
    Json,
    /// A file in a form, which goes to the disk as it comes.
    File,
}

/// An operation.
pub(crate) struct Operation {
    /// Its name in metrics, logs and refusals.
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) body: BodyKind,
    /// Whether it may take long, and is done later where `wait` is false.
    pub(crate) is_long: bool,
    /// What it answers with, where it has begun and its time is up.
    pub(crate) unfinished: Option<&'static str>,
    answer: Option<fn(&Call<'_>) -> Outcome<Reply>>,
}

impl Operation {
    /// Does it.
    pub(crate) fn answer(&self, call: &Call<'_>) -> Outcome<Reply> {
        let absent = || Failure::unsupported(format_args!("the operation `{}`", self.name));
        self.answer.ok_or_else(absent)?(call)
    }

    /// Whether it makes what its path names.
    pub(crate) fn makes(&self) -> bool {
        self.name == "create_collection"
    }

    /// Whether its body has vectors, whose numbers are read as they come.
    pub(crate) fn takes_vectors(&self) -> bool {
        let searches = ["query_", "search_", "recommend_"];
        searches.iter().any(|own| self.name.starts_with(own))
            || ["upsert_points", "update_vectors", "batch_update"].contains(&self.name)
    }

    /// Whether it is there.
    #[cfg(test)]
    pub(crate) fn is_there(&self) -> bool {
        self.answer.is_some()
    }

    /// The same of an operation that may take long.
    const fn long(self) -> Self {
        Self {
            is_long: true,
            ..self
        }
    }

    /// The same of a change of points, which goes on when the time of its request is up.
    const fn update(self) -> Self {
        Self {
            unfinished: Some("{\"operation_id\":null,\"status\":\"wait_timeout\"}"),
            ..self
        }
    }

    /// The same of an operation that takes a file.
    const fn of_file(self) -> Self {
        Self {
            body: BodyKind::File,
            ..self
        }
    }
}

/// A row.
const fn row(
    name: &'static str,
    (method, path): (&'static str, &'static str),
    access: Access,
    answer: fn(&Call<'_>) -> Outcome<Reply>,
) -> Operation {
    Operation {
        name,
        method,
        path,
        access,
        body: BodyKind::Json,
        is_long: false,
        unfinished: None,
        answer: Some(answer),
    }
}

/// A row of what clients may know and is not there.
const fn none(name: &'static str, (method, path): (&'static str, &'static str)) -> Operation {
    Operation {
        name,
        method,
        path,
        access: Access::Known,
        body: BodyKind::Json,
        is_long: false,
        unfinished: None,
        answer: None,
    }
}

use Access::{Known, Open, Read, Write};

/// All of them.
pub(crate) const OPERATIONS: &[Operation] = &[
    row("root", ("GET", "/"), Open, system::root),
    row("healthz", ("GET", "/healthz"), Open, system::healthy),
    row(
        "openapi",
        ("GET", "/openapi.json"),
        Open,
        system::description,
    ),
    row("livez", ("GET", "/livez"), Open, system::healthy),
    row("readyz", ("GET", "/readyz"), Open, system::ready),
    row("metrics", ("GET", "/metrics"), Known, system::metrics),
    row("telemetry", ("GET", "/telemetry"), Known, system::telemetry),
    row("cluster", ("GET", "/cluster"), Known, system::cluster),
    row("issues", ("GET", "/issues"), Known, system::issues),
    row(
        "clear_issues",
        ("DELETE", "/issues"),
        Write,
        system::clear_issues,
    ),
    row(
        "recover_cluster",
        ("POST", "/cluster/recover"),
        Write,
        system::of_several,
    ),
    row(
        "remove_peer",
        ("DELETE", "/cluster/peer/{peer}"),
        Write,
        system::of_several,
    ),
    row(
        "list_collections",
        ("GET", "/collections"),
        Known,
        collection::list,
    ),
    row(
        "collection_exists",
        ("GET", "/collections/{collection}/exists"),
        Known,
        collection::exists,
    ),
    row(
        "create_collection",
        ("PUT", "/collections/{collection}"),
        Write,
        collection::create,
    ),
    row(
        "get_collection",
        ("GET", "/collections/{collection}"),
        Read,
        collection::describe,
    ),
    row(
        "update_collection",
        ("PATCH", "/collections/{collection}"),
        Write,
        collection::update,
    ),
    row(
        "delete_collection",
        ("DELETE", "/collections/{collection}"),
        Write,
        collection::delete,
    ),
    row(
        "list_memory",
        ("GET", "/pageway/collections"),
        Known,
        collection::list_memory,
    ),
    row(
        "inspect_collection",
        ("GET", "/pageway/collections/{collection}"),
        Read,
        collection::inspect,
    ),
    row(
        "update_aliases",
        ("POST", "/collections/aliases"),
        Write,
        alias::update,
    ),
    row("get_node", ("GET", "/pageway/node"), Known, system::node),
    row("list_aliases", ("GET", "/aliases"), Known, alias::list),
    row(
        "collection_aliases",
        ("GET", "/collections/{collection}/aliases"),
        Known,
        alias::of_collection,
    ),
    row(
        "create_index",
        ("PUT", "/collections/{collection}/index"),
        Write,
        collection::create_index,
    ),
    row(
        "delete_index",
        ("DELETE", "/collections/{collection}/index/{field}"),
        Write,
        collection::delete_index,
    ),
    row(
        "upsert_points",
        ("PUT", "/collections/{collection}/points"),
        Write,
        point::upsert,
    )
    .update(),
    row(
        "get_points",
        ("POST", "/collections/{collection}/points"),
        Read,
        read::retrieve,
    ),
    row(
        "get_point",
        ("GET", "/collections/{collection}/points/{id}"),
        Read,
        read::point,
    ),
    row(
        "delete_points",
        ("POST", "/collections/{collection}/points/delete"),
        Write,
        point::delete,
    )
    .update(),
    row(
        "set_payload",
        ("POST", "/collections/{collection}/points/payload"),
        Write,
        point::set_payload,
    )
    .update(),
    row(
        "overwrite_payload",
        ("PUT", "/collections/{collection}/points/payload"),
        Write,
        point::overwrite_payload,
    )
    .update(),
    row(
        "delete_payload",
        ("POST", "/collections/{collection}/points/payload/delete"),
        Write,
        point::delete_payload,
    )
    .update(),
    row(
        "clear_payload",
        ("POST", "/collections/{collection}/points/payload/clear"),
        Write,
        point::clear_payload,
    )
    .update(),
    row(
        "update_vectors",
        ("PUT", "/collections/{collection}/points/vectors"),
        Write,
        point::update_vectors,
    )
    .update(),
    row(
        "delete_vectors",
        ("POST", "/collections/{collection}/points/vectors/delete"),
        Write,
        point::delete_vectors,
    )
    .update(),
    row(
        "batch_update",
        ("POST", "/collections/{collection}/points/batch"),
        Write,
        point::batch,
    ),
    row(
        "query_points",
        ("POST", "/collections/{collection}/points/query"),
        Read,
        read::query,
    ),
    row(
        "query_batch",
        ("POST", "/collections/{collection}/points/query/batch"),
        Read,
        read::batch,
    ),
    row(
        "query_groups",
        ("POST", "/collections/{collection}/points/query/groups"),
        Read,
        read::groups,
    ),
    row(
        "scroll_points",
        ("POST", "/collections/{collection}/points/scroll"),
        Read,
        read::scroll,
    ),
    row(
        "count_points",
        ("POST", "/collections/{collection}/points/count"),
        Read,
        collection::count,
    ),
    row(
        "facet",
        ("POST", "/collections/{collection}/facet"),
        Read,
        read::facet,
    ),
    none(
        "matrix_pairs",
        (
            "POST",
            "/collections/{collection}/points/search/matrix/pairs",
        ),
    ),
    none(
        "matrix_offsets",
        (
            "POST",
            "/collections/{collection}/points/search/matrix/offsets",
        ),
    ),
    none(
        "create_vector_name",
        ("PUT", "/collections/{collection}/vectors/{vector}"),
    ),
    none(
        "delete_vector_name",
        ("DELETE", "/collections/{collection}/vectors/{vector}"),
    ),
    row(
        "list_snapshots",
        ("GET", "/collections/{collection}/snapshots"),
        Read,
        snapshot::list,
    ),
    row(
        "create_snapshot",
        ("POST", "/collections/{collection}/snapshots"),
        Write,
        snapshot::create,
    )
    .long(),
    row(
        "get_snapshot",
        ("GET", "/collections/{collection}/snapshots/{snapshot}"),
        Read,
        snapshot::download,
    ),
    row(
        "delete_snapshot",
        ("DELETE", "/collections/{collection}/snapshots/{snapshot}"),
        Write,
        snapshot::delete,
    )
    .long(),
    row(
        "recover_snapshot",
        ("PUT", "/collections/{collection}/snapshots/recover"),
        Write,
        snapshot::recover,
    )
    .long(),
    row(
        "upload_snapshot",
        ("POST", "/collections/{collection}/snapshots/upload"),
        Write,
        snapshot::upload,
    )
    .long()
    .of_file(),
    none("list_full_snapshots", ("GET", "/snapshots")),
    none("create_full_snapshot", ("POST", "/snapshots")),
    row(
        "search_points",
        ("POST", "/collections/{collection}/points/search"),
        Read,
        read::search,
    ),
    row(
        "search_batch",
        ("POST", "/collections/{collection}/points/search/batch"),
        Read,
        read::search_batch,
    ),
    row(
        "search_groups",
        ("POST", "/collections/{collection}/points/search/groups"),
        Read,
        read::search_groups,
    ),
    row(
        "recommend_points",
        ("POST", "/collections/{collection}/points/recommend"),
        Read,
        read::recommend,
    ),
    row(
        "recommend_batch",
        ("POST", "/collections/{collection}/points/recommend/batch"),
        Read,
        read::recommend_batch,
    ),
    row(
        "recommend_groups",
        ("POST", "/collections/{collection}/points/recommend/groups"),
        Read,
        read::recommend_groups,
    ),
    none(
        "discover_points",
        ("POST", "/collections/{collection}/points/discover"),
    ),
    none(
        "collection_cluster",
        ("GET", "/collections/{collection}/cluster"),
    ),
    none(
        "update_collection_cluster",
        ("POST", "/collections/{collection}/cluster"),
    ),
    none(
        "create_shard_key",
        ("PUT", "/collections/{collection}/shards"),
    ),
    none(
        "list_shard_keys",
        ("GET", "/collections/{collection}/shards"),
    ),
    none(
        "optimizations",
        ("GET", "/collections/{collection}/optimizations"),
    ),
];
