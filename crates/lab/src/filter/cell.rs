//! Questions with exact answers.

use pageway::truth::Truth;
use pageway::{Error, Filter, Progress, Result};

use super::axes::{Correlation, Selectivity};
use super::ranks::{Ranks, field_names};
use super::tags::RowTags;
use crate::in_memory::InMemory;

/// All cells over one set of data.
pub struct FilterCells {
    /// All of them, by selectivity, then correlation.
    pub cells: Vec<FilterCell>,
    pub(super) attributes: RowAttributes,
}

/// What rows are filtered by.
pub(super) enum RowAttributes {
    /// Numbers that the suite makes.
    Ranks(Ranks),
    /// Tags that come with the data.
    Tags(RowTags),
}

/// One selectivity and correlation: a question for each anchor, or for each filter that there is.
#[derive(Clone, Debug)]
pub struct FilterCell {
    /// How many rows match.
    pub selectivity: Selectivity,
    /// How those lie to the queries.
    pub correlation: Correlation,
    /// Rows that match; of several filters the mean.
    pub matches: u64,
    /// Questions.
    pub questions: Vec<FilterQuestion>,
}

/// Queries under one filter.
#[derive(Clone, Debug)]
pub struct FilterQuestion {
    /// Which rows match.
    pub asked: Asked,
    /// How many those are.
    pub matches: u64,
    /// Numbers of the queries.
    pub queries: Vec<u32>,
    /// Rows that match and are nearest, twice as many as are asked for, so that ties are known;
    /// none where no row matches.
    pub truth: Option<Truth>,
}

/// What a filter asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// A rank below a bound.
    Rank {
        /// Name of the field.
        field: String,
        /// Its number.
        column: usize,
        /// The bound.
        below: u64,
    },
    /// Tags, all of which a row has.
    Tags(Vec<u32>),
}

impl FilterQuestion {
    /// The filter as it is written.
    pub fn text(&self) -> String {
        match &self.asked {
            Asked::Rank { field, below, .. } => format!("{field} < {below}"),
            Asked::Tags(tags) if tags.is_empty() => "true".to_owned(),
            Asked::Tags(tags) => {
                let own = tags.iter().map(|tag| format!("tags = {tag}"));
                own.collect::<Vec<String>>().join(" and ")
            }
        }
    }

    /// The filter.
    ///
    /// # Errors
    /// As those of expressions are.
    pub fn filter(&self) -> Result<Filter> {
        Filter::expression(&self.text())
    }

    /// Finds the nearest of the rows that match, which are `own`.
    pub(super) fn answer(
        &mut self,
        data: InMemory<'_>,
        (own, k): (&[u32], usize),
        progress: &dyn Progress,
    ) -> Result<()> {
        if own.is_empty() {
            return Ok(());
        }
        let among = data.rows_at(own.iter().map(|row| u64::from(*row)));
        let matching = InMemory {
            rows: &among,
            queries: &data.queries_at(&self.queries),
            ..data
        };
        let mut truth = matching.nearest((2 * k).min(own.len()), progress)?;
        for id in &mut truth.ids {
            *id = own.get(*id as usize).copied().unwrap_or(u32::MAX);
        }
        self.truth = Some(truth);
        Ok(())
    }
}

impl FilterCells {
    /// Ranks rows, and finds the `k` nearest that match for all queries of all cells.
    ///
    /// Costs five distances per row and query, about: one per query and row that matches.
    ///
    /// # Errors
    /// `InvalidInput` for `k` of 0, without rows and with too few queries; `Cancelled`.
    pub fn new(data: InMemory<'_>, k: usize, progress: &dyn Progress) -> Result<Self> {
        if k == 0 {
            return Err(Error::invalid("the nearest 0 rows: give a k of at least 1"));
        }
        let ranks = Ranks::new(data, progress)?;
        let count = data.count();
        let mut cells = Vec::new();
        for selectivity in Selectivity::ALL {
            for correlation in Correlation::ALL {
                let matches = selectivity.of(count);
                let mut questions = Vec::new();
                for (column, asked) in ranks.asked(correlation) {
                    let own = ranks.below((column, matches));
                    let mut question = FilterQuestion {
                        asked: Asked::Rank {
                            field: field_names().nth(column).unwrap_or_default(),
                            column,
                            below: matches,
                        },
                        matches,
                        queries: asked,
                        truth: None,
                    };
                    question.answer(data, (&own, k), progress)?;
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
        Ok(Self {
            cells,
            attributes: RowAttributes::Ranks(ranks),
        })
    }

    /// Whether a row matches a question.
    pub(super) fn matches(&self, question: &FilterQuestion, row: u32) -> bool {
        match (&self.attributes, &question.asked) {
            (RowAttributes::Ranks(ranks), Asked::Rank { column, below, .. }) => {
                let ranks = ranks.columns().get(*column);
                let rank = ranks.and_then(|ranks| ranks.get(row as usize));
                rank.is_some_and(|rank| u64::from(*rank) < *below)
            }
            (RowAttributes::Tags(rows), Asked::Tags(tags)) => rows.has_all(row, tags),
            _ => false,
        }
    }

    /// A JSON object a row.
    pub(super) fn documents(&self) -> Vec<String> {
        match &self.attributes {
            RowAttributes::Ranks(ranks) => ranks.documents(),
            RowAttributes::Tags(rows) => rows.documents(),
        }
    }
}
