//! A line for each design and cell, and their sums.

use std::collections::BTreeMap;

use pageway::Preset;
use serde::{Serialize, Serializer};

use super::axes::{Correlation, Selectivity};

/// What searches of a design came to, in one cell or without a filter.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FilterRecord {
    /// Name of the design.
    #[serde(serialize_with = "by_name")]
    pub design: Preset,
    /// How many rows match; none without a filter.
    pub selectivity: Option<Selectivity>,
    /// How those lie; without a filter, of which queries it is.
    pub correlation: Correlation,
    /// Rows that match.
    pub matches: u64,
    /// Rows that each query is owed: the k asked for, or all that match; of several filters the
    /// most.
    pub owed: usize,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// Queries in a second of one thread, median of several rounds; none where times were left out.
    /// Of this machine in whatever company it was.
    pub queries_per_second: Option<f64>,
}

/// Counts over all queries of a cell; costs are means of a query.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Counts {
    /// Queries.
    pub queries: usize,
    /// Recall among rows that match, mean; 1 for a query that none match.
    pub recall: f64,
    /// That which one query in twenty does not reach.
    pub recall_p5: f64,
    /// Rows returned to the query that got fewest.
    pub least_returned: usize,
    /// Queries that got fewer than they were owed.
    pub short: u64,
    /// Rows returned that do not match.
    pub wrong: u64,
    /// Pages read.
    pub pages: f64,
    /// Codes scored.
    pub codes: f64,
    /// Vectors compared.
    pub vectors: f64,
    /// Queries by how they were searched.
    pub strategies: BTreeMap<&'static str, u64>,
    /// Queries whose walk was given up for a scan.
    pub rescued: u64,
    /// Documents that were read to tell what matches, in all.
    pub documents: u64,
}

/// A design over all cells.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct DesignRecord {
    /// Its name.
    pub design: String,
    /// Why it was not built; the rest is empty then.
    pub refused: Option<String>,
    /// Memory of searches in bytes.
    pub memory_bytes: u64,
    /// Bytes on disk.
    pub index_bytes: u64,
    /// Cells.
    pub cells: usize,
    /// Cells whose recall is below that asked for.
    pub below: usize,
    /// The least recall of a cell.
    pub least_recall: WorstCell,
    /// The most pages of a query in a cell.
    pub most_pages: WorstCell,
    /// Recall without a filter, mean over the queries of all correlations.
    pub unfiltered_recall: f64,
    /// Pages of a query without a filter.
    pub unfiltered_pages: f64,
    /// Queries that got fewer rows than they were owed.
    pub short: u64,
    /// Rows returned that do not match.
    pub wrong: u64,
}

/// What a cell came to that is worse than the others.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WorstCell {
    /// Its figure.
    pub value: f64,
    /// The cell in words.
    pub cell: String,
}

/// A whole run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FilterSummary {
    /// Rows of the data.
    pub rows: u64,
    /// Neighbours.
    pub k: u32,
    /// Recall that was asked for.
    pub asked_recall: f32,
    /// Queries of a call.
    pub batch: usize,
    /// Designs.
    pub designs: Vec<DesignRecord>,
}

impl FilterRecord {
    /// The cell in words.
    pub fn cell(&self) -> String {
        let selectivity = self.selectivity.map(|one| one.to_string());
        let selectivity = selectivity.unwrap_or_else(|| "no filter".to_owned());
        format!("{selectivity}, {}", self.correlation.name())
    }
}

impl DesignRecord {
    /// Sums up the cells of a design.
    pub(super) fn of(records: &[FilterRecord], asked: f32) -> Self {
        let cells = || records.iter().filter(|one| one.selectivity.is_some());
        let plain = || records.iter().filter(|one| one.selectivity.is_none());
        let mean = |value: &dyn Fn(&FilterRecord) -> f64| {
            let values: Vec<f64> = plain().map(value).collect();
            crate::stream::mean(&values)
        };
        let recall = |one: &FilterRecord| one.counts.recall;
        let pages = |one: &FilterRecord| one.counts.pages;
        let least = cells().min_by(|one, other| recall(one).total_cmp(&recall(other)));
        let most = cells().max_by(|one, other| pages(one).total_cmp(&pages(other)));
        let worst = |one: &FilterRecord, value: f64| WorstCell {
            value,
            cell: one.cell(),
        };
        Self {
            cells: cells().count(),
            below: cells()
                .filter(|one| one.counts.recall < f64::from(asked))
                .count(),
            least_recall: least.map_or_else(WorstCell::default, |one| worst(one, recall(one))),
            most_pages: most.map_or_else(WorstCell::default, |one| worst(one, pages(one))),
            unfiltered_recall: mean(&|one| one.counts.recall),
            unfiltered_pages: mean(&|one| one.counts.pages),
            short: records.iter().map(|one| one.counts.short).sum(),
            wrong: records.iter().map(|one| one.counts.wrong).sum(),
            ..Self::default()
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn by_name<S: Serializer>(preset: &Preset, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(preset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cells_are_named_and_searches_without_filters_are_apart() {
        let record = |selectivity, correlation, recall, pages| FilterRecord {
            design: Preset::default(),
            selectivity,
            correlation,
            matches: 10,
            owed: 5,
            counts: Counts {
                recall,
                pages,
                short: 2,
                ..Counts::default()
            },
            queries_per_second: None,
        };
        let half = Some(Selectivity::Share(0.5));
        let records = [
            record(None, Correlation::None, 0.2, 100.0),
            record(half, Correlation::Positive, 0.97, 30.0),
            record(half, Correlation::Negative, 0.9, 20.0),
        ];
        let sums = DesignRecord::of(&records, 0.95);
        assert_eq!((sums.cells, sums.below, sums.short), (2, 1, 6));
        assert_eq!(sums.least_recall.cell, "0.5, negative");
        assert_eq!(sums.most_pages.cell, "0.5, positive");
        assert!((sums.unfiltered_pages - 100.0).abs() < 1e-12);
    }
}
