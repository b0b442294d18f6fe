//! `pageway doctor`: what this machine can do.

use std::path::PathBuf;

use clap::Args;
use pageway::{DoctorOptions, DoctorReport, Result, format_bytes};

use crate::output::Outcome;
use crate::session::Session;
use crate::text::{self, Facts, Table};

const EXAMPLES: &str = "\
Examples:
  pageway doctor
  pageway doctor /mnt/nvme --seconds 10
  pageway doctor /mnt/nvme --json

Point it at the directory where an index is or will be: disks differ. It writes a scratch file there,
reads it at random at growing queue depth, and removes it. Reads per second should grow with the
depth; where they do not, the disk or a quota is the limit and more threads will not help. Then it
appends 4 KiB again and again and makes each append durable, alone and beside reads: what an update
has to wait for before it counts.";

/// Measure this machine: I/O backend, disk by queue depth, syncs, CPU, limits.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DoctorArguments {
    /// Directory on the disk to measure
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Seconds to read for, all queue depths together; syncs take up to two seconds more
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f32,
}

impl DoctorArguments {
    /// Measures.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let options = DoctorOptions::default().with_seconds(self.seconds);
        let report = pageway::doctor(&self.directory, &options, &session.progress)?;
        Outcome::new(self.describe(&report), &report)
    }

    fn describe(&self, report: &DoctorReport) -> String {
        format!(
            "{}\nRandom reads in {}\n{}\nAppends of 4 KiB, each made durable\n{}",
            describe_machine(report).render(),
            self.directory.display(),
            describe_disk(report),
            describe_syncs(report)
        )
    }
}

fn describe_machine(report: &DoctorReport) -> Facts {
    let DoctorReport { io, cpu, .. } = report;
    let direct = if io.direct {
        "past the page cache"
    } else {
        "through the page cache"
    };
    let forced = cpu
        .forced
        .as_ref()
        .map_or(String::new(), |isa| format!(", PAGEWAY_ISA={isa}"));
    let limit = |limit: Option<u64>, words: fn(u64) -> String| {
        limit.map_or_else(|| "no limit".to_owned(), words)
    };
    let memory = report
        .memory_bytes
        .map_or_else(|| "unknown".to_owned(), format_bytes);
    Facts::new()
        .fact("reads by", format!("{}, {direct}", io.io_backend))
        .fact("because", io.reason.clone())
        .fact("kernels", format!("{}{forced}", cpu.isa))
        .fact(
            "cpu",
            format!("{} cores; offers {}", cpu.cores, cpu.available.join(", ")),
        )
        .fact("memory", memory)
        .fact("free disk", format_bytes(report.free_bytes))
        .fact("open files", limit(report.open_files_limit, text::count))
        .fact(
            "locked memory",
            limit(report.locked_memory_limit, format_bytes),
        )
}

fn describe_disk(report: &DoctorReport) -> String {
    let mut table = Table::new(&["queue depth", "reads/s", "mean us", "p50 us", "p99 us"]);
    for reading in &report.disk {
        let mut cells = vec![reading.queue_depth.to_string()];
        let latencies = [
            reading.latency_us_mean,
            reading.latency_us_p50,
            reading.latency_us_p99,
        ];
        cells.push(text::figure(reading.reads_per_second));
        cells.extend(latencies.map(text::figure));
        table.row(cells);
    }
    table.render()
}

fn describe_syncs(report: &DoctorReport) -> String {
    let sync = &report.sync;
    if let Some(reason) = &sync.skipped {
        return format!("  not measured: {reason}\n");
    }
    let mut table = Table::new(&["", "syncs", "mean us", "p99 us"]);
    let readings = [("alone", sync.alone), ("beside reads", sync.beside_reads)];
    for (name, reading) in readings {
        let Some(reading) = reading else { continue };
        let latencies = [reading.latency_us_mean, reading.latency_us_p99];
        let mut cells = vec![name.to_owned(), text::count(reading.syncs)];
        cells.extend(latencies.map(text::figure));
        table.row(cells);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_shown_or_why_they_are_not() {
        let root = tempfile::tempdir().unwrap();
        let options = DoctorOptions::default().with_seconds(0.1);
        let mut report = pageway::doctor(root.path(), &options, &pageway::NoProgress).unwrap();
        let shown = describe_syncs(&report);
        for words in ["mean us", "p99 us", "alone", "beside reads"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let json = serde_json::to_value(&report).unwrap();
        for reading in ["alone", "beside_reads"] {
            let p99 = &json["sync"][reading]["latency_us_p99"];
            assert!(p99.as_f64().unwrap() > 0.0, "{json}");
        }
        report.sync.skipped = Some("the disk is on holiday".to_owned());
        let shown = describe_syncs(&report);
        assert_eq!(shown, "  not measured: the disk is on holiday\n");
    }
}
