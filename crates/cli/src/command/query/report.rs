//! The report of a call. The names of its fields are the stable keys of `--json`.

use std::path::Path;

use pageway::truth::RangeScore;
use pageway::{Answers, FilterReport, Index, SearchOptions, Strategy, Tolerance, unlike_warning};
use serde::Serialize;

use crate::costs::Costs;
use crate::place::Requests;
use crate::text::{self, Facts};
use crate::workload::Searched;

/// Everything a call found out, apart from the answers.
#[derive(Serialize)]
pub(super) struct Report {
    queries: u64,
    #[serde(flatten)]
    quality: Quality,
    /// How far off distances may be: a share of them, or `any`.
    tolerance: Tolerance,
    #[serde(flatten)]
    costs: Costs,
    /// What the filter did with the last queries; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<FilterReport>,
    /// Requests to object storage by opening; absent of a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_at_open: Option<Requests>,
    /// Those of the searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<Requests>,
    /// Answers of the first queries, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answers: Vec<Shown>,
}

/// What a query found.
#[derive(Clone, Serialize)]
pub(super) struct Shown {
    query: u64,
    ids: Vec<u64>,
    /// The name of each row, where some have one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<Option<String>>,
    distances: Vec<f32>,
    /// How far off each distance may be; 0 where it is exact.
    errors: Vec<f32>,
    /// Attributes of each, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<Option<serde_json::Value>>,
}

impl Shown {
    /// The answers from query `first` to before `end`.
    pub(super) fn of(answers: &Answers, first: u64, end: u64) -> impl Iterator<Item = Self> {
        let lims = answers.lims.windows(2);
        (first..end).zip(lims).map(|(query, lims)| {
            let own = lims.first().copied().unwrap_or(0)..lims.last().copied().unwrap_or(0);
            // Where fewer rows match than were asked for, the rest has no ids.
            let ids = answers.ids.get(own.clone()).unwrap_or_default();
            let found = ids.iter().take_while(|id| **id != u64::MAX).count();
            let own = own.start..own.start + found;
            let floats = |all: &[f32]| all.get(own.clone()).unwrap_or_default().to_vec();
            Self {
                query,
                ids: answers.ids.get(own.clone()).unwrap_or_default().to_vec(),
                names: names(answers.names.get(own.clone())),
                distances: floats(&answers.distances),
                errors: floats(&answers.errors),
                attributes: attributes(answers.attributes.get(own.clone())),
            }
        })
    }

    /// A line for people, and one for each that has attributes.
    pub(super) fn line(&self) -> String {
        let errors = self.errors.iter().map(|error| match *error {
            0.0 => String::new(),
            error => format!(" +- {error}"),
        });
        let pairs = (0..).zip(&self.distances).zip(errors);
        let words = pairs.map(|((at, distance), error)| {
            let known_as = self.known_as(at);
            format!("  {known_as} ({distance}{error})")
        });
        let mut text = format!("query {}:{}", self.query, words.collect::<String>());
        for (at, own) in self.attributes.iter().enumerate() {
            if let Some(own) = own {
                text.push_str(&format!("\n  {}: {own}", self.known_as(at)));
            }
        }
        text
    }

    /// The name of a row, or its id.
    fn known_as(&self, at: usize) -> String {
        let name = self.names.get(at).cloned().flatten();
        let id = self.ids.get(at).map(u64::to_string);
        name.or(id).unwrap_or_default()
    }
}

/// Names as they are shown: of no row where none has one.
fn names(all: Option<&[Option<String>]>) -> Vec<Option<String>> {
    let all = all.unwrap_or_default();
    let some = all.iter().any(Option::is_some);
    if some { all.to_vec() } else { Vec::new() }
}

/// Attributes as they are shown.
fn attributes(all: Option<&[Option<String>]>) -> Vec<Option<serde_json::Value>> {
    let all = all.unwrap_or_default().iter();
    all.map(|own| {
        own.as_ref()
            .and_then(|json| serde_json::from_str(json).ok())
    })
    .collect()
}

/// How well.
#[derive(Serialize)]
#[serde(untagged)]
enum Quality {
    Nearest(Nearest),
    Within(Within),
}

/// How well the nearest were found.
#[derive(Serialize)]
struct Nearest {
    k: u32,
    /// Mean recall@k against the truth; null without truth.
    recall: Option<f64>,
    /// Recall@k that one query in twenty does not reach; null without truth.
    recall_p5: Option<f64>,
    /// Mean recall@k that the calibration of the index expects of these queries; null where it has
    /// none, and of searches with a filter, but for 1 where each row that matches was compared.
    expected_recall: Option<f64>,
    /// Share of the queries that are unlike those of the calibration.
    unlike: f64,
    /// What to say of that.
    #[serde(skip)]
    warning: Option<String>,
    /// Whether a filter let so few rows through that each was compared.
    #[serde(skip)]
    compares_all: bool,
}

/// How well all within a radius were found.
#[derive(Serialize)]
struct Within {
    radius: f32,
    /// Results per query at most.
    limit: u32,
    /// The limit that was wanted, where memory has no room for it.
    #[serde(skip)]
    wanted: Option<u32>,
    /// Mean results per query.
    results_per_query: f64,
    /// Queries with as many results as the limit allows: there may be more.
    truncated: u64,
    /// Mean share of the true results that was found; null without truth, and where no query has a
    /// true result.
    average_precision: Option<f64>,
    /// Queries that have true results; null without truth.
    queries_with_results: Option<u64>,
    /// True results of all queries; null without truth.
    true_results: Option<u64>,
}

impl Report {
    pub(super) fn new(
        index: &Index,
        searched: &Searched,
        options: &SearchOptions,
        open_ms: f64,
    ) -> Self {
        let quality = match options.radius {
            None => Quality::Nearest(Nearest::new(searched, options.k)),
            Some(radius) => Quality::Within(Within::new(searched, (radius, options.k))),
        };
        Self {
            queries: searched.run.queries,
            quality,
            tolerance: options.tolerance,
            costs: Costs::new(index, &searched.run, open_ms),
            filter: searched.filter,
            requests_at_open: None,
            requests: None,
            answers: Vec::new(),
        }
    }

    /// With the limit of a search within a radius that was wanted.
    pub(super) fn with_wanted(mut self, limit: u32) -> Self {
        if let Quality::Within(within) = &mut self.quality {
            within.wanted = Some(limit).filter(|limit| *limit > within.limit);
        }
        self
    }

    /// With requests until the index was open, and until the end.
    pub(super) fn with_requests(mut self, counted: Option<(Requests, Requests)>) -> Self {
        if let Some((open, all)) = counted {
            self.requests_at_open = Some(open);
            self.requests = Some(all.since(open));
        }
        self
    }

    /// With the answers of the first queries.
    pub(super) fn with_answers(self, answers: Vec<Shown>) -> Self {
        Self { answers, ..self }
    }

    /// The report for people: speed never without recall or precision.
    pub(super) fn describe(&self, index: &Path) -> String {
        let (within, facts) = match &self.quality {
            Quality::Nearest(nearest) => (String::new(), nearest.facts()),
            Quality::Within(within) => (format!(" within {}", within.radius), within.facts()),
        };
        let told = |requests: Option<Requests>| requests.map(|requests| requests.describe());
        let facts = filter_facts(self.filter, facts)
            .known("at open", told(self.requests_at_open))
            .known("searches", told(self.requests));
        format!(
            "{} queries{within} on {} in {}.\n\n{}",
            text::count(self.queries),
            index.display(),
            text::seconds(self.costs.seconds()),
            self.costs.add_to(facts).render()
        )
    }
}

/// What the filter did, for people.
fn filter_facts(filter: Option<FilterReport>, facts: Facts) -> Facts {
    let Some(filter) = filter else {
        return facts;
    };
    let costs = format!(
        "{} (a walk would cost {:.0} code scores a query, a scan {:.0}; spent {:.0})",
        filter.strategy.name(),
        filter.walk_cost,
        filter.scan_cost,
        filter.spent_cost
    );
    let rescued = text::count(filter.rescued as u64);
    let rescued = (filter.rescued > 0).then(|| format!("{rescued}: scanned"));
    facts
        .known("walks given up", rescued)
        .fact("rows that match", text::count(filter.matches))
        .fact("searched by", costs)
}

impl Nearest {
    fn new(searched: &Searched, k: u32) -> Self {
        let rounded = |share: f64| (share * 1e4).round() / 1e4;
        let is_compared = |filter: FilterReport| filter.strategy == Strategy::ScanVectors;
        let compares_all = searched.filter.is_some_and(is_compared);
        Self {
            k,
            recall: searched.recall,
            recall_p5: searched.recall_p5,
            // Calibrations are of searches among all rows.
            expected_recall: match searched.filter {
                None => searched.expected_recall.map(rounded),
                Some(_) => compares_all.then_some(1.0),
            },
            unlike: rounded(searched.unlike),
            warning: unlike_warning(searched.run.queries, searched.unlike as f32),
            compares_all,
        }
    }

    fn facts(&self) -> Facts {
        let facts = Facts::new().fact(format!("recall@{}", self.k), self.describe());
        facts.known("warning", self.warning.clone())
    }

    fn describe(&self) -> String {
        if self.compares_all && self.recall.is_none() {
            return "1: every row that matches was compared".to_owned();
        }
        let lowest = self.recall_p5.map_or(String::new(), |recall| {
            format!("; one query in 20 below {recall:.3}")
        });
        match (self.recall, self.expected_recall) {
            (Some(recall), Some(expected)) => {
                format!("{recall:.4} measured against the truth ({expected:.3} calibrated){lowest}")
            }
            (Some(recall), None) => format!("{recall:.4} measured against the truth{lowest}"),
            (None, Some(expected)) => {
                format!("{expected:.3} expected (calibrated); give --truth to measure it")
            }
            (None, None) => "unknown: not calibrated; give --truth".to_owned(),
        }
    }
}

impl Within {
    fn new(searched: &Searched, (radius, limit): (f32, u32)) -> Self {
        let score = searched.precision.as_ref();
        Self {
            radius,
            limit,
            wanted: None,
            results_per_query: searched.run.per_query(searched.results),
            truncated: searched.truncated,
            average_precision: score.and_then(RangeScore::mean),
            queries_with_results: score.map(|score| score.queries),
            true_results: score.map(|score| score.results),
        }
    }

    fn facts(&self) -> Facts {
        let mean = text::figure(self.results_per_query);
        let results = match self.truncated {
            0 => mean,
            cut => format!("{mean}; {} queries reached --limit", text::count(cut)),
        };
        let facts = Facts::new()
            .fact("avg. precision", self.describe())
            .fact("results/query", results);
        let Some(wanted) = self.wanted else {
            return facts;
        };
        let [limit, wanted] = [self.limit, wanted].map(|limit| text::count(limit.into()));
        let words = format!("{limit}, as memory has no room for {wanted}: give more --memory");
        facts.fact("limit", words)
    }

    fn describe(&self) -> String {
        match (
            self.average_precision,
            self.queries_with_results,
            self.true_results,
        ) {
            (Some(precision), Some(queries), Some(results)) => format!(
                "{precision:.4} over the {} queries that have results, {} in truth",
                text::count(queries),
                text::count(results)
            ),
            (None, Some(_), _) => "none: no query has a true result".to_owned(),
            _ => "unknown; give --truth or --exact to measure it".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_worst_queries_get_stands_beside_the_mean() {
        let nearest = |recall: Option<f64>| Nearest {
            k: 10,
            recall,
            recall_p5: recall.map(|recall| recall - 0.3),
            expected_recall: Some(0.97),
            unlike: 0.0,
            warning: None,
            compares_all: false,
        };
        assert!(nearest(None).describe().starts_with("0.970 expected"));
        let whole = Nearest {
            compares_all: true,
            ..nearest(None)
        };
        assert!(whole.describe().starts_with("1: every row"));
        assert_eq!(
            nearest(Some(0.9)).describe(),
            "0.9000 measured against the truth (0.970 calibrated); one query in 20 below 0.600"
        );
    }
}
