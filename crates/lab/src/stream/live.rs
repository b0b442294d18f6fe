//! Which row each id has.

use std::collections::BTreeMap;

use pageway::{Error, Result};

use super::runbook::RunbookStep;

/// Ids that are in, with the rows of the data that they have.
#[derive(Clone, Default, Debug)]
pub(crate) struct Live {
    rows: BTreeMap<u64, u64>,
}

impl Live {
    /// Takes a step.
    ///
    /// # Errors
    /// `InvalidInput` for an insert of what is in, or a delete or replace of what is not.
    pub(crate) fn take(&mut self, step: &RunbookStep) -> Result<()> {
        match step {
            RunbookStep::Search => {}
            RunbookStep::Insert(rows) => {
                for row in rows.clone() {
                    if self.rows.insert(row, row).is_some() {
                        return Err(Error::invalid(format!("id {row} is in already")));
                    }
                }
            }
            RunbookStep::Delete(ids) => {
                for id in ids.clone() {
                    self.rows.remove(&id).ok_or_else(|| absent(id))?;
                }
            }
            RunbookStep::Replace { tags, rows } => {
                for (tag, row) in tags.clone().zip(rows.clone()) {
                    self.rows.insert(tag, row).ok_or_else(|| absent(tag))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Ids with their rows, by ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.rows.iter().map(|(id, row)| (*id, *row))
    }

    /// Rows of the data that are in.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.values().copied()
    }
}

fn absent(id: u64) -> Error {
    Error::invalid(format!("id {id} is not in"))
}
