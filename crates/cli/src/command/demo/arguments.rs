//! What was typed, and the story in order.

use std::path::PathBuf;

use clap::Args;
use pageway::source::VectorSlice;
use pageway::truth::ExactQuestion;
use pageway::{
    BuildInput, BuildOptions, BuildReport, Effort, ErrorKind, Index, MemoryWish, Metric,
    OpenOptions, Result, VectorRead, format_bytes,
};
use serde::Serialize;

use super::example::{self, Example};
use super::library::{Library, Split};
use super::plot::Plot;
use super::sweep::{self, Reading, Readings, Sweep};
use super::{picture, words};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text;
use crate::workload::Reference;

const EXAMPLES: &str = "\
Examples:
  pageway demo
  pageway demo --out first-look --memory 50%

Takes well under a minute. Writes an index, the exact neighbours and a plot into the --out directory,
so that the commands it suggests at the end work.";

const TRUTH_MEMORY: u64 = 64 << 20;

/// Build and search an index of 10,000 sentences, and explain what happens.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DemoArguments {
    /// Directory of the demo data [default: data/demo here or in a directory above]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Directory for the index, the exact neighbours and the plot
    #[arg(long, value_name = "DIR", default_value = "demo-output")]
    out: PathBuf,

    /// Memory of the searches: bytes or a share of the raw vectors
    #[arg(long, value_name = "MEMORY", default_value = "40%")]
    memory: MemoryWish,
}

#[derive(Serialize)]
struct DemoReport {
    build: BuildReport,
    examples: Vec<Example>,
    #[serde(flatten)]
    readings: Readings,
    memory_budget_bytes: u64,
    peak_memory_bytes: Option<u64>,
    plot: String,
    seconds: f64,
}

impl DemoArguments {
    fn index_path(&self) -> PathBuf {
        self.out.join("index")
    }

    fn truth_path(&self) -> PathBuf {
        self.out.join("truth.ibin")
    }

    /// Tells the story.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let started = system::now();
        let library = Library::open(self.data_dir.as_deref())?;
        system::create_directory(&self.out)?;
        session.say(words::WELCOME)?;
        let split = Split::write(&library.sentences, &self.out)?;
        let build = self.build(&library, &split, session)?;
        let (index, longest) = self.open()?;
        let examples = example::answer(&index, &library)?;
        session.say(words::EXAMPLES)?;
        session.say(&example::describe(&examples))?;
        let truth = self.truth(&library, &split, session)?;
        let sweep = Sweep {
            index: &index,
            queries: &split.queries,
            truth: &truth,
            longest,
            session,
        };
        let readings = sweep.run()?;
        let plot = self.out.join("recall.svg");
        system::write_text(&plot, &picture::draw(&readings))?;
        let report = DemoReport {
            build,
            examples,
            readings,
            memory_budget_bytes: index.memory().budget_bytes,
            peak_memory_bytes: pageway::lab::peak_memory_bytes(),
            plot: plot.display().to_string(),
            seconds: started.elapsed().as_secs_f64(),
        };
        Outcome::new(self.describe(&report), &report)
    }

    fn build(&self, library: &Library, split: &Split, session: &Session) -> Result<BuildReport> {
        let vectors = &library.definitions.vectors;
        let input = BuildInput::new(vectors, vectors.name()).with_queries(Some(&split.sample));
        let options = BuildOptions::default()
            .with_metric(Metric::Cosine)
            .with_memory(self.memory);
        let started = system::now();
        let report = Index::build(&self.index_path(), &input, &options, &session.progress)?;
        session.say(&format!(
            "Built {} in {}: {} vectors ({}), {} on disk, to be searched in {} of memory.\n\n{}",
            self.index_path().display(),
            text::seconds(started.elapsed().as_secs_f64()),
            text::count(report.nodes),
            format_bytes(report.raw_bytes),
            format_bytes(report.index_bytes),
            format_bytes(report.memory_bytes),
            words::BUILT
        ))?;
        Ok(report)
    }

    /// Opens with memory set aside for the longest list that a target needs, where it is enough for
    /// that; tells the longest that it is.
    fn open(&self) -> Result<(Index, u32)> {
        let options = OpenOptions::default()
            .with_interleave(sweep::INTERLEAVE)
            .with_k(sweep::K);
        let index = Index::open(&self.index_path(), &options)?;
        for longest in sweep::longest_lists(&index) {
            let wished = options.with_effort(Effort::ListSize(longest));
            match index.switch(&self.index_path(), &wished) {
                Ok(wide) => return Ok((wide, longest)),
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                Err(error) => return Err(error),
            }
        }
        Ok((index, sweep::CURVE_END))
    }

    /// Exact neighbours of the queries, written so that `pageway search --truth` can use them.
    fn truth(&self, library: &Library, split: &Split, session: &Session) -> Result<Reference> {
        let queries = &split.queries;
        let shape = queries.shape();
        let mut rows = vec![0; queries.count() as usize * shape.row_bytes()];
        queries.read(0, &mut rows)?;
        let question = ExactQuestion {
            queries: VectorSlice::new(&rows, shape)?,
            metric: Metric::Cosine,
            k: 100,
            exclude: None,
        };
        let base = &library.definitions.vectors;
        let truth = system::exact(base, &question, TRUTH_MEMORY, 0, &session.progress)?;
        system::write_truth(&self.truth_path(), &truth)?;
        system::open_truth(&self.truth_path(), Some(base.count())).map(Reference::Nearest)
    }

    fn describe(&self, report: &DemoReport) -> String {
        let places = |readings: &[Reading], value: fn(&Reading) -> f64| {
            readings
                .iter()
                .map(|reading| (reading.recall, value(reading)))
                .collect()
        };
        let plot = |title, value: fn(&Reading) -> f64| {
            let curve = places(&report.readings.curve, value);
            let marks = places(&report.readings.targets, value);
            Plot {
                title,
                x_name: "recall@10",
                curve,
                marks,
            }
            .render()
        };
        [
            words::READINGS.to_owned(),
            sweep::table(&report.readings),
            words::READING_THE_PLOTS.to_owned(),
            plot("queries per second", |reading| reading.qps),
            plot("pages read per query", |reading| reading.pages_per_query),
            describe_memory(report),
            format!("The same as a picture: {}", report.plot),
            format!("All of this took {}.\n", text::seconds(report.seconds)),
            self.suggest(),
        ]
        .join("\n")
    }

    fn suggest(&self) -> String {
        let out = self.out.display();
        format!(
            "Try next:
  pageway inspect {out}/index
  pageway search --index {out}/index --queries {out}/queries.npy --truth {out}/truth.ibin \\
      -k 10 --recall 0.95
  pageway build --data YOUR.npy --out my.index --metric cosine --memory 20%
  pageway search --help"
        )
    }
}

fn describe_memory(report: &DemoReport) -> String {
    let budget = format_bytes(report.memory_budget_bytes);
    let peak = report.peak_memory_bytes.map_or(String::new(), |peak| {
        format!(
            "The whole process, build and exact answers included, took {}.\n",
            format_bytes(peak)
        )
    });
    format!("Memory: the searches kept within their budget of {budget}.\n{peak}")
}
