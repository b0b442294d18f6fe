//! What points come from: a server, or a snapshot.

use pageway::{Error, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A collection that is asked in the words of Qdrant's interface.
pub(crate) trait Source {
    /// The text of the answer to a request at a path of the collection.
    ///
    /// # Errors
    /// Where the other side refuses, or does not answer; where the user wants to stop.
    fn answer(&self, path: &str, body: Option<&Value>) -> Result<String>;

    /// Who answers, for messages.
    fn name(&self) -> String;
}

#[derive(Deserialize)]
struct Envelope<T> {
    result: T,
}

/// Asks for what is at a path.
///
/// # Errors
/// As `Source::answer`; an answer that is not understood.
pub(crate) fn ask<T: DeserializeOwned>(
    source: &dyn Source,
    path: &str,
    body: Option<&Value>,
) -> Result<T> {
    let text = source.answer(path, body)?;
    let envelope = serde_json::from_str::<Envelope<T>>(&text);
    let envelope = envelope.map_err(|error| {
        let name = source.name();
        Error::invalid(format!("{name}{path}: no answer of Qdrant's: {error}"))
    })?;
    Ok(envelope.result)
}
