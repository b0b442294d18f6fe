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
depth; where they do not, the disk or a quota is the limit and more threads will not help.";

/// Measure this machine: I/O backend, disk by queue depth, CPU, limits.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DoctorArguments {
    /// Directory on the disk to measure
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Seconds to measure the disk for, all queue depths together
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f32,
}

impl DoctorArguments {
    /// Measures.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let options = DoctorOptions {
            seconds: self.seconds,
        };
        let report = pageway::doctor(&self.directory, &options, &session.progress)?;
        Outcome::new(self.describe(&report), &report)
    }

    fn describe(&self, report: &DoctorReport) -> String {
        format!(
            "{}\nRandom reads in {}\n{}",
            describe_machine(report).render(),
            self.directory.display(),
            describe_disk(report)
        )
    }
}

fn describe_machine(report: &DoctorReport) -> Facts {
    let direct = if report.direct {
        "direct (page cache bypassed)"
    } else {
        "through the page cache"
    };
    let forced = if report.cpu.forced {
        ", forced by PAGEWAY_ISA"
    } else {
        ""
    };
    Facts::new()
        .fact("reads by", format!("{}, {direct}", report.io_backend))
        .fact("because", report.reason.clone())
        .fact("kernels", format!("{}{forced}", report.cpu.isa))
        .fact("cpu offers", report.cpu.available.join(", "))
        .fact("memory", format_bytes(report.memory_bytes))
        .fact("free disk", format_bytes(report.free_bytes))
        .fact("system page", format_bytes(report.page_size))
        .fact("open files", text::count(report.open_files_limit))
        .fact("locked memory", format_bytes(report.locked_memory_limit))
}

fn describe_disk(report: &DoctorReport) -> String {
    let mut table = Table::new(&["queue depth", "reads/s", "mean us", "p50 us", "p99 us"]);
    for reading in &report.disk {
        let mut cells = vec![reading.queue_depth.to_string()];
        let latencies = [reading.latency_us_mean, reading.p50, reading.p99];
        cells.push(text::figure(reading.reads_per_second));
        cells.extend(latencies.map(text::figure));
        table.row(cells);
    }
    table.render()
}
