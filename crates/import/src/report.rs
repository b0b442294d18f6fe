//! What an import came to.

use pageway::{ElementType, Metric, Result};
use pageway_shell::output::Outcome;
use pageway_shell::text::{self, Facts};
use serde::Serialize;

use crate::compare::Comparison;

/// Exit code of an import that the comparison does not confirm.
const DISAGREES: u8 = 1;

/// What `--json` shows.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) collection: String,
    /// Points that were read.
    pub(crate) points: u64,
    /// Of those, the ones of runs before.
    pub(crate) resumed: u64,
    /// Points that the server counts at the end.
    pub(crate) counted: u64,
    pub(crate) indexes: Vec<IndexReport>,
    /// Vectors that were not imported.
    pub(crate) left_out: Vec<String>,
    pub(crate) seconds: f64,
}

/// An index that was made.
#[derive(Serialize)]
pub(crate) struct IndexReport {
    /// Name of its vectors; empty where points have one without.
    pub(crate) vector: String,
    pub(crate) index: String,
    pub(crate) rows: u64,
    /// Points without such a vector.
    pub(crate) without: u64,
    pub(crate) dimension: u32,
    pub(crate) element: ElementType,
    pub(crate) metric: Metric,
    /// Null where none was wanted.
    pub(crate) comparison: Option<Comparison>,
}

impl Report {
    /// For people and for programs.
    pub(crate) fn outcome(&self) -> Result<Outcome> {
        let wrong = self.wrong();
        let mut words = self.describe();
        for one in &wrong {
            words.push_str(&format!("\n\nDisagrees: {one}"));
        }
        let mut outcome = Outcome::new(words, self)?;
        if !wrong.is_empty() {
            outcome.exit_code = DISAGREES;
        }
        Ok(outcome)
    }

    /// What the server and the indexes do not agree about.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.counted != self.points {
            wrong.push(format!(
                "the server counts {} points, {} were read: points came or went meanwhile",
                text::count(self.counted),
                text::count(self.points)
            ));
        }
        for index in &self.indexes {
            if index.rows + index.without != self.points {
                wrong.push(format!(
                    "{} holds {} rows, and {} points have no such vector, of {}",
                    index.index,
                    text::count(index.rows),
                    text::count(index.without),
                    text::count(self.points)
                ));
            }
            let found = index.comparison.filter(|found| !found.is_right());
            wrong.extend(found.map(|found| {
                let share = text::percent(found.agreement);
                format!(
                    "{}: {share} of the exact answers are those of the server",
                    index.index
                )
            }));
        }
        wrong
    }

    fn describe(&self) -> String {
        let mut words = format!(
            "Imported {} points of '{}' in {}.",
            text::count(self.points),
            self.collection,
            text::seconds(self.seconds)
        );
        if self.resumed > 0 {
            let before = text::count(self.resumed);
            words.push_str(&format!(" Runs before had read {before} of them."));
        }
        if !self.left_out.is_empty() {
            words.push_str(&format!(" Not imported: {}.", self.left_out.join(", ")));
        }
        for index in &self.indexes {
            words.push_str(&format!("\n\n{}", index.describe()));
        }
        words
    }
}

impl IndexReport {
    fn describe(&self) -> String {
        let shape = format!(
            "{} x {} {}",
            text::count(self.rows),
            self.dimension,
            self.element
        );
        let mut facts = Facts::new()
            .fact("index", &self.index)
            .fact("rows", format!("{shape}, {}", self.metric));
        if !self.vector.is_empty() {
            facts = facts.fact("vector", &self.vector);
        }
        if self.without > 0 {
            facts = facts.fact("without", format!("{} points", text::count(self.without)));
        }
        if let Some(found) = &self.comparison {
            let words = format!(
                "of {} queries: {} of the exact answers as the collection's, recall@10 {:.3}",
                found.queries,
                text::percent(found.agreement),
                found.recall
            );
            facts = facts.fact("compared", words);
        }
        facts.render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disagrees_is_said_and_ends_with_another_code() {
        let index = |rows, agreement| IndexReport {
            vector: String::new(),
            index: "i".to_owned(),
            rows,
            without: 1,
            dimension: 4,
            element: ElementType::F32,
            metric: Metric::L2,
            comparison: Some(Comparison {
                queries: 5,
                agreement,
                recall: 1.0,
            }),
        };
        let report = |counted, rows, agreement| Report {
            collection: "c".to_owned(),
            points: 10,
            resumed: 0,
            counted,
            indexes: vec![index(rows, agreement)],
            left_out: Vec::new(),
            seconds: 1.0,
        };
        assert_eq!(report(10, 9, 1.0).outcome().unwrap().exit_code, 0);
        for (wrong, words) in [
            (report(11, 9, 1.0), "the server counts 11 points"),
            (report(10, 8, 1.0), "holds 8 rows"),
            (report(10, 9, 0.9), "of the exact answers"),
        ] {
            let outcome = wrong.outcome().unwrap();
            assert_eq!(outcome.exit_code, DISAGREES);
            assert!(outcome.text.contains(words), "{}", outcome.text);
        }
    }
}
