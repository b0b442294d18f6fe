//! Names of rows, from the documents that hold them.

use pageway_attributes::{is_name_id, split_row_name};

use super::Version;
use crate::error::Result;
use crate::options::{Answers, Queries};

/// No attributes, as JSON.
const EMPTY: &[u8] = b"{}";

/// The name and the attributes that a document holds.
///
/// # Errors
/// `Corrupt` for a name that is no text.
pub(super) fn split_document(document: Option<String>) -> Result<(Option<String>, Option<String>)> {
    let Some(json) = document else {
        return Ok((None, None));
    };
    let (name, rest) = split_row_name(json.as_bytes())?;
    if name.is_none() {
        return Ok((None, Some(json)));
    }
    let attributes = (&*rest != EMPTY).then(|| String::from_utf8_lossy(&rest).into_owned());
    Ok((name, attributes))
}

impl Queries<'_> {
    /// Whether the document of the answer with this id is read, for its attributes or its name.
    pub(super) fn want_document_of(&self, id: u64) -> bool {
        let may_have_name = is_name_id(id) && id != u64::MAX;
        self.wants_attributes || (self.wants_names && may_have_name)
    }
}

impl Version {
    /// Reads the wanted documents of answers, beside those that deltas gave.
    ///
    /// # Errors
    /// `OutOfMemory` for more bytes than the queries allow.
    pub(super) fn add_documents(&self, queries: &Queries<'_>, answers: &mut Answers) -> Result<()> {
        let mut documents = std::mem::take(&mut answers.attributes);
        let of_node = |(node, id): (&u32, &u64)| {
            let wanted = queries.want_document_of(*id);
            if wanted { *node } else { u32::MAX }
        };
        let nodes = answers.nodes.iter().zip(&answers.ids);
        let nodes: Vec<u32> = nodes.map(of_node).collect();
        documents.resize(nodes.len(), None);
        if nodes.iter().any(|node| *node != u32::MAX) {
            let most = queries.attribute_bytes;
            self.documents_of((&nodes, most), &mut documents)?;
        }
        for document in documents {
            let (name, attributes) = split_document(document)?;
            if queries.wants_names {
                answers.names.push(name);
            }
            if queries.wants_attributes {
                answers.attributes.push(attributes);
            }
        }
        Ok(())
    }
}
