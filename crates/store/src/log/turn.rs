//! One turn of a group commit: some batches, resolved, written, synced and published in order.

use std::time::Instant;

use super::writer::Syncing;
use super::{Acknowledgement, Durability, LogWriter, Lsn, Records, Room, Sequence};
use crate::{StoreError, clock};

/// How a caller wants its batch to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) durability: Durability,
    pub(super) room: Room,
}

/// Answer to a caller.
pub(super) type Answer<S> = Result<Acknowledgement<<S as Sequence>::Outcome>, StoreError>;

/// What a leader holds.
pub(super) struct Core<S> {
    pub(super) sequence: S,
    pub(super) writer: LogWriter,
    /// When what was written and not synced has to be.
    pub(super) due: Option<Instant>,
}

/// Batches that were resolved, and the sync that they wait for.
pub(super) struct Turn<S: Sequence> {
    resolved: Vec<Result<Resolved<S::Batch>, StoreError>>,
    syncing: Result<Option<Syncing>, StoreError>,
}

impl<S: Sequence> Turn<S> {
    /// Syncs what was written, which needs neither the state nor the writer.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        match &self.syncing {
            Ok(Some(syncing)) => syncing.run(),
            Ok(None) | Err(_) => Ok(()),
        }
    }
}

/// A batch that was resolved and waits for the log.
struct Resolved<B> {
    batch: B,
    wish: Wish,
    last: Lsn,
}

impl<S: Sequence> Core<S> {
    pub(super) fn new(sequence: S, writer: LogWriter) -> Self {
        Self {
            sequence,
            writer,
            due: None,
        }
    }

    /// Resolves batches in their order and does to the log what the strictest of them asks for, but
    /// for the sync.
    pub(super) fn begin(&mut self, batches: Vec<(S::Batch, Wish)>) -> Turn<S> {
        let resolved: Vec<_> = batches
            .into_iter()
            .map(|(batch, wish)| self.resolve(batch, wish))
            .collect();
        let wishes = resolved.iter().flatten().map(|resolved| resolved.wish);
        let syncing = self.commit(wishes.map(|wish| wish.durability));
        Turn { resolved, syncing }
    }

    /// Publishes what was resolved, now that it is as durable as was asked: an answer for each.
    pub(super) fn end(&mut self, turn: Turn<S>, synced: Result<(), StoreError>) -> Vec<Answer<S>> {
        let Turn { resolved, syncing } = turn;
        let committed = syncing.and_then(|syncing| match syncing {
            Some(syncing) => {
                self.writer.end_sync(&syncing, synced)?;
                self.due = None;
                Ok(())
            }
            None => self.writer.check(),
        });
        resolved
            .into_iter()
            .map(|resolved| self.answer(resolved?, committed.is_ok()))
            .collect()
    }

    fn resolve(&mut self, batch: S::Batch, wish: Wish) -> Result<Resolved<S::Batch>, StoreError> {
        let mut batch = batch;
        let mut records = Records::new(&mut self.writer, wish.room);
        match self.sequence.resolve(&mut batch, &mut records) {
            Ok(()) => Ok(Resolved {
                batch,
                wish,
                last: self.writer.last(),
            }),
            Err(error) => {
                self.sequence.abandon(batch);
                Err(error)
            }
        }
    }

    fn commit(
        &mut self,
        durabilities: impl Iterator<Item = Durability>,
    ) -> Result<Option<Syncing>, StoreError> {
        let (mut write, mut sync) = (false, false);
        for durability in durabilities {
            match durability {
                Durability::Synced => sync = true,
                Durability::Batched(within) => {
                    write = true;
                    let due = clock::now().checked_add(within);
                    self.due = self.due.into_iter().chain(due).min();
                }
                Durability::Deferred => {}
            }
        }
        if sync || self.is_due() {
            return self.writer.begin_sync().map(Some);
        }
        if write {
            self.writer.write()?;
        }
        Ok(None)
    }

    fn answer(&mut self, resolved: Resolved<S::Batch>, committed: bool) -> Answer<S> {
        let Resolved { batch, last, .. } = resolved;
        if !committed {
            self.sequence.abandon(batch);
            return Err(self.failure());
        }
        Ok(Acknowledgement {
            outcome: self.sequence.publish(batch, last),
            lsn: last,
            durable: last <= self.writer.durable(),
        })
    }

    /// Why a commit failed: the writer says so since then.
    fn failure(&self) -> StoreError {
        let unknown = || StoreError::invalid("a commit of the log failed");
        self.writer.check().err().unwrap_or_else(unknown)
    }

    pub(super) fn sync(&mut self) -> Result<Lsn, StoreError> {
        let durable = self.writer.sync()?;
        self.due = None;
        Ok(durable)
    }

    pub(super) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| due <= clock::now())
    }
}
