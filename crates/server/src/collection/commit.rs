//! Changes of points on their way into the indexes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pageway::source::{TextRead, TextSlice};
use pageway::{Durability, Rows, Vfs, Which, Writer};
use pageway_object::SharedRecord;

use super::change::{Change, PutRow, decode, encode};
use super::journal::Journal;
use super::open::{OpenCollection, WriteOrder};
use super::point::Point;
use crate::failure::{Failure, Outcome};
use crate::partition::{Replica, unix_time};
use crate::wire::PointId;

/// Bytes that the document of a row with a name has for it.
const NAME_BYTES: usize = 64;

impl OpenCollection {
    /// The number of the next operation. That of a partition is of the record that it begins with.
    pub(super) fn next_operation(&self, order: &mut WriteOrder) -> Outcome<u64> {
        self.check_changes()?;
        if let Some(broken) = &order.broken {
            return Err(broken.clone());
        }
        let next = match self.shared.get() {
            Some(replica) => replica.begin(&mut |record| self.redo_in(order, record))?,
            None => order.last + 1,
        };
        order.last = next;
        Ok(next)
    }

    /// Puts points in, each in place of the one of its id.
    pub(super) fn put(&self, order: &mut WriteOrder, points: Vec<Point>) -> Outcome<()> {
        let rows = points.into_iter().map(|point| point.into_row(&self.schema));
        let rows: Outcome<Vec<Change>> = rows.map(|row| row.map(Change::Put)).collect();
        self.commit(order, &rows?)
    }

    /// Does changes of different points, so that a kill does not lose them. Those of a partition
    /// are in its log first.
    pub(super) fn commit(&self, order: &mut WriteOrder, changes: &[Change]) -> Outcome<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.check_room(changes)?;
        let Some(replica) = self.shared.get() else {
            return self.commit_here(order, changes);
        };
        let number = replica.append(&encode(changes), unix_time()?)?;
        self.commit_here(order, changes)?;
        replica.settled(number);
        order.last = number;
        Ok(())
    }

    /// Refuses changes that an index has no memory for, before any log has them.
    fn check_room(&self, changes: &[Change]) -> Outcome<()> {
        for (number, writer) in self.writers.iter().enumerate() {
            let rows = changes.iter().filter_map(|change| match change {
                Change::Put(row) => Some(row),
                Change::Delete(_) => None,
            });
            let is_here =
                |row: &&PutRow| number == 0 || matches!(row.vectors.get(number), Some(Some(_)));
            let bytes = rows.filter(is_here).map(|row| row.document.len());
            if let Some(longest) = bytes.max() {
                let room = writer.check_room(longest + NAME_BYTES);
                room.map_err(|error| self.refused(error.into()))?;
            }
        }
        Ok(())
    }

    /// Does what a record of the log of a partition says, where it is the next one.
    pub(crate) fn redo(&self, record: &SharedRecord) -> Outcome<()> {
        let mut order = self.order();
        let Some(replica) = self.shared.get() else {
            return Err(Failure::internal("a record for what is no partition"));
        };
        replica.take(record, &mut |record| self.redo_in(&mut order, record))
    }

    /// Leads its partition from now on where nobody does, when all of the log is in the indexes.
    pub(crate) fn lead(&self, replica: &Replica) -> Outcome<bool> {
        let mut order = self.order();
        replica.lead(unix_time()?, &mut |record| self.redo_in(&mut order, record))
    }

    fn redo_in(&self, order: &mut WriteOrder, record: &[u8]) -> Outcome<()> {
        if let Some(broken) = &order.broken {
            return Err(broken.clone());
        }
        let mut changes = decode(record)?;
        self.pass_over(&mut changes)?;
        self.commit_here(order, &changes)
    }

    /// Takes out of the changes of a log what no index takes, which has never been acknowledged;
    /// gives the ids of the points.
    fn pass_over(&self, changes: &mut Vec<Change>) -> Outcome<Vec<PointId>> {
        let (mut taken, mut passed) = (Vec::with_capacity(changes.len()), Vec::new());
        for change in changes.drain(..) {
            match &change {
                Change::Put(row) if !self.schema.takes(row)? => passed.push(row.id),
                Change::Put(_) | Change::Delete(_) => taken.push(change),
            }
        }
        *changes = taken;
        Ok(passed)
    }

    /// Does in every index what the journal says may not be in all of them.
    pub(super) fn recover(&self, vfs: &Arc<dyn Vfs>, dir: &Path) -> Outcome<()> {
        let (mut redone, mut passed) = (false, Vec::new());
        let mut journal = Journal::open(vfs, dir, |record| {
            redone = true;
            let mut changes = decode(record)?;
            passed.extend(self.pass_over(&mut changes)?);
            self.apply(&changes)
        })?;
        // A part of the indexes may have taken it: all get what the first one has.
        let points = self.load(&passed, &|_| true)?.into_iter();
        let rows = points.filter_map(|point| point.into_row(&self.schema).ok());
        self.apply(&rows.map(Change::Put).collect::<Vec<_>>())?;
        if redone {
            self.sync_indexes()?;
            journal.forget()?;
        }
        self.order().journal = Some(journal);
        Ok(())
    }

    /// Does changes in the indexes.
    fn commit_here(&self, order: &mut WriteOrder, changes: &[Change]) -> Outcome<()> {
        if let Some(journal) = &mut order.journal {
            journal.append(&encode(changes))?;
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        let applied = self.apply(changes);
        // What was found meanwhile is of neither state.
        self.changes.fetch_add(1, Ordering::AcqRel);
        if order.journal.is_some() {
            if let Err(failure) = applied {
                // Some indexes may have it: opening the collection does it in all.
                let failure = self.interrupted(failure);
                let words = "the collection is opened again first";
                order.broken = Some(failure.clone().within(words));
                return Err(failure);
            }
        } else {
            applied.map_err(|failure| self.refused(failure))?;
        }
        if self.shared.get().is_none() {
            let lsn = self.writers.first().map(Writer::changes).transpose()?;
            order.last = order.last.max(lsn.map_or(0, |changes| changes.lsn));
        }
        if order.journal.as_ref().is_some_and(Journal::is_long) {
            self.sync_indexes()?;
            if let Some(journal) = &mut order.journal {
                journal.forget()?;
            }
        }
        Ok(())
    }

    /// Gives up the journal where all that is in it is durable in every index.
    pub(super) fn forget_journal(&self) -> Outcome<()> {
        if self.is_broken() {
            return Ok(());
        }
        let mut order = self.order();
        let journal = order.journal.as_mut().filter(|own| !own.is_empty());
        journal.map_or(Ok(()), Journal::forget)
    }

    /// Makes durable what was committed.
    pub(super) fn sync(&self) -> Outcome<()> {
        let mut order = self.order();
        if let Some(journal) = &mut order.journal {
            return journal.sync();
        }
        drop(order);
        self.sync_indexes()
    }

    /// Does changes in every index.
    pub(super) fn apply(&self, changes: &[Change]) -> Outcome<()> {
        let mut writers = self.writers.iter().enumerate();
        writers.try_for_each(|own| self.apply_in(own, changes))
    }

    /// Does changes in an index.
    fn apply_in(&self, (number, writer): (usize, &Writer), changes: &[Change]) -> Outcome<()> {
        let mut part = IndexPart::default();
        for change in changes {
            match change {
                Change::Delete(id) => part.delete(*id),
                Change::Put(row) => match self.vector(row, number) {
                    Some(vector) => part.put(row, &vector),
                    None => part.delete(row.id),
                },
            }
        }
        part.apply(writer)
    }

    /// The vector of a row in an index; one of no meaning in the first index where there is none.
    fn vector(&self, row: &PutRow, number: usize) -> Option<Vec<u8>> {
        if let Some(vector) = row.vectors.get(number).cloned().flatten() {
            return Some(vector);
        }
        if number > 0 {
            return None;
        }
        let field = self.schema.dense.first();
        if field.is_some() {
            self.has_gaps.store(true, Ordering::Release);
        }
        let absent = field.map_or_else(|| vec![0.0], |field| field.distance.absent(field.size));
        Some(bytes_of(&absent))
    }
}

/// Numbers as rows have them.
pub(super) fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// What is done in one index.
#[derive(Default)]
struct IndexPart {
    numbered: RowSet<u64>,
    named: RowSet<String>,
    dead_numbers: Vec<u64>,
    dead_names: Vec<String>,
}

/// Rows with ids of one kind.
struct RowSet<K> {
    keys: Vec<K>,
    documents: Vec<String>,
    vectors: Vec<u8>,
}

impl<K> Default for RowSet<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            documents: Vec::new(),
            vectors: Vec::new(),
        }
    }
}

impl<K> RowSet<K> {
    fn push(&mut self, key: K, document: &str, vector: &[u8]) {
        self.keys.push(key);
        self.documents.push(document.to_owned());
        self.vectors.extend(vector);
    }
}

impl IndexPart {
    fn put(&mut self, row: &PutRow, vector: &[u8]) {
        match (row.id, row.id.name()) {
            (_, Some(name)) => self.named.push(name, &row.document, vector),
            (PointId::Number(number), None) => self.numbered.push(number, &row.document, vector),
            (PointId::Uuid(_), None) => {}
        }
    }

    fn delete(&mut self, id: PointId) {
        match (id, id.name()) {
            (_, Some(name)) => self.dead_names.push(name),
            (PointId::Number(number), None) => self.dead_numbers.push(number),
            (PointId::Uuid(_), None) => {}
        }
    }

    fn apply(&self, writer: &Writer) -> Outcome<()> {
        let shape = writer.index().shape();
        let later = Durability::Deferred;
        if !self.numbered.keys.is_empty() {
            let documents = TextSlice::attributes(&self.numbered.documents);
            let rows = Rows::new(&self.numbered.vectors, shape)
                .with_ids(self.numbered.keys.as_slice())
                .with_attributes(&documents as &dyn TextRead)
                .with_durability(later);
            writer.upsert(&rows)?;
        }
        if !self.named.keys.is_empty() {
            let documents = TextSlice::attributes(&self.named.documents);
            let names = TextSlice::names(&self.named.keys);
            let rows = Rows::new(&self.named.vectors, shape)
                .with_names(&names as &dyn TextRead)
                .with_attributes(&documents as &dyn TextRead)
                .with_durability(later);
            writer.upsert(&rows)?;
        }
        if !self.dead_numbers.is_empty() {
            writer.delete_rows(Which::Ids(&self.dead_numbers), later)?;
        }
        if !self.dead_names.is_empty() {
            writer.delete_rows(Which::Names(&self.dead_names), later)?;
        }
        Ok(())
    }
}

/// The last of the points of each id.
pub(super) fn last_of_each(points: Vec<Point>) -> Vec<Point> {
    let mut known = std::collections::HashSet::new();
    let mut kept: Vec<Point> = points
        .into_iter()
        .rev()
        .filter(|one| known.insert(one.id))
        .collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pageway::OsVfs;
    use serde_json::json;

    use super::*;
    use crate::collection::document::PointDocument;
    use crate::collection::{OpenMemory, Schema};

    fn schema() -> Schema {
        let vectors = json!({
            "a": {"size": 2, "distance": "Dot"}, "b": {"size": 2, "distance": "Dot"},
        });
        Schema::of(&json!({"params": {"vectors": vectors}})).unwrap()
    }

    fn opened(vfs: &Arc<dyn Vfs>, dir: &Path) -> OpenCollection {
        let memory = OpenMemory {
            search: 16 << 20,
            update: 32 << 20,
            build: Some(16 << 20),
            threads: 1,
            latency_target: None,
            can_grow: false,
        };
        OpenCollection::open(vfs, dir, &schema(), memory).unwrap()
    }

    /// A point with a number as its version, in its payload and in its vectors.
    fn row(id: u64, number: f32, vectors: [Option<f32>; 2]) -> Change {
        let vector = |own: Option<f32>| own.map(|own| bytes_of(&[own, number]));
        let document = PointDocument {
            version: number as u64,
            payload: json!({"n": number}).as_object().unwrap().clone(),
            ..PointDocument::default()
        };
        Change::Put(PutRow {
            id: PointId::Number(id),
            document: document.encode().unwrap(),
            vectors: vectors.map(vector).into(),
        })
    }

    #[test]
    fn a_point_is_read_with_all_of_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("c");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        OpenCollection::create(&vfs, &dir, &schema()).unwrap();
        let open = opened(&vfs, &dir);
        let rows = |number| [row(1, number, [Some(number); 2])];
        open.commit(&mut open.order(), &rows(1.0)).unwrap();
        let put = |number: usize| {
            open.changes.fetch_add(1, Ordering::AcqRel);
            let own = (number, &open.writers[number]);
            open.apply_in(own, &rows(2.0)).unwrap();
        };
        put(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                put(1);
            });
            let points = open.load(&[PointId::Number(1)], &|_| true).unwrap();
            assert_eq!(points[0].vectors, vec![Some(vec![2.0, 2.0]); 2]);
        });
    }

    #[test]
    fn a_record_that_an_index_refuses_is_passed_over_when_a_collection_opens() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("c");
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        OpenCollection::create(&vfs, &dir, &schema()).unwrap();
        let open = opened(&vfs, &dir);
        let whole = [row(1, 1.0, [Some(1.0); 2]), row(2, 1.0, [Some(1.0); 2])];
        open.commit(&mut open.order(), &whole).unwrap();
        open.order().journal.as_mut().unwrap().forget().unwrap();
        // As a server without the check at the door left it: in the journal, and in one index.
        let long = [
            row(1, 2.0, [Some(2.0), Some(1e19)]),
            row(3, 2.0, [Some(2.0); 2]),
        ];
        open.order()
            .journal
            .as_mut()
            .unwrap()
            .append(&encode(&long))
            .unwrap();
        assert!(open.apply(&long).is_err());
        open.sync_indexes().unwrap();
        drop(open);
        for _ in 0..2 {
            let open = opened(&vfs, &dir);
            let ids = [1, 2, 3].map(PointId::Number);
            let points = open.load(&ids, &|_| true).unwrap();
            let seen = points
                .iter()
                .map(|own| (own.document.payload["n"].as_f64(), &own.vectors));
            let both = |a: [f32; 2], b: [f32; 2]| vec![Some(a.to_vec()), Some(b.to_vec())];
            // The point is as the first index has it, with the vector that it had before.
            let first = both([2.0, 2.0], [1.0, 1.0]);
            let (second, third) = (both([1.0; 2], [1.0; 2]), both([2.0; 2], [2.0; 2]));
            let expected = [
                (Some(2.0), &first),
                (Some(1.0), &second),
                (Some(2.0), &third),
            ];
            assert_eq!(seen.collect::<Vec<_>>(), expected);
            let filter = r#"{"must": [{"key": "n", "range": {"gte": 2, "lt": 3}}]}"#;
            let filter = pageway::Filter::qdrant(filter).unwrap();
            for number in 0..2 {
                let count = open.index(number).unwrap().count(&filter).unwrap();
                assert_eq!(count, 2, "the payload is the same in all indexes");
            }
            open.commit(&mut open.order(), &[row(4, 4.0, [Some(4.0), None])])
                .unwrap();
            open.close().unwrap();
        }
    }
}
