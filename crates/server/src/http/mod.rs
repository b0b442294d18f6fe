//! Requests and answers of HTTP: routes, keys, limits, the envelope of answers, connections.

mod app;
mod auth;
mod console;
mod envelope;
mod serve;

pub use app::App;
pub use auth::Keys;
pub use serve::{Listening, listen};
