//! Questions with exact answers.

use pageway::truth::Truth;
use pageway::{Error, Filter, Metric, Progress, Result, VectorShape};

use super::axes::{Correlation, Selectivity};
use super::ranks::{Ranks, field_names};
use crate::nearest::nearest;

/// All cells over one set of data.
pub struct FilterCells {
    /// All of them, by selectivity, then correlation.
    pub cells: Vec<FilterCell>,
    pub(super) ranks: Ranks,
}

/// One selectivity and correlation: a question for each anchor.
#[derive(Clone, Debug)]
pub struct FilterCell {
    /// How many rows match.
    pub selectivity: Selectivity,
    /// How those lie to the queries.
    pub correlation: Correlation,
    /// Rows that match.
    pub matches: u64,
    /// Questions.
    pub questions: Vec<FilterQuestion>,
}

/// Queries under one filter.
#[derive(Clone, Debug)]
pub struct FilterQuestion {
    /// Name of the field.
    pub field: String,
    /// Its number.
    pub(super) column: usize,
    /// Rows match whose rank is below.
    pub below: u64,
    /// Numbers of the queries.
    pub queries: Vec<u32>,
    /// Rows that match and are nearest, twice as many as are asked for, so that ties are known;
    /// none where no row matches.
    pub truth: Option<Truth>,
}

impl FilterQuestion {
    /// The filter as it is written.
    pub fn text(&self) -> String {
        format!("{} < {}", self.field, self.below)
    }

    /// The filter.
    ///
    /// # Errors
    /// As those of expressions are.
    pub fn filter(&self) -> Result<Filter> {
        Filter::expression(&self.text())
    }

    /// Vectors of the queries, of all.
    pub(super) fn rows_of(&self, queries: &[u8], row_bytes: usize) -> Vec<u8> {
        gathered(queries, &self.queries, row_bytes)
    }
}

impl FilterCells {
    /// Ranks rows, and finds the `k` nearest that match for all queries of all cells.
    ///
    /// Costs five distances per row and query, about: one per query and row that matches.
    ///
    /// # Errors
    /// `InvalidInput` for `k` of 0, without rows and with too few queries; `Cancelled`.
    pub fn new(
        (rows, queries): (&[u8], &[u8]),
        like: (VectorShape, Metric),
        k: usize,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if k == 0 {
            return Err(Error::invalid("the nearest 0 rows: give a k of at least 1"));
        }
        let ranks = Ranks::new((rows, queries), like, progress)?;
        let count = (rows.len() / like.0.row_bytes()) as u64;
        let mut cells = Vec::new();
        for selectivity in Selectivity::ALL {
            for correlation in Correlation::ALL {
                let matches = selectivity.of(count);
                let mut questions = Vec::new();
                for (column, asked) in ranks.asked(correlation) {
                    let mut question = FilterQuestion {
                        field: field_names().nth(column).unwrap_or_default(),
                        column,
                        below: matches,
                        queries: asked,
                        truth: None,
                    };
                    question.truth = answer(&question, &ranks, (rows, queries), like, k, progress)?;
                    questions.push(question);
                }
                cells.push(FilterCell {
                    selectivity,
                    correlation,
                    matches,
                    questions,
                });
            }
        }
        Ok(Self { cells, ranks })
    }

    /// Whether a row matches a question.
    pub(super) fn matches(&self, question: &FilterQuestion, row: u32) -> bool {
        let ranks = self.ranks.columns().get(question.column);
        let rank = ranks.and_then(|ranks| ranks.get(row as usize));
        rank.is_some_and(|rank| u64::from(*rank) < question.below)
    }
}

/// The nearest that match.
fn answer(
    question: &FilterQuestion,
    ranks: &Ranks,
    (rows, queries): (&[u8], &[u8]),
    like: (VectorShape, Metric),
    k: usize,
    progress: &dyn Progress,
) -> Result<Option<Truth>> {
    let column = ranks.columns().get(question.column);
    let own = (0..).zip(column.into_iter().flatten());
    let own = own.filter(|(_, rank)| u64::from(**rank) < question.below);
    let own: Vec<u32> = own.map(|(row, _)| row).collect();
    if own.is_empty() {
        return Ok(None);
    }
    let row_bytes = like.0.row_bytes();
    let (among, asked) = (
        gathered(rows, &own, row_bytes),
        question.rows_of(queries, row_bytes),
    );
    let mut truth = nearest(&among, &asked, like, (2 * k).min(own.len()), progress)?;
    for id in &mut truth.ids {
        *id = own.get(*id as usize).copied().unwrap_or(u32::MAX);
    }
    Ok(Some(truth))
}

/// Some of the rows, one after the other.
fn gathered(rows: &[u8], which: &[u32], row_bytes: usize) -> Vec<u8> {
    let row = |at: &u32| {
        let first = *at as usize * row_bytes;
        rows.get(first..first + row_bytes).unwrap_or_default()
    };
    which.iter().flat_map(row).copied().collect()
}
