//! The report of a search. The names of its fields are the stable keys of `--json`.

use std::path::Path;

use pageway::Index;
use serde::Serialize;

use crate::costs::Costs;
use crate::text::{self, Facts};
use crate::workload::Searched;

/// Everything a search found out, apart from the answers.
#[derive(Serialize)]
pub(crate) struct SearchReport {
    queries: u64,
    k: u32,
    #[serde(flatten)]
    quality: Quality,
    #[serde(flatten)]
    costs: Costs,
}

/// How well.
#[derive(Serialize)]
struct Quality {
    /// Mean recall@k against the truth; null without truth.
    recall: Option<f64>,
    /// What the calibration of the index expects at this list size; null beyond its ranks.
    expected_recall: Option<f64>,
}

impl SearchReport {
    pub(crate) fn new(index: &Index, k: u32, searched: &Searched, open_ms: f64) -> Self {
        let list_size = searched.run.settings.list_size;
        let expected = index.calibration().expected_recall(k, list_size);
        let expected_recall = expected.map(|recall| (f64::from(recall) * 1e4).round() / 1e4);
        Self {
            queries: searched.run.queries,
            k,
            quality: Quality {
                recall: searched.recall,
                expected_recall,
            },
            costs: Costs::new(index, &searched.run, open_ms),
        }
    }

    /// The report for people: speed never without recall.
    pub(crate) fn describe(&self, index: &Path) -> String {
        let recall = Facts::new().fact(format!("recall@{}", self.k), self.describe_recall());
        let queries = text::count(self.queries);
        let seconds = text::seconds(self.costs.seconds());
        format!(
            "{queries} queries on {} in {seconds}.\n\n{}",
            index.display(),
            self.costs.add_to(recall).render()
        )
    }

    fn describe_recall(&self) -> String {
        match (self.quality.recall, self.quality.expected_recall) {
            (Some(recall), Some(expected)) => {
                format!("{recall:.4} measured against the truth ({expected:.3} calibrated)")
            }
            (Some(recall), None) => format!("{recall:.4} measured against the truth"),
            (None, Some(expected)) => {
                format!("{expected:.3} expected (calibrated); give --truth to measure it")
            }
            (None, None) => "unknown: not calibrated for this k; give --truth".to_owned(),
        }
    }
}
