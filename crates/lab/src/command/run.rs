//! `pageway lab run`: a suite, measured cell by cell, and its report.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::{Error, ErrorKind, Metric, Result, format_bytes};
use pageway_lab::data::Registry;
use pageway_lab::run::{Laboratory, Pythons, RunReport};
use pageway_lab::suite::Suite;
use pageway_lab::{Estimate, read_text, record::Run, report, report::Refusal};
use serde::Serialize;

use pageway_shell::output::Outcome;
use pageway_shell::program;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway lab run all --quick --out first-look
  pageway lab run recall --base mine.fbin --queries q.fbin --metric cosine --out mine
  pageway lab run all --data photo-sift-300k --registry data.toml --out full --dry-run
  pageway lab run mine.toml --out full --skip comparators

A run that is stopped, by Ctrl-C or by a crash, goes on where it stopped when the same command is
given again; another suite with the same --out adds to the run. Indexes and data under --work can be
removed when the run is over: the records and the report are in --out.

Cells run one at a time, each in a process of its own, designs in turn, repetitions in rounds. Close
other programs: the lab cannot know what else the machine was doing.";

/// How to get what the lab measures by.
const GET_PAGEWAY: &str =
    "the lab measures by its commands; `cargo install --path crates/cli` makes it";

/// Measure a suite, cell by cell, and write its report
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RunArguments {
    /// Suite: a name of 'pageway lab suites', or a file
    #[arg(value_name = "SUITE")]
    suite: String,

    /// Directory of the run: records and report
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    extent: ExtentArguments,
    #[command(flatten)]
    means: MeansArguments,
}

/// On what.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
struct DataArguments {
    /// Data sets in place of the suite's, or cuts of them such as sift-300k
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with = "base")]
    data: Vec<String>,

    /// File that declares data sets of your own (see 'pageway lab data --help')
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,

    /// Vectors of your own, in place of data sets by name
    #[arg(long, value_name = "FILE", requires = "queries", requires = "metric")]
    base: Option<PathBuf>,

    /// Queries over them
    #[arg(long, value_name = "FILE", requires = "base")]
    queries: Option<PathBuf>,

    /// Exact neighbours of the queries; computed when not given
    #[arg(long, value_name = "FILE", requires = "base")]
    truth: Option<PathBuf>,

    /// Distance: l2, ip or cosine
    #[arg(long, value_name = "METRIC", requires = "base")]
    metric: Option<Metric>,

    /// What to call them, in records and report
    #[arg(long, value_name = "NAME", requires = "base", default_value = OWN)]
    name: String,
}

/// How much.
#[derive(Debug, Args)]
#[command(next_help_heading = "Extent")]
struct ExtentArguments {
    /// A first page in minutes: fewer rows, queries, repetitions and values
    #[arg(long)]
    quick: bool,

    /// Say what would run, how long it takes and how much disk, and stop
    #[arg(long)]
    dry_run: bool,

    /// Run even if the disk seems too small
    #[arg(long)]
    ignore_space: bool,

    /// Experiments to run, of those in the suite
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,

    /// Experiments to leave out
    #[arg(long, value_name = "NAME", num_args = 1..)]
    skip: Vec<String>,

    /// Times that each search is repeated, in place of the suite's
    #[arg(long, value_name = "N")]
    repeats: Option<u32>,
}

impl ExtentArguments {
    /// Refuses a run that the disk has no room for.
    fn check_room(&self, work: &Path, estimate: &Estimate) -> Result<()> {
        if self.ignore_space || estimate.fits() {
            return Ok(());
        }
        let free = estimate.free_bytes.unwrap_or(0);
        Err(Error::new(
            ErrorKind::NoSpace,
            format!(
                "{}: indexes and data will take about {}, {} are free: choose another --work, fewer \
                 experiments by --only or --skip, or --ignore-space to try",
                work.display(),
                format_bytes(estimate.disk_bytes),
                format_bytes(free)
            ),
        ))
    }
}

/// With what.
#[derive(Debug, Args)]
#[command(next_help_heading = "Means")]
struct MeansArguments {
    /// Directory of data and indexes [default: work, inside of --out]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Python that has the libraries to compare with; LIBRARY=PROGRAM for one library alone
    #[arg(long, value_name = "PROGRAM", num_args = 1..)]
    python: Vec<String>,
}

impl MeansArguments {
    fn pythons(&self) -> Pythons {
        let mut pythons = Pythons {
            usual: PathBuf::from("python3"),
            own: Vec::new(),
        };
        for python in &self.python {
            match python.split_once('=') {
                Some((library, program)) => {
                    pythons.own.push((library.to_owned(), program.into()));
                }
                None => pythons.usual = python.into(),
            }
        }
        pythons
    }
}

#[derive(Serialize)]
struct Ran {
    #[serde(flatten)]
    report: RunReport,
    /// What failed or was refused, by design.
    refused: Vec<Refusal>,
    page: PathBuf,
}

impl RunArguments {
    /// Runs, and reports; or says what that would take.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let registry = self.data.registry()?;
        let suite = self.suite(&registry)?;
        let work = self.means.work.clone();
        let laboratory = Laboratory {
            suite: &suite,
            registry: &registry,
            out: self.out.clone(),
            work: work.unwrap_or_else(|| self.out.join("work")),
            program: program::find("pageway", GET_PAGEWAY)?,
            lab: program::own()?,
            python: self.means.pythons(),
        };
        let estimate = laboratory.estimate()?;
        if self.extent.dry_run {
            return Outcome::new(describe(&suite, &estimate), &estimate);
        }
        session.say(&describe(&suite, &estimate))?;
        self.extent.check_room(&laboratory.work, &estimate)?;
        let ran = laboratory
            .run(&session.progress)
            .map_err(|error| kept(error, &self.out))?;
        let run = Run::read(&self.out)?;
        let written = report::write(&report::report(&run)?, &self.out)?;
        let ran = Ran {
            report: ran,
            refused: report::refusals(&run),
            page: written.into_iter().next().unwrap_or_default(),
        };
        let outcome = Outcome::new(conclude(&ran), &ran)?;
        Ok(outcome.failed_if(ran.report.got_nothing(), ErrorKind::Unsupported))
    }

    fn suite(&self, registry: &Registry) -> Result<Suite> {
        let file = Path::new(&self.suite);
        let mut suite = if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            Suite::parse(&read_text(file)?, &self.suite)?
        } else {
            Suite::builtin(&self.suite)?
        };
        let extent = &self.extent;
        if !extent.only.is_empty() {
            suite = suite.only(&extent.only)?;
        }
        suite
            .experiments
            .retain(|experiment| !extent.skip.contains(&experiment.name));
        if suite.experiments.is_empty() {
            return Err(Error::invalid("--skip leaves no experiment"));
        }
        if let Some(repeats) = extent.repeats {
            suite.fixed.repeats = repeats;
            suite
                .experiments
                .iter_mut()
                .for_each(|experiment| experiment.repeats = None);
        }
        if let Some(names) = self.data.names() {
            suite.axes.data.data.clone_from(&names);
            suite
                .experiments
                .iter_mut()
                .for_each(|experiment| experiment.axes.data.data.clear());
        }
        Ok(if extent.quick {
            suite.quick(&|name, rows| registry.at_most(name, rows))
        } else {
            suite
        })
    }
}

/// What vectors given by file are called unless their user says.
const OWN: &str = "own";

impl DataArguments {
    /// The data sets asked for; none for those of the suite.
    fn names(&self) -> Option<Vec<String>> {
        if self.base.is_some() {
            return Some(vec![self.name.clone()]);
        }
        (!self.data.is_empty()).then(|| self.data.clone())
    }

    fn registry(&self) -> Result<Registry> {
        let mut registry = match &self.registry {
            Some(path) => Registry::read(path)?,
            None => Registry::builtin()?,
        };
        if let (Some(base), Some(queries), Some(metric)) = (&self.base, &self.queries, self.metric)
        {
            let quoted = |path: &Path| format!("{:?}", path.display().to_string());
            let mut set = format!(
                "[{:?}]\nmetric = \"{metric}\"\nbase = {}\nqueries = {}\n",
                self.name,
                quoted(base),
                quoted(queries)
            );
            if let Some(truth) = &self.truth {
                set += &format!("truth = {}\n", quoted(truth));
            }
            registry.add(&set, Path::new("."), "--base")?;
        }
        Ok(registry)
    }
}

/// What was measured stays when a run is stopped.
fn kept(error: Error, out: &Path) -> Error {
    if error.kind() != ErrorKind::Cancelled {
        return error;
    }
    let words = format!(
        "stopped on request; what was built and measured is kept in {}: the same command goes on, \
         and 'pageway lab report {}' shows what is there",
        out.display(),
        out.display()
    );
    Error::new(ErrorKind::Cancelled, words)
}

fn describe(suite: &Suite, estimate: &Estimate) -> String {
    let experiments: Vec<&str> = suite
        .experiments
        .iter()
        .map(|experiment| experiment.name.as_str())
        .collect();
    let time = |seconds: f64| format!("about {}", text::seconds(seconds));
    let indexes = text::count(estimate.indexes);
    let cells = text::count(estimate.cells);
    let free = estimate.free_bytes.map_or(String::new(), |free| {
        format!(", {} are free", format_bytes(free))
    });
    let refused: Vec<&str> = estimate.refused.iter().map(String::as_str).collect();
    let refused = (!refused.is_empty()).then(|| refused.join("; "));
    Facts::new()
        .fact("suite", &suite.name)
        .fact("experiments", experiments.join(", "))
        .fact(
            "to build",
            format!("{indexes} indexes, {}", time(estimate.build_seconds)),
        )
        .fact(
            "to measure",
            format!("{cells} cells, {}", time(estimate.cell_seconds)),
        )
        .fact("in all", time(estimate.seconds()))
        .fact(
            "disk",
            format!("about {}{free}", format_bytes(estimate.disk_bytes)),
        )
        .known("will be refused", refused)
        .render()
}

fn conclude(ran: &Ran) -> String {
    let report = &ran.report;
    let failed = |count: u64| match count {
        0 => String::new(),
        count => format!(", {} failed or refused", text::count(count)),
    };
    let mut lines = format!(
        "{} indexes built{}; {} cells measured{}; in {}.\n",
        text::count(report.indexes),
        failed(report.failed_indexes),
        text::count(report.cells - report.failed),
        failed(report.failed),
        text::seconds(report.seconds),
    );
    for refusal in &ran.refused {
        let (design, cells) = (&refusal.design, refusal.cells);
        lines.push_str(&format!("\n  {design}, {cells} cells: {}", refusal.reason));
    }
    format!("{}\n\nThe report: {}", lines.trim_end(), ran.page.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_run_says_that_it_goes_on() {
        let stopped = Error::new(ErrorKind::Cancelled, "stopped on request");
        let words = kept(stopped, Path::new("first-look"));
        assert_eq!(words.kind(), ErrorKind::Cancelled);
        assert!(words.context().contains("is kept in first-look"), "{words}");
        let other = kept(Error::invalid("no"), Path::new("first-look"));
        assert_eq!(other.context(), "no");
    }
}
