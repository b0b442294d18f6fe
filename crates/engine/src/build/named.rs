//! Rows with names, as rows with ids and documents.

use crate::error::{Error, Result};
use crate::options::BuildInput;
use crate::source::NamedRows;

/// Calls `act` with the input in which ids and documents take the place of names.
///
/// # Errors
/// `InvalidInput` for ids beside names; what `act` gives, with names in place of their ids.
pub(super) fn with_ids<T>(
    input: &BuildInput<'_>,
    act: impl FnOnce(&BuildInput<'_>) -> Result<T>,
) -> Result<T> {
    let Some(names) = input.names else {
        return act(input);
    };
    if input.ids.is_some() {
        return Err(Error::invalid("give ids or names, not both"));
    }
    let rows = NamedRows {
        names,
        attributes: input.attributes,
    };
    let named = BuildInput {
        ids: Some(&rows),
        names: None,
        attributes: Some(&rows),
        ..*input
    };
    act(&named).map_err(|error| rows.explain(error))
}
