//! The fields that there are: paths at which documents have values, and of what kinds.

use crate::compile::Attributes;
use crate::error::Result;
use crate::evaluate::Document;
use crate::path::Path;
use crate::terms::{Tag, parts, path_key, tag_key, terms_of};

/// A path at which documents have values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The path.
    pub path: String,
    /// Kinds of values there, in order.
    pub kinds: Vec<&'static str>,
    /// Different values that are no objects and no arrays.
    pub values: u64,
}

/// Fields that are told of at most.
const MAX_FIELDS: usize = 1000;

impl Attributes {
    /// The fields, in the order of their terms, the first 1000. Costs a pass over all terms.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is.
    pub fn fields(&self) -> Result<Vec<Field>> {
        let mut fields = Vec::new();
        self.terms.visit(&[], &[u8::MAX], &mut |term, _| {
            add_term(&mut fields, term);
            Ok(())
        })?;
        Ok(fields)
    }

    /// Whether a document has a value at a path, an index of which stands for all.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is.
    pub fn knows(&self, path: &Path) -> Result<bool> {
        let key = path_key(path);
        let (low, high) = (tag_key(&key, Tag::Count), tag_key(&key, Tag::Filled));
        let mut found = false;
        self.terms.visit(&low, &high, &mut |_, posting| {
            found |= posting.count() > 0;
            Ok(())
        })?;
        Ok(found)
    }
}

/// The fields of one document.
///
/// # Errors
/// As [`terms_of`].
pub fn fields_of(document: &Document) -> Result<Vec<Field>> {
    let mut fields = Vec::new();
    for term in terms_of(document)? {
        add_term(&mut fields, &term);
    }
    Ok(fields)
}

/// Adds what a term says of its field to those before it.
fn add_term(fields: &mut Vec<Field>, term: &[u8]) {
    let Some((path, tag, _)) = parts(term) else {
        return;
    };
    let Some((kind, is_value)) = kind(tag) else {
        return;
    };
    let path = path.to_string();
    let is_new = fields.last().is_none_or(|last| last.path != path);
    if is_new && fields.len() >= MAX_FIELDS {
        return;
    }
    if is_new {
        let (kinds, values) = (Vec::new(), 0);
        fields.push(Field {
            path,
            kinds,
            values,
        });
    }
    if let Some(field) = fields.last_mut() {
        if field.kinds.last() != Some(&kind) {
            field.kinds.push(kind);
        }
        field.values += u64::from(is_value);
    }
}

/// What a tag calls the kind of a value, if it says one.
pub(crate) fn kind_name(tag: Tag) -> Option<&'static str> {
    kind(tag).map(|(name, _)| name)
}

/// What a tag says of the kind of a value, and whether it has one that can be told from others.
fn kind(tag: Tag) -> Option<(&'static str, bool)> {
    Some(match tag {
        Tag::Null => ("null", false),
        Tag::Bool => ("bool", true),
        Tag::Int => ("integer", true),
        Tag::Float => ("float", true),
        Tag::Text | Tag::LongText => ("text", true),
        Tag::Object => ("object", false),
        Tag::List | Tag::EmptyList => ("list", false),
        Tag::Moment => ("datetime", false),
        Tag::Word | Tag::Count | Tag::Filled => return None,
    })
}
