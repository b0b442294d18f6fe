//! What can be typed. Each command's arguments stand in the file of that command.

use clap::{CommandFactory, Parser, Subcommand};
use pageway::Result;

use crate::command::other::{IMPORTER, LAB, OtherArguments, ROUTER, SERVER};
use crate::command::{
    build, calibrate, change, completions, convert, count, demo, doctor, explain, export,
    ground_truth, import, inspect, man, open, plan, presets, publish, range, recall, scroll,
    search, slice, verify,
};
use crate::output::Outcome;
use crate::session::Session;

/// What `pageway` alone shows.
pub(crate) const OVERVIEW: &str = "\
pageway searches more vectors than memory can hold: the index lies on an SSD, a query reads a few
dozen pages of it, and you say how much memory and how much recall you want.

  see it work       pageway demo
  build             pageway build --data base.fbin --out my.index --metric l2 --memory 20%
  search            pageway search my.index --queries q.fbin -k 10 --recall 0.95
  within a radius   pageway range my.index --queries q.fbin --radius 40000
  count matches     pageway count my.index --filter 'year > 2020'
  change            pageway insert my.index --data new.fbin   pageway delete my.index --ids gone.txt
  set attributes    pageway set my.index FIELDS --ids some.txt     pageway unset my.index year --ids some.txt
  look at rows      pageway scroll my.index --filter 'year > 2020'
  begin empty       pageway create --out my.index --dimension 384 --metric cosine
  tidy up, copy     pageway merge my.index          pageway snapshot my.index --out copy.index
  unwritten yet     pageway log my.index
  exact truth       pageway ground-truth --data base.fbin --queries q.fbin --metric l2 --out gt.ibin
  look inside       pageway inspect my.index        pageway verify my.index
  recall now        pageway recall my.index         pageway calibrate my.index --queries q.fbin
  time opening      pageway open my.index
  choose a design   pageway plan --data base.fbin --metric l2 --memory 10%
  know the designs  pageway presets                 pageway explain starling
  prepare files     pageway convert a.npy a.fbin    pageway slice a.fbin b.fbin --rows 0..1000
  get vectors back  pageway export my.index vectors.parquet
  come from others  pageway import vectors.faiss vectors.npy
  come from Qdrant  pageway import-qdrant --url http://localhost:6333 --collection texts --out DIR
  put in a bucket   pageway publish my.index s3://bucket/my.index
  this machine      pageway doctor .
  serve over HTTP   pageway serve --data-dir ./data
  several servers   pageway route --map map.toml
  measure it all    pageway lab run all --quick --out first-look
  in your shell     pageway completions bash        pageway man --out DIR

Vectors come from .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin .bin .fvecs .bvecs .npy .parquet .jsonl .ndjson, from
index files of faiss, hnswlib and DiskANN; they are streamed, never loaded whole. 'pageway help COMMAND' explains each option, what it costs, and shows examples.
";

/// Vector search for vectors that do not fit in memory.
#[derive(Debug, Parser)]
#[command(name = "pageway", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print one JSON object instead of text, and no progress
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,

    /// Show no progress
    #[arg(long, short, global = true, display_order = 901)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build an index from a file of vectors
    Build(Box<build::BuildArguments>),
    /// Search an index; measure recall, speed, latency and page reads
    Search(Box<search::SearchArguments>),
    /// Find all vectors within a radius; measure precision, speed and page reads
    Range(Box<range::RangeArguments>),
    /// Count the rows that match a filter; list the fields there are
    Count(count::CountArguments),
    /// Make an empty index, to be filled by insert
    Create(change::CreateArguments),
    /// Put the vectors of a file into an index, durably, while others search it
    Insert(change::InsertArguments),
    /// Delete the rows of some ids, or those that match a filter
    Delete(change::DeleteArguments),
    /// Set attributes of rows
    Set(change::SetArguments),
    /// Take attributes from rows
    Unset(change::UnsetArguments),
    /// Show rows in the order of their ids
    Scroll(scroll::ScrollArguments),
    /// Merge segments, and drop dead rows
    Merge(change::MergeArguments),
    /// Copy an index as it is now
    Snapshot(change::SnapshotArguments),
    /// Show the log of an index: files, records, damage
    Log(change::LogArguments),
    /// Choose a design for a memory budget and a recall, by trying the best on a sample
    Plan(Box<plan::PlanArguments>),
    /// List the designs, ours and the published ones, a row each
    Presets(presets::PresetsArguments),
    /// Explain a design or an index in words: each choice, what it means and costs
    Explain(Box<explain::ExplainArguments>),
    /// Describe an index: design, sizes, memory, calibration
    Inspect(inspect::InspectArguments),
    /// Measure the recall of an index as it is now, against a scan of all vectors
    Recall(recall::RecallArguments),
    /// Measure recall by list size anew, and store it in the index
    Calibrate(calibrate::CalibrateArguments),
    /// Measure opening an index and switching to another: time, bytes, memory
    Open(open::OpenArguments),
    /// Publish an index to object storage, to be searched from anywhere
    Publish(publish::PublishArguments),
    /// Check every byte of an index
    Verify(verify::VerifyArguments),
    /// Find the exact neighbours of queries, to measure recall against
    GroundTruth(ground_truth::GroundTruthArguments),
    /// Rewrite vectors in another file format or element type
    Convert(convert::ConvertArguments),
    /// Write the vectors of an index file of faiss, hnswlib or DiskANN to a file
    Import(import::ImportArguments),
    /// Import a collection of a Qdrant server
    #[command(
        disable_help_flag = true,
        after_long_help = IMPORTER.examples,
        mut_arg("arguments", |words| words.help(IMPORTER.asked()))
    )]
    ImportQdrant(OtherArguments),
    /// Write the vectors of an index, with their ids, to a file
    Export(export::ExportArguments),
    /// Cut rows and dimensions out of a file of vectors
    Slice(slice::SliceArguments),
    /// Measure this machine: I/O backend, disk by queue depth, CPU, limits
    Doctor(doctor::DoctorArguments),
    /// Measure every design on your data: runs, reports, predictions
    #[command(
        disable_help_flag = true,
        after_long_help = LAB.examples,
        mut_arg("arguments", |words| words.help(LAB.asked()))
    )]
    Lab(OtherArguments),
    /// Serve collections over HTTP to clients of Qdrant
    #[command(
        disable_help_flag = true,
        after_long_help = SERVER.examples,
        mut_arg("arguments", |words| words.help(SERVER.asked()))
    )]
    Serve(OtherArguments),
    /// Answer for collections whose shards lie on several servers
    #[command(
        disable_help_flag = true,
        after_long_help = ROUTER.examples,
        mut_arg("arguments", |words| words.help(ROUTER.asked()))
    )]
    Route(OtherArguments),
    /// Build and search an index of 10,000 sentences, and explain what happens
    Demo(demo::DemoArguments),
    /// Print a script that completes commands and options in a shell
    Completions(completions::CompletionsArguments),
    /// Write the manual: a page for each command
    Man(man::ManArguments),
}

impl Command {
    /// Does what was asked.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        match self {
            Self::Build(arguments) => arguments.run(session),
            Self::Search(arguments) => arguments.run(session),
            Self::Range(arguments) => arguments.run(session),
            Self::Count(arguments) => arguments.run(),
            Self::Create(arguments) => arguments.run(),
            Self::Insert(arguments) => arguments.run(session),
            Self::Delete(arguments) => arguments.run(session),
            Self::Set(arguments) => arguments.run(session),
            Self::Unset(arguments) => arguments.run(session),
            Self::Scroll(arguments) => arguments.run(),
            Self::Merge(arguments) => arguments.run(session),
            Self::Snapshot(arguments) => arguments.run(session),
            Self::Log(arguments) => arguments.run(),
            Self::Plan(arguments) => arguments.run(session),
            Self::Presets(arguments) => arguments.run(),
            Self::Explain(arguments) => arguments.run(),
            Self::Inspect(arguments) => arguments.run(),
            Self::Recall(arguments) => arguments.run(session),
            Self::Calibrate(arguments) => arguments.run(session),
            Self::Open(arguments) => arguments.run(session),
            Self::Publish(arguments) => arguments.run(session),
            Self::Verify(arguments) => arguments.run(session),
            Self::GroundTruth(arguments) => arguments.run(session),
            Self::Convert(arguments) => arguments.run(session),
            Self::Import(arguments) => arguments.run(session),
            Self::ImportQdrant(words) => IMPORTER.hand_over(session.flags(), words),
            Self::Export(arguments) => arguments.run(session),
            Self::Slice(arguments) => arguments.run(session),
            Self::Doctor(arguments) => arguments.run(session),
            Self::Lab(words) => LAB.hand_over(session.flags(), words),
            Self::Serve(words) => SERVER.hand_over([], words),
            Self::Route(words) => ROUTER.hand_over(["route"], words),
            Self::Demo(arguments) => arguments.run(session),
            Self::Completions(arguments) => arguments.run(Cli::command()),
            Self::Man(arguments) => arguments.run(Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_teaches_by_example() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let after = command
                .get_after_long_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(after.contains("Examples:"), "{name}");
            assert!(after.contains(&format!("pageway {name}")), "{name}");
            assert!(OVERVIEW.contains(&format!("pageway {name}")), "{name}");
        }
    }

    #[test]
    fn every_argument_is_explained() {
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {argument}",
                    command.get_name()
                );
            }
        }
    }
}
