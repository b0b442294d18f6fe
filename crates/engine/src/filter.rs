//! What rows must be to be found, and what came of it.

use std::str::FromStr;
use std::sync::Arc;

use pageway_attributes::{Document, Predicate, ids_of_bitmap, usual_bytes};
use pageway_types::{IdSet, did_you_mean};

use crate::error::{Error, Result};

/// A predicate over the attributes of rows, or a set of their ids: only rows that match are found.
#[derive(Clone, PartialEq, Debug)]
pub struct Filter {
    predicate: Predicate,
    /// Ids that a row has one of.
    ids: Option<Arc<IdSet>>,
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
            ids: None,
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
            ids: None,
            knows_fields: false,
        })
    }

    /// Rows with one of these ids, and no others. The set is memory of the caller; a search asks it
    /// for the id of every row.
    pub fn ids(ids: impl Into<Arc<IdSet>>) -> Self {
        Self {
            predicate: Predicate::All,
            ids: Some(ids.into()),
            knows_fields: false,
        }
    }

    /// Rows whose ids are in a bitmap of 32 bits, in the portable format of Roaring.
    ///
    /// # Errors
    /// `InvalidInput` for bytes that are none.
    pub fn bitmap(bytes: &[u8]) -> Result<Self> {
        let ids = ids_of_bitmap(bytes).map_err(|error| Error::from(error).within("filter"))?;
        Ok(Self::ids(ids.collect::<IdSet>()))
    }

    /// The ids that a row must have one of, where there are such.
    pub(crate) fn id_set(&self) -> Option<&IdSet> {
        self.ids.as_deref()
    }

    /// The predicate, in canonical form.
    pub(crate) const fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// Whether a path that no row has a value at is refused.
    pub(crate) const fn knows_fields(&self) -> bool {
        self.knows_fields
    }

    /// Whether a row matches that has this id and these attributes, as JSON. What is no document
    /// stands for none.
    pub fn matches(&self, id: u64, attributes: Option<&str>) -> bool {
        self.matches_row(id, attributes.map(str::as_bytes))
    }

    /// The same of bytes.
    pub(crate) fn matches_row(&self, id: u64, json: Option<&[u8]>) -> bool {
        if self.ids.as_ref().is_some_and(|ids| !ids.contains(id)) {
            return false;
        }
        let document = json.and_then(|json| serde_json::from_slice(json).ok());
        let document: Document = document.unwrap_or_default();
        self.predicate.matches(&document, Some(id))
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Walk, Self::ScanCodes, Self::ScanVectors];

    /// What it is asked for by.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::ScanCodes => "scan-codes",
            Self::ScanVectors => "scan-vectors",
        }
    }

    /// Words for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::ScanCodes => "scan of codes",
            Self::ScanVectors => "scan of vectors",
        }
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.token() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::token);
            Error::invalid(format!(
                "filter strategy {text:?}: known are {}{}",
                known.join(", "),
                did_you_mean(text, &known)
            ))
        })
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
    /// What the queries cost in the end, mean: by counts, in scores of codes.
    pub spent_cost: f64,
    /// Queries of which a walk found fewer than there were to find, or cost more than a scan would
    /// before its list was what it should be: their matches were scanned.
    pub rescued: usize,
}

/// Bytes set aside for the filters of an index with attributes, of so many rows in all and in its
/// longest segment: a bit for each row, and what turns predicates into those.
pub(crate) fn filter_bytes(rows: u32, longest: u32) -> u64 {
    u64::from(rows).div_ceil(64) * 8 + usual_bytes(longest)
}
