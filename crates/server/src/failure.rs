//! What a request is refused with: a status code and a text, in the words that clients know.

use pageway::{ErrorKind, MemoryLack};

/// What stands in front of what is no fault of a request.
const INTERNAL: &str = "Service internal error: ";

/// Why a request has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The status code of HTTP.
    pub status: u16,
    /// What is wrong, and what to do.
    pub text: String,
    /// The memory of an index that was too small, where that is what was wrong.
    pub(crate) lack: Option<MemoryLack>,
    /// What the engine calls it, where it failed there.
    pub(crate) kind: Option<ErrorKind>,
}

/// The result of an operation.
pub type Outcome<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: u16, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            lack: None,
            kind: None,
        }
    }

    /// The same for a program that cannot start.
    pub fn into_error(self) -> pageway::Error {
        let own = if self.status < 500 {
            ErrorKind::InvalidInput
        } else {
            ErrorKind::Internal
        };
        let kind = self.kind.unwrap_or(own);
        let text = self.text.strip_prefix(INTERNAL).unwrap_or(&self.text);
        let text = text
            .strip_prefix(&format!("{}: ", kind.name()))
            .unwrap_or(text);
        pageway::Error::new(kind, text)
    }

    /// 400 for a body that is no JSON of the operation.
    pub fn format(error: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Format error in JSON body: {error}"))
    }

    /// 400 for a parameter of the address.
    pub fn parameter(what: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Deserialize error in query string: {what}"))
    }

    /// 400 for a request that cannot be meant.
    pub fn wrong(what: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Wrong input: {what}"))
    }

    /// 400 for a field or an operation of Qdrant's that is not there.
    pub fn unsupported(what: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Unsupported: {what}"))
    }

    /// 400 for a place that nothing can be taken from.
    pub fn bad_request(what: impl std::fmt::Display) -> Self {
        Self::new(400, format!("Bad request: {what}"))
    }

    /// 405 for a method that is not there, or not with one server.
    pub fn not_allowed(what: impl std::fmt::Display) -> Self {
        Self::new(405, format!("Not allowed: {what}"))
    }

    /// 404 for something by name.
    pub fn not_found(what: impl std::fmt::Display) -> Self {
        Self::new(404, format!("Not found: {what}"))
    }

    /// 404 for a collection.
    pub fn no_collection(name: &str) -> Self {
        Self::not_found(format_args!("Collection `{name}` doesn't exist!"))
    }

    /// 404 for a vector of the collection.
    pub fn no_vector(name: &str) -> Self {
        Self::wrong(format_args!("Not existing vector name error: {name}"))
    }

    /// 408 where the time is up.
    pub fn timeout() -> Self {
        Self::new(408, "Timeout: the time given for the request is up")
    }

    /// 409 for a name that is taken.
    pub fn conflict(what: impl std::fmt::Display) -> Self {
        Self::new(409, format!("Wrong input: {what}"))
    }

    /// 413 for a body that is too long.
    pub fn too_large(limit: u64) -> Self {
        let text =
            format!("Payload error: the body has more than {limit} bytes: send less at once");
        Self::new(413, text)
    }

    /// 413 for a body whose values take too much memory.
    pub fn too_many_values(bytes: u64, limit: u64) -> Self {
        let text = format!(
            "Payload error: the values of the body take about {bytes} bytes, {limit} are possible \
             within the memory of this server: send less at once"
        );
        Self::new(413, text)
    }

    /// 422 for a value outside of its range, with the path to it.
    pub fn invalid(path: &str, what: impl std::fmt::Display) -> Self {
        Self::new(
            422,
            format!("Validation error in JSON body: [{path}: {what}]"),
        )
    }

    /// 422 for an index that cannot be.
    pub fn invalid_index(what: impl std::fmt::Display) -> Self {
        Self::new(422, format!("Validation error: {what}"))
    }

    /// 422 for a value of the address.
    pub fn invalid_parameter(path: &str, what: impl std::fmt::Display) -> Self {
        Self::new(
            422,
            format!("Validation error in path or query: [{path}: {what}]"),
        )
    }

    /// 429 where the queue is full.
    pub fn busy() -> Self {
        Self::new(
            429,
            "Too many requests wait: send fewer at a time, or later",
        )
    }

    /// 403 for a change that a node of a cluster does not make.
    pub fn is_node() -> Self {
        Self::new(
            403,
            "Forbidden: this server is a node of a cluster, and points of its shards do not \
             change: make the collection on a server of its own, and put a snapshot of it here",
        )
    }

    /// 403 for a change or an archive of what lies in object storage.
    pub fn is_fixed() -> Self {
        Self::new(
            403,
            "Forbidden: this collection is an index in object storage, which does not change: \
             publish another one there, and start the node again",
        )
    }

    /// 403 for a change of a part of a collection that did not come through a router.
    pub fn not_routed(name: &str) -> Self {
        Self::new(
            403,
            format!(
                "Forbidden: {name} is a part of a collection: ask a router, which knows the part \
                 of each point"
            ),
        )
    }

    /// 403 for what would put another history in place of that in the object store.
    pub fn is_partition(name: &str) -> Self {
        Self::new(
            403,
            format!("Forbidden: what {name} holds is what its log in the object store says"),
        )
    }

    /// 403 for a change of a collection whose shards were dealt by who made them.
    pub fn not_cut(name: &str) -> Self {
        Self::new(
            403,
            format!(
                "Forbidden: the map does not say which shard of {name} a point belongs to: \
                 changes need `cut = \"id\"` there. Put other shards on nodes, and a map with a \
                 higher version in place of this one"
            ),
        )
    }

    /// 503 where nobody knows whether a change was done.
    pub fn in_doubt(what: impl std::fmt::Display) -> Self {
        Self::new(
            503,
            format!("Not known whether it was done, which doing it again settles: {what}"),
        )
    }

    /// 403 for a change that is asked of a router.
    pub fn routed_change(operation: &str) -> Self {
        Self::new(
            403,
            format!(
                "Forbidden: this is a router, which reads: `{operation}` would change something. \
                 Put other shards on nodes, and a map with a higher version in place of this one"
            ),
        )
    }

    /// 412 where a node has less of a shard than is asked for.
    pub fn behind(what: impl std::fmt::Display) -> Self {
        Self::new(412, format!("Behind: {what}"))
    }

    /// 503 where parts of a collection do not answer.
    pub fn incomplete(what: impl std::fmt::Display) -> Self {
        Self::new(503, format!("Incomplete: {what}"))
    }

    /// 503 where the server stops.
    pub fn stopping() -> Self {
        Self::new(503, "The server stops")
    }

    /// 503 where a collection has to be opened again first.
    pub fn reopening(why: impl std::fmt::Display) -> Self {
        Self::new(503, format!("The collection opens again: {why}"))
    }

    /// 507 where memory is missing.
    pub fn no_memory(what: impl std::fmt::Display) -> Self {
        Self::new(507, format!("Not enough memory: {what}"))
    }

    /// 507 for an answer that is larger than what there is for requests.
    pub fn answer_too_large(limit: u64) -> Self {
        Self::no_memory(format_args!(
            "the answer takes more than {limit} bytes: ask for fewer points, or less of them"
        ))
    }

    /// 500 for what is no fault of the request.
    pub fn internal(what: impl std::fmt::Display) -> Self {
        Self::new(500, format!("{INTERNAL}{what}"))
    }

    /// The same with words in front of the text that say where it happened.
    #[must_use]
    pub fn within(mut self, place: impl std::fmt::Display) -> Self {
        self.text = format!("{} ({place})", self.text);
        self
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all others are our own fault"
)]
impl From<pageway::Error> for Failure {
    fn from(error: pageway::Error) -> Self {
        let (lack, kind) = (error.lack(), Some(error.kind()));
        let failure = match error.kind() {
            ErrorKind::InvalidInput if lack == Some(MemoryLack::Searches) => Self::no_memory(error),
            ErrorKind::InvalidInput | ErrorKind::Unsupported => Self::wrong(error),
            ErrorKind::NotFound => Self::not_found(error),
            ErrorKind::TimedOut => Self::timeout(),
            ErrorKind::NoSpace => Self::new(507, format!("No space left: {error}")),
            ErrorKind::OutOfMemory => Self::no_memory(error),
            ErrorKind::Busy | ErrorKind::Cancelled => Self::new(503, error.to_string()),
            _ => Self::internal(error),
        };
        Self {
            lack,
            kind,
            ..failure
        }
    }
}

impl From<pageway::server::StoreError> for Failure {
    fn from(error: pageway::server::StoreError) -> Self {
        pageway::Error::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use pageway::Error;

    use super::*;

    #[test]
    fn a_server_that_cannot_start_says_what_the_engine_says() {
        for kind in [ErrorKind::Busy, ErrorKind::Io] {
            let error = Failure::from(Error::new(kind, "d/LOCK: in use")).into_error();
            assert_eq!((error.kind(), error.context()), (kind, "d/LOCK: in use"));
        }
        let error = Failure::wrong("a name").into_error();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(Failure::internal("x").into_error().context(), "x");
    }
}
