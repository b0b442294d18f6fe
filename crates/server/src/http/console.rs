//! The console: a page that draws what the interface tells. Its files are open to everybody; what
//! it asks for carries the key.

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::routing::get;

/// Nothing from elsewhere, and no script or style but in files of its own; widths of bars are
/// styles that scripts set, which this does not concern.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Path, type, text.
const FILES: [(&str, &str, &str); 3] = [
    (
        "/console",
        "text/html; charset=utf-8",
        include_str!("../../assets/console.html"),
    ),
    (
        "/console/console.css",
        "text/css; charset=utf-8",
        include_str!("../../assets/console.css"),
    ),
    (
        "/console/console.js",
        "text/javascript; charset=utf-8",
        include_str!("../../assets/console.js"),
    ),
];

/// The routes of the console.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.into_iter().fold(Router::new(), |router, file| {
        router.route(file.0, get(move || async move { response(file) }))
    })
}

fn response((_, kind, text): (&str, &'static str, &'static str)) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
    ] {
        let value = axum::http::HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
