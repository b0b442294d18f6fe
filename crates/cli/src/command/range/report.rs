//! The report of a range search. The names of its fields are the stable keys of `--json`.

use std::path::Path;

use pageway::Index;
use serde::Serialize;

use crate::costs::Costs;
use crate::text::{self, Facts};
use crate::workload::RangeSearched;

/// Everything a range search found out, apart from the results.
#[derive(Serialize)]
pub(super) struct RangeReport {
    queries: u64,
    radius: f32,
    /// Mean results per query.
    results_per_query: f64,
    /// Queries with as many results as --limit allows: there may be more.
    truncated: u64,
    #[serde(flatten)]
    quality: Quality,
    #[serde(flatten)]
    costs: Costs,
}

/// How well.
#[derive(Serialize)]
struct Quality {
    /// Mean share of the true results that was found; null without truth, and where no query has a
    /// true result.
    average_precision: Option<f64>,
    /// Queries that have true results; null without truth.
    queries_with_results: Option<u64>,
    /// True results of all queries; null without truth.
    true_results: Option<u64>,
}

impl RangeReport {
    pub(super) fn new(index: &Index, radius: f32, searched: &RangeSearched, open_ms: f64) -> Self {
        let score = searched.score.as_ref();
        Self {
            queries: searched.run.queries,
            radius,
            results_per_query: searched.run.per_query(searched.results),
            truncated: searched.truncated,
            quality: Quality {
                average_precision: score.and_then(pageway::truth::RangeScore::mean),
                queries_with_results: score.map(|score| score.queries),
                true_results: score.map(|score| score.results),
            },
            costs: Costs::new(index, &searched.run, open_ms),
        }
    }

    /// The report for people: speed never without precision.
    pub(super) fn describe(&self, index: &Path) -> String {
        let facts = Facts::new()
            .fact("avg. precision", self.describe_precision())
            .fact("results/query", self.describe_results());
        format!(
            "{} queries within {} on {} in {}.\n\n{}",
            text::count(self.queries),
            self.radius,
            index.display(),
            text::seconds(self.costs.seconds()),
            self.costs.add_to(facts).render()
        )
    }

    fn describe_precision(&self) -> String {
        let Quality {
            average_precision,
            queries_with_results,
            true_results,
        } = &self.quality;
        match (average_precision, queries_with_results, true_results) {
            (Some(precision), Some(queries), Some(results)) => format!(
                "{precision:.4} over the {} queries that have results, {} in truth",
                text::count(*queries),
                text::count(*results)
            ),
            (None, Some(_), _) => "none: no query has a true result".to_owned(),
            _ => "unknown; give --truth or --exact to measure it".to_owned(),
        }
    }

    fn describe_results(&self) -> String {
        let mean = text::figure(self.results_per_query);
        match self.truncated {
            0 => mean,
            cut => format!("{mean}; {} queries reached --limit", text::count(cut)),
        }
    }
}
