//! What becomes of a point, whole: so that doing it again changes nothing.
//!
//! ```text
//! changes  count u32 | { kind u8: 0 delete, 1 put | id | put: row }
//! row      document | vectors u8 | each: length u32, bytes
//! id       0 u8, u64 | 1 u8, 16 bytes
//! document length u32, JSON
//! ```
//!
//! Little-endian. A vector of no length is one that the point does not have.

use pageway::Uuid;

use crate::failure::{Failure, Outcome};
use crate::wire::PointId;

/// What becomes of a point.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Change {
    Delete(PointId),
    Put(PutRow),
}

/// A point as its rows keep it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PutRow {
    pub(crate) id: PointId,
    /// As JSON.
    pub(crate) document: String,
    /// Of each index, little-endian; none where the point has none.
    pub(crate) vectors: Vec<Option<Vec<u8>>>,
}

impl Change {
    /// The point.
    pub(crate) fn id(&self) -> PointId {
        match self {
            Self::Delete(id) => *id,
            Self::Put(row) => row.id,
        }
    }
}

/// Changes as a record of the journal.
pub(crate) fn encode(changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((changes.len() as u32).to_le_bytes());
    for change in changes {
        bytes.push(u8::from(matches!(change, Change::Put(_))));
        match change.id() {
            PointId::Number(number) => {
                bytes.push(0);
                bytes.extend(number.to_le_bytes());
            }
            PointId::Uuid(uuid) => {
                bytes.push(1);
                bytes.extend(uuid.0);
            }
        }
        if let Change::Put(row) = change {
            push(&mut bytes, row.document.as_bytes());
            bytes.push(row.vectors.len() as u8);
            for vector in &row.vectors {
                push(&mut bytes, vector.as_deref().unwrap_or_default());
            }
        }
    }
    bytes
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u32).to_le_bytes());
    bytes.extend(part);
}

/// The changes of a record.
///
/// # Errors
/// 500 where it holds none.
pub(crate) fn decode(record: &[u8]) -> Outcome<Vec<Change>> {
    let mut rest = Cursor(record);
    let mut read = || {
        let count = u32::from_le_bytes(rest.array()?);
        let mut changes = Vec::new();
        for _ in 0..count {
            changes.push(rest.change()?);
        }
        rest.0.is_empty().then_some(changes)
    };
    read().ok_or_else(|| Failure::internal("a record of a journal that holds no changes"))
}

struct Cursor<'r>(&'r [u8]);

impl<'r> Cursor<'r> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (own, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*own)
    }

    fn part(&mut self) -> Option<&'r [u8]> {
        let length = u32::from_le_bytes(self.array()?);
        let (own, rest) = self.0.split_at_checked(length as usize)?;
        self.0 = rest;
        Some(own)
    }

    fn change(&mut self) -> Option<Change> {
        let [kind, id_kind] = self.array()?;
        let id = match id_kind {
            0 => PointId::Number(u64::from_le_bytes(self.array()?)),
            1 => PointId::Uuid(Uuid(self.array()?)),
            _ => return None,
        };
        if kind == 0 {
            return Some(Change::Delete(id));
        }
        let document = std::str::from_utf8(self.part()?).ok()?.to_owned();
        let [count] = self.array()?;
        let mut vectors = Vec::new();
        for _ in 0..count {
            let vector = self.part()?;
            vectors.push((!vector.is_empty()).then(|| vector.to_vec()));
        }
        Some(Change::Put(PutRow {
            id,
            document,
            vectors,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back_as_they_were() {
        let changes = vec![
            Change::Delete(PointId::Number(u64::MAX)),
            Change::Put(PutRow {
                id: PointId::Uuid(Uuid([7; 16])),
                document: "{\"a\":1}".to_owned(),
                vectors: vec![None, Some(vec![1, 2, 3, 4])],
            }),
        ];
        let record = encode(&changes);
        assert_eq!(decode(&record).unwrap(), changes);
        for cut in 0..record.len() {
            assert!(decode(record.get(..cut).unwrap()).is_err(), "{cut}");
        }
    }
}
