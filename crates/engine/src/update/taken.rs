//! Rows that a segment is made of, and which of them die while it is made. No list of deaths is
//! kept: they are the difference between the rows that lived then and those that live now.

use std::sync::Arc;

use super::living::LivingPart;
use crate::build::DocumentsById;
use crate::delta::{Delta, DeltaView, KnownList, Numbering};
use crate::error::Result;

/// Bytes of a delta's row that is being flushed, beside its vector: its number and id, and a second
/// copy of both for its attributes.
pub(super) const TAKEN_BYTES: u64 = 24;

/// Where the rows of a segment were taken from.
pub(super) trait Taken {
    /// Calls `tell` once with the id of each row that died since it was taken.
    ///
    /// # Errors
    /// Those of `tell` and of reading ids.
    fn each_death(&mut self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()>;
}

/// Rows of a closed delta, by ascending numbers.
pub(super) struct FromDelta {
    delta: Arc<Delta>,
    rows: Vec<u32>,
    ids: Vec<u64>,
}

/// Attributes of rows of a delta.
pub(super) struct DeltaDocuments {
    view: DeltaView,
    rows: Vec<u32>,
    ids: Vec<u64>,
}

impl DocumentsById for DeltaDocuments {
    fn each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        for (row, id) in self.rows.iter().zip(&self.ids) {
            if let Some(json) = self.view.document(*row) {
                visit(*id, json)?;
            }
        }
        Ok(())
    }
}

/// Rows of segments that lived when they were taken.
pub(super) struct FromSegments(pub(super) Vec<LivingPart>);

impl FromDelta {
    /// The rows of a closed delta that live now, and their vectors.
    pub(super) fn take(delta: &Arc<Delta>, row_bytes: usize) -> (Self, Vec<u8>) {
        let living = delta.living() as usize;
        let mut vectors = Vec::with_capacity(living * row_bytes);
        let (mut rows, mut ids) = (Vec::with_capacity(living), Vec::with_capacity(living));
        delta.view().each_living(|row, id, vector| {
            vectors.extend_from_slice(vector);
            rows.push(row);
            ids.push(id);
        });
        let delta = Arc::clone(delta);
        (Self { delta, rows, ids }, vectors)
    }

    /// Their attributes, where some have any.
    pub(super) fn documents(&self) -> Option<DeltaDocuments> {
        let view = self.delta.view();
        let has_some = self.rows.iter().any(|row| view.document(*row).is_some());
        has_some.then(|| DeltaDocuments {
            view,
            rows: self.rows.clone(),
            ids: self.ids.clone(),
        })
    }

    /// The neighbours that inserts found for each row, in this numbering; empty if they are to be
    /// searched for.
    pub(super) fn lists(&self, numbering: Numbering) -> Vec<KnownList> {
        self.delta.lists(&self.rows, numbering)
    }

    /// Their ids.
    pub(super) fn ids(&self) -> &[u64] {
        &self.ids
    }
}

impl Taken for FromDelta {
    fn each_death(&mut self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let view = self.delta.view();
        let mut living = view.living().peekable();
        let rows = std::mem::take(&mut self.rows);
        let ids = std::mem::take(&mut self.ids);
        for (row, id) in rows.into_iter().zip(ids) {
            while living.next_if(|living| *living < row).is_some() {}
            if living.peek() == Some(&row) {
                self.rows.push(row);
                self.ids.push(id);
            } else {
                tell(id)?;
            }
        }
        Ok(())
    }
}

impl Taken for FromSegments {
    fn each_death(&mut self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.0.iter().try_for_each(|part| part.each_death(tell))
    }
}
