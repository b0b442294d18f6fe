//! Checks of the attributes that are read for rows, as JSON.

use pageway_attributes::{
    Document, MAX_DOCUMENT_BYTES, Schema, check_keys, read_document, terms_of,
};

use super::texts::TextRead;
use crate::error::{Error, Result};

/// The document that a JSON text stands for, if rows can have it.
///
/// # Errors
/// `InvalidInput` for what is no object, and for objects that are too long or too deep or have
/// names or whole numbers that are too long.
pub(crate) fn check_document(json: &[u8]) -> Result<Document> {
    let document = read_document(json)?;
    if json.len() > MAX_DOCUMENT_BYTES {
        return Err(Error::invalid("a document of more than 1 MiB"));
    }
    terms_of(&document)?;
    Ok(document)
}

/// Refuses a document whose values are of other kinds than a schema says.
///
/// # Errors
/// `InvalidInput` naming the path.
pub(crate) fn check_kinds(document: &Document, schema: Option<&Schema>) -> Result<()> {
    Ok(schema.map_or(Ok(()), |schema| schema.check(document))?)
}

/// Refuses documents with a key that is kept for names. Costs a pass over them.
///
/// # Errors
/// `InvalidInput` naming the row.
pub(crate) fn check_free(attributes: &dyn TextRead) -> Result<()> {
    let mut row = attributes.first();
    attributes.visit(0, attributes.count(), &mut |json| {
        let place = || format!("{}, row {row}", attributes.name());
        check_keys(json).map_err(|error| Error::from(error).within(place()))?;
        row += 1;
        Ok(())
    })
}
