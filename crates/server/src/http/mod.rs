//! Requests and answers of HTTP: routes, keys, limits, the envelope of answers, connections.

mod app;
mod auth;
mod body;
mod console;
mod cors;
mod download;
mod envelope;
mod head;
mod route;
mod serve;
mod tls;
mod unread;
mod upload;
mod weight;

pub use app::App;
pub use auth::Keys;
pub use cors::with_origins;
pub use serve::{Listening, listen};
pub use tls::Tls;

pub(crate) use body::receive;
pub(crate) use envelope::{answer, words};
pub(crate) use route::{parameters, with_operations};
