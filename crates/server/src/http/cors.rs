//! Pages of other places that may ask: none, unless they are named.

use std::time::Duration;

use axum::Router;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Method};
use pageway::{Error, Result};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Time that a browser need not ask again.
const MAX_AGE: Duration = Duration::from_secs(600);
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// Lets pages of some origins ask; `*` stands for all.
///
/// # Errors
/// `InvalidInput` for what is no origin.
pub fn with_origins(router: Router, origins: &[String]) -> Result<Router> {
    if origins.is_empty() {
        return Ok(router);
    }
    let allowed = if origins.iter().any(|own| own == "*") {
        AllowOrigin::any()
    } else {
        let all: Result<Vec<HeaderValue>> = origins.iter().map(|own| origin(own)).collect();
        AllowOrigin::list(all?)
    };
    let layer = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers([CONTENT_TYPE, AUTHORIZATION, API_KEY])
        .max_age(MAX_AGE);
    Ok(router.layer(layer))
}

fn origin(text: &str) -> Result<HeaderValue> {
    let wrong = || {
        let words = format!("{text:?} is no origin: such as https://example.org, or *");
        Error::invalid(words)
    };
    let host = text.split_once("://").map(|(_, host)| host);
    match host {
        Some(host) if !host.is_empty() && !host.contains('/') => text.parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}
