//! A node: its points, which stand for the indexes, and what it does with its replica.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use pageway_object::{LogNext, NewSnapshot};

use super::super::replica::{Replica, ReplicaOptions};
use super::{GRACE, TERM, objects};
use crate::failure::Outcome;

/// What points have become: the last number that was put at each key.
pub(super) type Rows = BTreeMap<u64, u64>;

/// A change: a key, and what is put there; 0 takes it away. Every other one is of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SimChange(pub(super) u64, pub(super) u64);

impl SimChange {
    pub(super) fn encode(self) -> Vec<u8> {
        [self.0.to_le_bytes(), self.1.to_le_bytes()].concat()
    }

    fn decode(record: &[u8]) -> Self {
        let (numbers, _) = record.as_chunks();
        Self(
            u64::from_le_bytes(numbers[0]),
            u64::from_le_bytes(numbers[1]),
        )
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a replica may be refused")]
pub(super) fn redo(rows: &mut Rows, record: &[u8]) -> Outcome<()> {
    let SimChange(key, value) = SimChange::decode(record);
    if value == 0 {
        rows.remove(&key);
    } else {
        rows.insert(key, value);
    }
    Ok(())
}

pub(super) struct PartitionNode {
    pub(super) replica: Replica,
    pub(super) rows: Rows,
    /// What it comes back with; its rows may have more.
    pub(super) position: u64,
    /// Milliseconds that its clock is ahead of that of the world.
    pub(super) ahead: u64,
    /// A change that it was asked for, and what had been acknowledged by then.
    pub(super) begun: Option<(SimChange, u64)>,
    /// Where a snapshot begins that it makes, and the epoch that it led with.
    pub(super) snapshot: Option<((u64, u64), u64)>,
    /// The last epoch that it led with, as far as it was looked at.
    pub(super) epoch: u64,
}

fn replica(store: &Arc<dyn ObjectStore>, node: usize) -> Replica {
    let options = ReplicaOptions {
        term: TERM,
        snapshot_each: 1,
        grace: GRACE,
    };
    Replica::new(objects(store), ("p", &format!("n{node}")), options)
}

impl PartitionNode {
    pub(super) fn new(store: &Arc<dyn ObjectStore>, node: usize, ahead: u64) -> Self {
        Self {
            replica: replica(store, node),
            rows: Rows::new(),
            position: 0,
            ahead,
            begun: None,
            snapshot: None,
            epoch: 0,
        }
    }

    /// It dies, and begins with what is on its disk.
    pub(super) fn restart(&mut self, store: &Arc<dyn ObjectStore>, node: usize) {
        let fresh = replica(store, node);
        fresh.resume(self.position);
        (self.replica, self.begun, self.snapshot) = (fresh, None, None);
    }

    /// It dies with its disk.
    pub(super) fn lose(&mut self, store: &Arc<dyn ObjectStore>, node: usize) {
        (self.position, self.rows) = (0, Rows::new());
        self.restart(store, node);
    }

    /// Leads where it can; whether it does now, and did not.
    pub(super) fn lead(&mut self, now: Duration) -> bool {
        let (led, rows) = (self.replica.sign().leads, &mut self.rows);
        let leads = self.replica.lead(now, &mut |record| redo(rows, record));
        leads.unwrap() && !led
    }

    /// Takes what is next, of the log or of its snapshot; whether there was something.
    pub(super) fn follow(&mut self) -> bool {
        match self.replica.next().unwrap() {
            LogNext::End => false,
            LogNext::Record(record) => {
                let rows = &mut self.rows;
                let taken = self.replica.take(&record, &mut |own| redo(rows, own));
                taken.unwrap();
                true
            }
            LogNext::Cut(snapshot) => {
                let mut bytes = Vec::new();
                let fetched = self.replica.fetch(&snapshot, &mut |part| {
                    bytes.extend(part);
                    Ok(())
                });
                fetched.unwrap();
                self.replica.begin_again();
                self.rows = Rows::new();
                let (changes, _) = bytes.as_chunks::<16>();
                for change in changes {
                    redo(&mut self.rows, change).unwrap();
                }
                self.position = snapshot.place().0;
                self.replica.adopt(&snapshot);
                true
            }
        }
    }

    /// Notes where a snapshot begins, if it leads.
    pub(super) fn begin_snapshot(&mut self) {
        self.snapshot = self.replica.snapshot_place();
        self.epoch = self.snapshot.map_or(self.epoch, |(_, epoch)| epoch);
    }

    /// Sends its points, which may have become more since, and makes them the snapshot.
    pub(super) fn publish_snapshot(&mut self, now: Duration) -> bool {
        let Some((place, leader)) = self.snapshot.take() else {
            return false;
        };
        let rows = self.rows.iter();
        let bytes: Vec<u8> = rows
            .flat_map(|(key, value)| SimChange(*key, *value).encode())
            .collect();
        let new = NewSnapshot {
            place,
            leader,
            bytes: bytes.len() as u64,
            sha256: String::new(),
        };
        let published = self.replica.publish(&new, now, &mut |at, length| {
            Ok(bytes[at as usize..(at + length) as usize].to_vec())
        });
        published.unwrap()
    }
}
