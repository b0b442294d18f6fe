//! `pageway lab filter`: searches among rows that match.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use pageway::source::TextRead;
use pageway::{MemoryWish, OsVfs, Preset, Result, Vfs};
use pageway_formats::{AttributesWish, open_attributes};
use pageway_lab::filter::{
    DesignRecord, FilterCells, FilterRecord, FilterSuite, FilterSummary, write_questions,
};
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Table};

use super::records::Records;
use super::vectors::VectorArguments;

const EXAMPLES: &str = "\
Examples:
  pageway lab filter --base mine.fbin --queries q.fbin --metric cosine --out filters
  pageway lab filter --base mine.fbin --queries q.fbin --metric l2 --all-presets --memory 20% \\
    --out all
  pageway lab filter --base mine.fbin --queries q.fbin --metric l2 --preset diskann \\
    --preset pageann --batch 1 --rounds 0 --out two
  pageway lab filter --base base.u8bin --queries q.u8bin --metric l2 --tags base.spmat \\
    --query-tags q.spmat --out tags

Rows get ranks by distance to four of the queries, and one at random; a filter is 'rank < n'. Nine
selectivities (all rows to none) by three correlations: the rows that match lie around the queries,
anywhere, or far from them. With --tags and --query-tags, as the filter track of
big-ann-benchmarks has them, rows match that have all tags of the query. --out keeps cells.jsonl, a record of every design and cell;
summary.json; the indexes; and questions.jsonl and ranks.ibin, with which
crates/lab/comparators/filter.py asks other libraries. docs/lab/filters.md says what the figures
mean.";

/// Search among rows that match, by how many do and where they lie, against the exact answer
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct FilterArguments {
    #[command(flatten)]
    data: VectorArguments,

    /// Design; may be given again
    #[arg(long = "preset", value_name = "PRESET", conflicts_with = "all_presets")]
    presets: Vec<Preset>,

    /// All designs; those that the memory does not hold are recorded as refused
    #[arg(long)]
    all_presets: bool,

    /// Memory of searches, in bytes or as a share of the vectors; that of `build` where absent
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Recall that each search is asked for
    #[arg(long, value_name = "RECALL", default_value_t = 0.95)]
    recall: f32,

    /// Neighbours
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// Tags of the rows in place of made attributes: .spmat, or lists of numbers in a field 'tags'
    #[arg(long, value_name = "FILE", requires = "query_tags")]
    tags: Option<PathBuf>,

    /// Tags that each query asks for
    #[arg(long, value_name = "FILE", requires = "tags")]
    query_tags: Option<PathBuf>,

    /// Queries of a call: those of one share pages and the set of rows that match
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// Rounds that are timed, after one that is not; 0 for counts alone
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,

    /// Directory of the indexes and the records, which does not exist or is empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl FilterArguments {
    /// Measures.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let loaded = self.data.read()?;
        let mut lines = Records::alone(&self.out, "cells.jsonl")?;
        let data = loaded.data();
        let k = self.k as usize;
        let cells = match self.tags.as_deref().zip(self.query_tags.as_deref()) {
            None => FilterCells::new(data, k, &session.progress)?,
            Some((rows, queries)) => {
                let tags = (
                    self.documents(rows, session)?,
                    self.documents(queries, session)?,
                );
                let tags = (tags.0.as_ref(), tags.1.as_ref());
                FilterCells::of_tags(data, tags, k, &session.progress)?
            }
        };
        write_questions(&self.out, &cells)?;
        let suite = FilterSuite {
            data,
            presets: self.designs(),
            memory: self.memory,
            k: self.k,
            recall: self.recall,
            batch: self.batch as usize,
            rounds: self.rounds,
            dir: self.out.clone(),
        };
        let mut records = Vec::new();
        let summary = suite.run(&cells, &session.progress, &mut |record| {
            records.push(record.clone());
            lines.keep(record)
        })?;
        lines.conclude(describe(&summary, &records), &summary)
    }

    /// Attributes in a file.
    fn documents(&self, path: &Path, session: &Session) -> Result<Box<dyn TextRead>> {
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let wish = AttributesWish {
            scratch: self.out.clone(),
            beside: None,
            schema: None,
        };
        open_attributes(&vfs, path, &wish, &session.progress)
    }

    fn designs(&self) -> Vec<Preset> {
        if self.all_presets {
            return Preset::ALL.to_vec();
        }
        let mut presets = Vec::new();
        for preset in &self.presets {
            if !presets.contains(preset) {
                presets.push(*preset);
            }
        }
        if presets.is_empty() {
            presets.push(Preset::default());
        }
        presets
    }
}

/// A table of each design.
fn describe(summary: &FilterSummary, records: &[FilterRecord]) -> String {
    let mut words = String::new();
    for design in &summary.designs {
        words += &format!("{}\n", head(design));
        let mut table = Table::new(&[
            "cell", "matches", "recall", "least", "of", "pages", "codes", "QPS", "way",
        ]);
        let own = records.iter();
        let own = own.filter(|record| record.design.name() == design.design);
        own.for_each(|record| table.row(row(record)));
        if design.refused.is_none() {
            words += &table.render();
        }
        words.push('\n');
    }
    words
}

fn head(design: &DesignRecord) -> String {
    let name = &design.design;
    if let Some(reason) = &design.refused {
        return format!("{name}: refused: {reason}");
    }
    let missing = match (design.short, design.wrong) {
        (0, 0) => "every query got its rows, all of which match".to_owned(),
        (short, wrong) => format!("{short} queries got too few rows, {wrong} rows do not match"),
    };
    format!(
        "{name}: memory {}; {} of {} cells below the recall, least {:.3} ({}); {missing}",
        pageway::format_bytes(design.memory_bytes),
        design.below,
        design.cells,
        design.least_recall.value,
        design.least_recall.cell,
    )
}

fn row(record: &FilterRecord) -> Vec<String> {
    let counts = &record.counts;
    let ways = counts.strategies.iter();
    let ways: Vec<String> = ways
        .map(|(way, queries)| format!("{way} {queries}"))
        .collect();
    let mut ways = ways.join(", ");
    if counts.rescued > 0 {
        ways += &format!(" (given up {})", counts.rescued);
    }
    vec![
        record.cell(),
        text::count(record.matches),
        format!("{:.3}", counts.recall),
        counts.least_returned.to_string(),
        record.owed.to_string(),
        text::figure(counts.pages),
        text::figure(counts.codes),
        record
            .queries_per_second
            .map_or_else(String::new, text::figure),
        ways,
    ]
}
