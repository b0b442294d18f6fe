//! `pageway lab cluster`: recorded searches replayed over many machines.

use std::path::PathBuf;

use clap::Args;
use pageway::{Result, format_bytes};
use pageway_lab::cluster::{
    Checked, ClusterCell, ClusterRecord, ClusterSuite, ClusterSummary, CountLaw, IndexWish,
    Network, RowLaws, Site, SiteLoad,
};
use pageway_lab::model::{Device, Law};
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Table};

use super::records::Records;
use super::vectors::VectorArguments;

const EXAMPLES: &str = "\
Examples:
  pageway lab cluster --base sift.u8bin --queries q.u8bin --metric l2 --out sift
  pageway lab cluster --base text.fbin --queries q.fbin --metric cosine --memory 64MB \\
    --design diskann+cache_nodes=none --code-bytes 32 --scale 1000000000 --scale 10000000000 --nodes 32 --replicas 2 --disk nvme-pcie4 --out text
  pageway doctor . --json > here.json
  pageway lab cluster --base sift.u8bin --queries q.u8bin --metric l2 --disk here.json --out here

Indexes of one segment, of several by arrival and of several by space are built, searched with the
least list that reaches the recall, and recorded; then the recorded reads are replayed over the
nodes, disks, network and object store that are described. Each number of segments is predicted from
the others as well, and told whether that holds within a fifth. More rows are an extrapolation by the
growth between sizes, once by each law. --out keeps cells.jsonl, what was measured, and summary.json.
docs/lab/cluster.md says what is modelled and what is not.";

/// Replay recorded searches over many machines: segments by arrival, by space, and one graph
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ClusterArguments {
    #[command(flatten)]
    data: VectorArguments,

    #[command(flatten)]
    index: IndexWish,

    /// Recall that each search reaches
    #[arg(long, value_name = "RECALL", default_value_t = 0.95)]
    recall: f32,

    /// Neighbours
    #[arg(short, value_name = "K", default_value_t = 10)]
    k: u32,

    /// Numbers of segments over all rows; one is measured as well
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [2, 4, 8])]
    segments: Vec<u32>,

    /// Segments in which fewer rows are measured
    #[arg(long, value_name = "N", default_value_t = 4)]
    at_segments: u32,

    /// Times that the rows are halved to measure growth
    #[arg(long, value_name = "N", default_value_t = 2)]
    halvings: u32,

    /// Rows to extrapolate to; may be given again
    #[arg(long, value_name = "N")]
    scale: Vec<u64>,

    #[command(flatten)]
    site: SiteArguments,

    /// Directory of the indexes and the records, which does not exist or is empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Where it stands.
#[derive(Debug, Args)]
struct SiteArguments {
    /// Machines that hold rows
    #[arg(long, value_name = "N", default_value_t = 8)]
    nodes: u32,

    /// Segments of a machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    segments_per_node: u32,

    /// Machines that hold the same rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    replicas: u32,

    /// Cores of a machine
    #[arg(long, value_name = "N", default_value_t = 16)]
    cores: u32,

    /// Disks of a machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    disks: u32,

    /// What they are: a device, as 'pageway lab predict --device' takes it
    #[arg(long, value_name = "DEVICE", default_value = "nvme-pcie4")]
    disk: String,

    #[command(flatten)]
    network: Network,

    /// Share of the reads that no disk has, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    cold: f64,

    /// Where those are read: a device
    #[arg(long, value_name = "DEVICE", default_value = "object-store")]
    store: String,

    #[command(flatten)]
    load: SiteLoad,
}

impl SiteArguments {
    fn site(&self) -> Result<Site> {
        let site = Site {
            nodes: self.nodes,
            segments_per_node: self.segments_per_node,
            replicas: self.replicas,
            cores: self.cores,
            disks: self.disks,
            disk: Device::find(&self.disk)?,
            network: self.network,
            cold: self.cold,
            store: Device::find(&self.store)?,
            load: self.load,
        };
        site.check()?;
        Ok(site)
    }
}

impl ClusterArguments {
    /// Measures and replays.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let site = self.site.site()?;
        let loaded = self.data.read()?;
        let mut records = Records::alone(&self.out, "cells.jsonl")?;
        let suite = ClusterSuite {
            data: loaded.data(),
            index: self.index.clone(),
            k: self.k,
            recall: self.recall,
            segments: self.segments.clone(),
            at_segments: self.at_segments,
            halvings: self.halvings,
            scale: self.scale.clone(),
            site,
            dir: self.out.clone(),
        };
        let summary = suite.run(&session.progress, &mut |cell| records.keep(cell))?;
        records.conclude(describe(&summary), &summary)
    }
}

/// Four tables.
fn describe(summary: &ClusterSummary) -> String {
    format!(
        "Measured, counts per query:\n{}\nA number of segments predicted from the others:\n{}\n\
         Growth with the rows:\n{}\nReplayed over {} nodes; predictions, not measurements:\n{}",
        measured(&summary.cells),
        checked(&summary.checks),
        grown(&summary.laws),
        summary.site.nodes,
        simulated(&summary.simulated),
    )
}

fn measured(cells: &[ClusterCell]) -> String {
    let mut table = Table::new(&[
        "cut", "rows", "segments", "list", "recall", "asked", "reads", "rounds", "codes",
    ]);
    for cell in cells {
        table.row(vec![
            cell.design.to_string(),
            text::count(cell.rows),
            cell.segments.to_string(),
            cell.list_size.to_string(),
            format!("{:.3}", cell.recall),
            text::figure(cell.counts.asked),
            text::figure(cell.counts.reads),
            text::figure(cell.counts.rounds),
            text::figure(cell.counts.codes),
        ]);
    }
    table.render()
}

fn checked(checks: &[Checked]) -> String {
    let mut table = Table::left(&[
        "cut",
        "segments",
        "from",
        "recall",
        "count",
        "predicted",
        "measured",
        "error",
        "verdict",
    ]);
    for one in checks {
        for count in &one.counts {
            table.row(vec![
                one.design.to_string(),
                one.segments.to_string(),
                one.from_segments.to_string(),
                format!("{:.3} from {:.3}", one.recall, one.from_recall),
                count.count.to_owned(),
                text::figure(count.predicted),
                text::figure(count.measured),
                format!("{:+.0} %", 100.0 * count.error),
                if count.holds {
                    "holds"
                } else {
                    "does not hold"
                }
                .to_owned(),
            ]);
        }
    }
    table.render()
}

fn grown(laws: &[RowLaws]) -> String {
    let mut table = Table::left(&["cut", "segments", "count", "law", "per doubling", "errors"]);
    for own in laws {
        let counts = [
            ("reads", &own.reads),
            ("rounds", &own.rounds),
            ("codes", &own.codes),
        ];
        for (count, laws) in counts {
            for law in laws {
                table.row(row_of(own, count, law));
            }
        }
    }
    table.render()
}

fn row_of(own: &RowLaws, count: &str, law: &CountLaw) -> Vec<String> {
    let fit = law.fit.as_ref();
    vec![
        own.design.to_string(),
        own.segments.to_string(),
        count.to_owned(),
        fit.map_or("none", |fit| law_name(fit.law)).to_owned(),
        format!("x {:.3}", law.per_doubling),
        fit.map_or_else(String::new, |fit| text::percent(fit.residual)),
    ]
}

const fn basis(record: &ClusterRecord) -> &'static str {
    match (record.rows_law, record.is_extrapolated) {
        (Some(law), _) => law_name(law),
        (None, true) => "by segments",
        (None, false) => "recorded",
    }
}

const fn law_name(law: Law) -> &'static str {
    match law {
        Law::Logarithmic => "a + b ln N",
        Law::Power => "a N^b",
    }
}

fn simulated(records: &[ClusterRecord]) -> String {
    let mut table = Table::new(&[
        "cut",
        "rows",
        "segments",
        "counts",
        "recall",
        "QPS",
        "mean us",
        "p50",
        "p99",
        "alone",
        "reads",
        "messages",
        "net bytes",
        "memory/node",
        "disk/node",
    ]);
    for one in records {
        let (loaded, alone) = (&one.loaded, &one.alone);
        table.row(vec![
            one.design.to_string(),
            text::count(one.rows),
            one.segments.to_string(),
            basis(one).to_owned(),
            format!("{:.3}", one.recall),
            text::figure(loaded.qps),
            text::figure(loaded.latency_us.mean),
            text::figure(loaded.latency_us.p50),
            text::figure(loaded.latency_us.p99),
            text::figure(alone.latency_us.mean),
            text::figure(loaded.reads),
            text::figure(loaded.calls),
            text::figure(loaded.network_bytes),
            format_bytes(one.node_memory_bytes),
            format_bytes(one.node_disk_bytes),
        ]);
    }
    table.render()
}
