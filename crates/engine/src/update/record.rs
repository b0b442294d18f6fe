//! Records of the log: what a batch of changes does, in bytes.
//!
//! ```text
//! | kind u8 | 0 0 0 | rows u32 | ids u64 .. | vectors .. |     vectors where rows are put in
//! ```

use crate::error::{Error, ErrorKind, Result};

/// Bytes in front of the ids.
pub(super) const HEAD_BYTES: usize = 8;

/// What is done with the rows of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// They come in; their ids are new.
    Insert,
    /// They come in, in place of those of their ids.
    Upsert,
    /// They go.
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

/// What stands in front of the vectors of a record.
pub(super) fn head(operation: Operation, ids: &[u64]) -> Vec<u8> {
    let mut bytes = vec![operation.code(), 0, 0, 0];
    bytes.extend((ids.len() as u32).to_le_bytes());
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    bytes
}

/// What a record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LogRecord<'r> {
    pub(super) operation: Operation,
    pub(super) ids: Vec<u64>,
    pub(super) rows: &'r [u8],
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
        let operation = Operation::ALL
            .into_iter()
            .find(|operation| kind == [operation.code(), 0, 0, 0])
            .ok_or_else(|| {
                let words = "a record of the log is of a kind that this version does not know";
                Error::new(ErrorKind::Incompatible, words)
            })?;
        let count = count
            .first_chunk()
            .map_or(0, |count| u32::from_le_bytes(*count)) as usize;
        let Some((ids, rows)) = rest.split_at_checked(count.saturating_mul(8)) else {
            return Err(broken("fewer ids than it says"));
        };
        let expected = if operation.puts() {
            count.saturating_mul(row_bytes)
        } else {
            0
        };
        if rows.len() != expected {
            return Err(broken("vectors of another length"));
        }
        let ids = ids.as_chunks::<8>().0.iter();
        Ok(Self {
            operation,
            ids: ids.map(|id| u64::from_le_bytes(*id)).collect(),
            rows,
        })
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
        ) {
            let operation = Operation::ALL[kind];
            let rows = vec![7; if operation.puts() { ids.len() * 5 } else { 0 }];
            let bytes = [head(operation, &ids), rows.clone()].concat();
            let record = LogRecord::read(&bytes, 5).unwrap();
            let expected = LogRecord { operation, ids, rows: &rows };
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
