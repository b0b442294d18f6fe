//! What becomes of addresses and methods before an operation sees them.

use axum::body::Body;
use axum::http::{Method, Response, Uri};
use axum::routing::MethodFilter;

use super::envelope::refused;
use crate::failure::{Failure, Outcome};
use crate::operation::{Operation, Parameters};

/// Bytes of an address at most.
const MAX_URI_BYTES: usize = 8 << 10;

/// The method of an operation.
pub(crate) fn method_of(operation: &Operation) -> MethodFilter {
    match operation.method {
        "PUT" => MethodFilter::PUT,
        "POST" => MethodFilter::POST,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

/// The answer where no operation has the path.
pub(crate) async fn absent(uri: Uri) -> Response<Body> {
    let words = format!("no operation has the path {}", uri.path());
    refused(&Failure::not_found(words))
}

/// The answer where those of a path have other methods.
pub(crate) async fn not_allowed(method: Method) -> Response<Body> {
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
