//! Which points a request means.

use std::time::Instant;

use pageway::server::clock;
use pageway::{Filter, RowParts};
use serde_json::Value;

use super::open::OpenCollection;
use crate::failure::{Failure, Outcome};
use crate::wire::{PointId, Selector, filter_of};

/// Rows that are looked through at a time.
const PAGE_ROWS: usize = 4096;

impl OpenCollection {
    /// The filter that JSON stands for here; none where there is none.
    pub(super) fn filter(&self, json: Option<&Value>) -> Outcome<Option<Filter>> {
        let json = json.filter(|json| !json.is_null());
        let is_dense = |name: &str| self.schema.is_dense(name);
        json.map(|json| filter_of(json, &is_dense)).transpose()
    }

    /// How many points match a filter, or there are.
    pub(crate) fn count(&self, filter: Option<&Value>) -> Outcome<u64> {
        let filter = self.filter(filter)?;
        let first = self.first().filter(|index| !index.is_empty());
        match (first, filter) {
            (None, _) => Ok(0),
            (Some(index), None) => Ok(index.len()),
            (Some(index), Some(filter)) => Ok(index.count(&filter)?),
        }
    }

    /// The ids that a selector means, each once: those it names or, where it names none, those of
    /// the points that match.
    pub(super) fn selected(&self, selector: &Selector) -> Outcome<Vec<PointId>> {
        selector.check()?;
        let mut ids = match &selector.points {
            Some(ids) => ids.clone(),
            None => self.matching(self.filter(selector.filter.as_ref())?.as_ref(), None)?,
        };
        let mut known = std::collections::HashSet::new();
        ids.retain(|id| known.insert(*id));
        Ok(ids)
    }

    /// The ids of the points that match, or of all.
    pub(super) fn matching(
        &self,
        filter: Option<&Filter>,
        deadline: Option<Instant>,
    ) -> Outcome<Vec<PointId>> {
        let mut ids = Vec::new();
        let whole = (0, RowParts::default(), deadline);
        self.visit(filter, whole, &mut |id, _| {
            ids.push(id);
            Ok(())
        })?;
        Ok(ids)
    }

    /// Shows the points that match, or all, from an id of the engine on: the id and the document.
    /// 408 past the deadline.
    pub(super) fn visit(
        &self,
        filter: Option<&Filter>,
        (first, parts, deadline): (u64, RowParts, Option<Instant>),
        visit: &mut dyn FnMut(PointId, Option<&str>) -> Outcome<()>,
    ) -> Outcome<()> {
        let Some(index) = self.first().filter(|index| !index.is_empty()) else {
            return Ok(());
        };
        let mut next = Some(first);
        while let Some(first) = next {
            if deadline.is_some_and(|deadline| clock::now() >= deadline) {
                return Err(Failure::timeout());
            }
            let page = index.scroll(filter, (first, PAGE_ROWS), parts)?;
            for row in &page.rows {
                let id = PointId::of_row(row);
                let id = id.ok_or_else(|| Failure::internal("a row whose name is no id"))?;
                visit(id, row.attributes.as_deref())?;
            }
            next = page.next;
        }
        Ok(())
    }
}
