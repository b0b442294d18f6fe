//! Records of the log: what a batch of changes does, in bytes.
//!
//! ```text
//! | kind u8 | parts u8 | 0 0 | rows u32 | ids u64 .. | vectors .. | attributes .. |
//! attributes    of each row { length u32, JSON }, none where the length is 0
//! ```
//!
//! Vectors where rows are put in; attributes where `parts` is 1.

use crate::delta::RowDocument;
use crate::error::{Error, ErrorKind, Result};
use crate::source::check_document;

/// The value of `parts` if attributes follow the vectors.
const HAS_ATTRIBUTES: u8 = 1;

/// Bytes in front of the ids.
pub(super) const HEAD_BYTES: usize = 8;

/// What is done with the rows of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// Rows come in; their ids are new.
    Insert,
    /// Rows come in and replace those with their ids.
    Upsert,
    /// Rows go.
    Delete,
}

impl Operation {
    const ALL: [Self; 3] = [Self::Insert, Self::Upsert, Self::Delete];

    const fn code(self) -> u8 {
        match self {
            Self::Insert => 1,
            Self::Upsert => 2,
            Self::Delete => 3,
        }
    }

    /// Whether rows come in.
    pub(super) fn puts(self) -> bool {
        self != Self::Delete
    }
}

/// The bytes of a record in front of its vectors.
pub(super) fn head(operation: Operation, ids: &[u64], has_attributes: bool) -> Vec<u8> {
    let mut bytes = vec![operation.code(), u8::from(has_attributes), 0, 0];
    bytes.extend((ids.len() as u32).to_le_bytes());
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    bytes
}

/// The bytes of a record behind its vectors: the attributes, if there are any.
pub(super) fn tail(documents: &[RowDocument]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for document in documents {
        let json = document.as_deref().unwrap_or_default();
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(json);
    }
    bytes
}

/// What a record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LogRecord<'r> {
    pub(super) operation: Operation,
    pub(super) ids: Vec<u64>,
    pub(super) rows: &'r [u8],
    /// Of each row, or empty.
    pub(super) documents: Vec<RowDocument>,
}

impl<'r> LogRecord<'r> {
    /// Reads a record of an index whose rows take so many bytes.
    ///
    /// # Errors
    /// `Corrupt` for one that makes no sense, `Incompatible` for one of a kind that is not known.
    pub(super) fn read(bytes: &'r [u8], row_bytes: usize) -> Result<Self> {
        let Some((head, rest)) = bytes.split_at_checked(HEAD_BYTES) else {
            return Err(broken("too short"));
        };
        let (kind, count) = head.split_at(4);
        let known = Operation::ALL.into_iter().find_map(|operation| {
            let code = operation.code();
            let plain = kind == [code, 0, 0, 0];
            let attributed = operation.puts() && kind == [code, HAS_ATTRIBUTES, 0, 0];
            (plain || attributed).then_some((operation, attributed))
        });
        let (operation, has_attributes) = known.ok_or_else(|| {
            let words = "a record of the log is of a kind that this version does not know";
            Error::new(ErrorKind::Incompatible, words)
        })?;
        let count = count
            .first_chunk()
            .map_or(0, |count| u32::from_le_bytes(*count)) as usize;
        let Some((ids, rest)) = rest.split_at_checked(count.saturating_mul(8)) else {
            return Err(broken("fewer ids than it says"));
        };
        let expected = if operation.puts() {
            count.saturating_mul(row_bytes)
        } else {
            0
        };
        let parts = rest.split_at_checked(expected);
        let Some((rows, tail)) = parts.filter(|(_, tail)| has_attributes || tail.is_empty()) else {
            return Err(broken("vectors of another length"));
        };
        let documents = if has_attributes {
            read_documents(count, tail)?
        } else {
            Vec::new()
        };
        let ids = ids.as_chunks::<8>().0.iter();
        Ok(Self {
            operation,
            ids: ids.map(|id| u64::from_le_bytes(*id)).collect(),
            rows,
            documents,
        })
    }
}

/// The attributes of `count` rows, which are all of `bytes`.
fn read_documents(count: usize, mut bytes: &[u8]) -> Result<Vec<RowDocument>> {
    let mut documents = Vec::with_capacity(count.min(bytes.len() / 4));
    for _ in 0..count {
        let (length, rest) = bytes
            .split_first_chunk()
            .ok_or_else(|| broken("fewer attributes than rows"))?;
        let parts = rest.split_at_checked(u32::from_le_bytes(*length) as usize);
        let (json, rest) = parts.ok_or_else(|| broken("attributes end early"))?;
        bytes = rest;
        if !json.is_empty() {
            check_document(json).map_err(|error| broken(&error.to_string()))?;
        }
        documents.push((!json.is_empty()).then(|| json.into()));
    }
    if bytes.is_empty() {
        Ok(documents)
    } else {
        Err(broken("bytes behind the attributes"))
    }
}

fn broken(what: &str) -> Error {
    let words = format!("a record of the log makes no sense: {what}");
    Error::new(ErrorKind::Corrupt, words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            ids in prop::collection::vec(any::<u64>(), 0..20),
            kind in 0usize..3,
            cut in 1usize..9,
            attributed: bool,
        ) {
            let operation = Operation::ALL[kind];
            let rows = vec![7; if operation.puts() { ids.len() * 5 } else { 0 }];
            let each = |id: &u64| id.is_multiple_of(2).then(|| format!("{{\"a\":{id}}}").into_bytes().into());
            let documents: Vec<RowDocument> = if attributed && operation.puts() {
                ids.iter().map(each).collect()
            } else {
                Vec::new()
            };
            let head = head(operation, &ids, !documents.is_empty());
            let bytes = [head, rows.clone(), tail(&documents)].concat();
            let record = LogRecord::read(&bytes, 5).unwrap();
            let expected = LogRecord { operation, ids, rows: &rows, documents };
            prop_assert_eq!(&record, &expected);
            prop_assert!(LogRecord::read(&bytes[..bytes.len() - cut.min(bytes.len())], 5).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = LogRecord::read(&bytes, 3);
        }
    }

    #[test]
    fn an_unknown_kind_is_of_a_newer_version() {
        let error = LogRecord::read(&[9, 0, 0, 0, 0, 0, 0, 0], 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incompatible);
    }
}
