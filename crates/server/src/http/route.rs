//! What becomes of addresses and methods before an operation sees them.

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{Method, Response, Uri};
use axum::routing::{MethodFilter, on};

use super::envelope::refused;
use crate::failure::{Failure, Outcome};
use crate::operation::{OPERATIONS, Operation, Parameters};

/// Bytes of an address at most.
const MAX_URI_BYTES: usize = 8 << 10;

/// Handles a request: its operation, and the names of its path.
type Handle<S, A> = fn(S, &'static Operation, Vec<(String, String)>, Request) -> A;

/// Routes, those of all operations, and what is answered elsewhere.
pub(crate) fn with_operations<S, A>(mut router: Router<S>, handle: Handle<S, A>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    A: Future<Output = Response<Body>> + Send + 'static,
{
    for operation in OPERATIONS {
        let handler = move |app: State<S>, path: Path<Vec<(String, String)>>, request| {
            handle(app.0, operation, path.0, request)
        };
        router = router.route(operation.path, on(method_of(operation), handler));
    }
    // Bodies have bounds of our own.
    router
        .fallback(absent)
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::disable())
}

/// The method of an operation.
fn method_of(operation: &Operation) -> MethodFilter {
    match operation.method {
        "PUT" => MethodFilter::PUT,
        "POST" => MethodFilter::POST,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

/// The answer where no operation has the path.
async fn absent(uri: Uri) -> Response<Body> {
    let words = format!("no operation has the path {}", uri.path());
    refused(&Failure::not_found(words))
}

/// The answer where those of a path have other methods.
async fn not_allowed(method: Method) -> Response<Body> {
    let failure = Failure::not_allowed(format_args!("no operation of this path is a {method}"));
    refused(&failure)
}

/// What stands behind the question mark of an address that is not too long.
pub(crate) fn parameters(uri: &Uri) -> Outcome<Parameters> {
    let length = uri.path_and_query().map_or(0, |own| own.as_str().len());
    if length > MAX_URI_BYTES {
        let words = format!("the address has {length} bytes, {MAX_URI_BYTES} are possible");
        return Err(Failure::wrong(words));
    }
    Parameters::parse(uri.query().unwrap_or_default())
}
