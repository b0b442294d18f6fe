//! `pageway lab updates`: searches beside inserts and deletes.

use std::path::PathBuf;

use clap::Args;
use pageway::{Durability, MemoryWish, Result};
use pageway_lab::updates::{
    FindingVerdict, Hands, Mix, UpdateDesign, UpdateSuite, UpdateSummary, Writing,
};
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Table};

use super::records::Records;
use super::vectors::VectorArguments;

const EXAMPLES: &str = "\
Examples:
  pageway lab updates --base sift.u8bin --queries q.u8bin --metric l2 --mix 9:1,1:1 --both --out sift
  pageway lab updates --base text.fbin --queries q.fbin --metric cosine --mix 1:1 --counts \\
    --first 64000 --operations 16000 --every 4000 --flush 100 --out text
  pageway lab updates --base text.fbin --queries q.fbin --metric cosine --first 20000 \\
    --operations 10000 --reads 10 --out reads
  pageway lab updates --base text.fbin --queries q.fbin --metric cosine --first 64000 \\
    --operations 16000 --design odinann --design diskann+update=overwrite --deferred --out two

Figures 15 and 16 of Chen et al., 2026: an index of the first rows is changed by ten callers while
sixteen threads search it. --out keeps steps.jsonl, a record of each design after --every
operations; summary.json, with what was published beside what was measured; and the indexes.
docs/lab/updates.md says what the figures mean.";

/// Search beside inserts and deletes: queries a second, latency of updates, merges, bytes written
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct UpdatesArguments {
    #[command(flatten)]
    data: VectorArguments,

    /// Design: a preset, or one with +NAME=VALUE for choices; may be given again
    #[arg(
        long = "design",
        value_name = "DESIGN",
        default_values = ["freshdiskann", "odinann", "dgai", "ipdiskann"]
    )]
    designs: Vec<UpdateDesign>,

    /// Rows that indexes are built of, the first ones
    #[arg(long, value_name = "N", default_value_t = 800_000)]
    first: u64,

    /// Inserts and deletes
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    operations: u64,

    /// Operations after which recall is measured
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    every: u64,

    /// Inserts to deletes; each of several is measured on the index as it was built
    #[arg(long, value_name = "I:D", default_value = "9:1", value_delimiter = ',')]
    mix: Vec<Mix>,

    #[command(flatten)]
    threads: ThreadArguments,

    #[command(flatten)]
    writing: WritingArguments,

    /// Neighbours
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// List size of searches
    #[arg(long, value_name = "L", default_value_t = 100)]
    list_size: u32,

    /// Directory of the indexes and the records, which does not exist or is empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Who works at the same time.
#[derive(Debug, Args)]
struct ThreadArguments {
    /// Threads that make one change after the other
    #[arg(long, value_name = "N", default_value_t = 10)]
    callers: usize,

    /// Threads that search for one query after the other
    #[arg(long, value_name = "N", default_value_t = 16)]
    searchers: usize,

    /// Searches that each caller makes behind each of its changes; no others search then
    #[arg(long, value_name = "N", conflicts_with_all = ["searchers", "counts"], value_parser = reads)]
    reads: Option<f64>,

    /// Count and measure recall alone: one caller, no searches beside it, no times
    #[arg(long)]
    counts: bool,
}

impl ThreadArguments {
    fn hands(&self) -> Hands {
        if self.counts {
            return Hands::COUNTING;
        }
        Hands {
            callers: self.callers.max(1),
            searchers: self.reads.map_or(self.searchers.max(1), |_| 0),
            reads: self.reads.unwrap_or(0.0),
        }
    }
}

fn reads(text: &str) -> std::result::Result<f64, String> {
    let reads = text.parse().ok();
    let reads = reads.filter(|reads| (0.001..=1000.0).contains(reads));
    reads.ok_or_else(|| "give 0.001 to 1000".to_owned())
}

/// What becomes of changes.
#[derive(Debug, Args)]
struct WritingArguments {
    /// Memory of searches, in bytes or as a share of the vectors; that of `build` where absent
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Memory for updates
    #[arg(long, value_name = "MEMORY")]
    update_memory: Option<MemoryWish>,

    /// Changes count when they are in memory, and not when they are synced
    #[arg(long)]
    deferred: bool,

    /// Measure both: changes that count when they are synced, and when they are in memory
    #[arg(long, conflicts_with = "deferred")]
    both: bool,

    /// Flush after every N operations; when memory is full where absent
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    flush: u64,

    /// Leave out the merge of everything at the end
    #[arg(long)]
    no_merge: bool,
}

impl UpdatesArguments {
    /// Measures.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let loaded = self.data.read()?;
        let mut records = Records::alone(&self.out, "steps.jsonl")?;
        let writing = &self.writing;
        let suite = UpdateSuite {
            data: loaded.data(),
            designs: self.designs.clone(),
            memory: [writing.memory, writing.update_memory],
            first: self.first,
            operations: (self.operations, self.every),
            rounds: self.rounds(),
            hands: self.threads.hands(),
            asking: (self.k, self.list_size),
            writing: Writing {
                flush: writing.flush,
                merges: !writing.no_merge,
            },
        };
        let summary = suite.run(&self.out, &session.progress, &mut |step| records.keep(step))?;
        records.conclude(describe(&summary), &summary)
    }

    fn rounds(&self) -> Vec<(Mix, Durability)> {
        let durabilities: &[Durability] = if self.writing.both {
            &[Durability::Synced, Durability::Deferred]
        } else if self.writing.deferred {
            &[Durability::Deferred]
        } else {
            &[Durability::Synced]
        };
        let mixes = self.mix.iter();
        let each = mixes.flat_map(|mix| durabilities.iter().map(move |own| (*mix, *own)));
        each.collect()
    }
}

/// A table of the designs, and what was published.
fn describe(summary: &UpdateSummary) -> String {
    let mut table = Table::new(&[
        "design",
        "mix",
        "counts when",
        "recall",
        "least",
        "merged",
        "pages",
        "B/update",
        "flushes",
        "merges",
        "QPS",
        "updates/s",
        "update p50",
        "p99",
        "merge",
    ]);
    let mut words = String::new();
    for design in &summary.designs {
        if let Some(reason) = &design.refused {
            words += &format!("{}: refused: {reason}\n", design.design);
            continue;
        }
        let merged = design.merged.map(|found| format!("{:.3}", found.recall));
        let timed = |figure: fn(&pageway_lab::updates::RecordTimes) -> String| {
            design.timed.as_ref().map_or_else(String::new, figure)
        };
        table.row(vec![
            design.design.clone(),
            design.round.mix.clone(),
            design.round.durability.to_owned(),
            format!("{:.3}", design.beside.recall),
            format!("{:.3}", design.least_recall),
            merged.unwrap_or_default(),
            text::figure(design.beside.pages),
            text::figure(design.work.bytes_per_update),
            design.work.flushes.to_string(),
            design.work.merges.to_string(),
            timed(|times| text::figure(times.queries_per_second)),
            timed(|times| text::figure(times.updates_per_second)),
            timed(|times| format!("{} us", times.update.p50)),
            timed(|times| format!("{} us", times.update.p99)),
            timed(|times| text::seconds(times.until_merged())),
        ]);
    }
    words += &table.render();
    for finding in &summary.findings {
        let [one, two, three] = finding.published;
        let own = match (finding.verdict, finding.measured) {
            (FindingVerdict::Holds, Some(value)) => format!("holds: {value:.2}"),
            (FindingVerdict::Fails, Some(value)) => format!("does not hold: {value:.2}"),
            _ => "not measured".to_owned(),
        };
        words += &format!(
            "\n{} beside {}, {} {}: {} ({one}, {two}, {three} times on SIFT1M, Deep, GIST): {own}",
            finding.designs[0],
            finding.designs[1],
            finding.round.mix,
            finding.round.durability,
            finding.says
        );
    }
    words
}
