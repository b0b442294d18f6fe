//! What rows must be to be found, and what came of it.

use pageway_attributes::{Document, Predicate, usual_bytes};

use crate::error::{Error, Result};

/// A predicate over the attributes of rows: only rows that match are found.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    predicate: Predicate,
    /// Whether a path that no row has a value at is refused.
    knows_fields: bool,
}

impl Filter {
    /// The filter that an expression stands for, `lex = 'noun.food' and length < 80`: see
    /// `docs/filters.md`. Fields that no row has are refused when it is used.
    ///
    /// # Errors
    /// `InvalidInput` naming the column.
    pub fn expression(text: &str) -> Result<Self> {
        Ok(Self {
            predicate: Predicate::from_expression(text)?,
            knows_fields: true,
        })
    }

    /// The filter that the JSON of a filter of Qdrant's stands for. A field that no row has matches
    /// what a missing field matches.
    ///
    /// # Errors
    /// `InvalidInput` naming the place in the filter.
    pub fn qdrant(json: &str) -> Result<Self> {
        let wrong = |error| Error::invalid(format!("filter: {error}"));
        let value = serde_json::from_str(json).map_err(wrong)?;
        Ok(Self {
            predicate: Predicate::from_qdrant(&value)?,
            knows_fields: false,
        })
    }

    /// Rows with one of these ids, and no others; 10,000 at most.
    ///
    /// # Errors
    /// `InvalidInput` for more.
    pub fn ids(ids: impl IntoIterator<Item = u64>) -> Result<Self> {
        Ok(Self {
            predicate: Predicate::HasId(ids.into_iter().collect()).canonical()?,
            knows_fields: false,
        })
    }

    /// The predicate, in canonical form.
    pub(crate) const fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// Whether a path that no row has a value at is refused.
    pub(crate) const fn knows_fields(&self) -> bool {
        self.knows_fields
    }

    /// Whether a row matches that has no attributes, but this id.
    pub(crate) fn matches_bare(&self, id: u64) -> bool {
        self.predicate.matches(&Document::new(), Some(id))
    }
}

/// How the nearest of the rows that match are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// As without a filter, through rows that do not match, with a list that grows until it holds
    /// enough that do; or from the nearest clusters.
    Walk,
    /// Every row that matches is scored by its code, and the best are read.
    ScanCodes,
    /// The vector of every row that matches is read.
    ScanVectors,
}

impl Strategy {
    /// Words for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::ScanCodes => "scan of codes",
            Self::ScanVectors => "scan of vectors",
        }
    }
}

/// What a filter did in a search.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct FilterReport {
    /// Rows of segments that match and live.
    pub matches: u64,
    /// Documents that were read to tell.
    pub documents: u64,
    /// How they were searched.
    pub strategy: Strategy,
    /// What a walk would cost a query, in scores of a code.
    pub walk_cost: f64,
    /// What scanning all that matches would.
    pub scan_cost: f64,
    /// Queries of which a walk found fewer than there were to find: their matches were all read.
    pub rescued: usize,
}

/// Bytes set aside for the filters of an index with attributes, of so many rows in all and in its
/// longest segment: a bit for each row, and what turns predicates into those.
pub(crate) fn filter_bytes(rows: u32, longest: u32) -> u64 {
    u64::from(rows).div_ceil(64) * 8 + usual_bytes(longest)
}

/// The name that is most like another, if one is: a third of its letters may differ.
pub(crate) fn nearest_name<'n>(
    name: &str,
    known: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let near = known.map(|other| (edits(name, other), other)).min()?;
    (near.0 <= (name.chars().count() / 3).max(1)).then_some(near.1)
}

/// Letters to change, add or take away from one name to another.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for letter in from.chars() {
        let mut next = Vec::with_capacity(row.len());
        next.push(row.first().map_or(1, |first| first + 1));
        for (other, pair) in to.iter().zip(row.windows(2)) {
            let [diagonal, above] = pair else { continue };
            let left = next.last().copied().unwrap_or(0);
            let changed = diagonal + usize::from(*other != letter);
            next.push(changed.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_told() {
        let near = |name| nearest_name(name, ["length", "lex", "part"].into_iter());
        assert_eq!(near("lenght"), Some("length"));
        assert_eq!(near("le"), Some("lex"));
        assert_eq!(near("colour"), None);
    }
}
