//! Where a run is made, as far as the system tells.

use std::path::Path;
use std::process::Command;

use pageway::lab::clock;
use pageway::{DoctorOptions, DoctorReport, Error, Progress, Result};

use super::text;
use crate::record::Machine;

/// Seconds that the disk is measured for.
const DISK_SECONDS: f32 = 3.0;

/// Describes this machine, and measures the disk of `place`.
///
/// # Errors
/// As the measurement of the disk fails.
pub(super) fn describe(place: &Path, progress: &dyn Progress) -> Result<Machine> {
    let options = DoctorOptions::default().with_seconds(DISK_SECONDS);
    let doctor = pageway::doctor(place, &options, progress)?;
    Ok(Machine {
        cpu: cpu().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: doctor.cpu.cores as u64,
        isa: doctor.cpu.isa.clone(),
        memory_bytes: doctor.memory_bytes,
        kernel: kernel(),
        disk: disk(place).unwrap_or_else(|| "unknown".to_owned()),
        io_backend: doctor.io.io_backend.to_owned(),
        disk_readings: readings(&doctor),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit(),
        started_unix: unix_now()?,
        ..Machine::default()
    })
}

fn readings(doctor: &DoctorReport) -> Vec<[f64; 5]> {
    let row = |reading: &pageway::DepthReading| {
        [
            reading.queue_depth.into(),
            reading.reads_per_second,
            reading.latency_us_mean,
            reading.latency_us_p50,
            reading.latency_us_p99,
        ]
    };
    doctor.disk.iter().map(row).collect()
}

fn cpu() -> Option<String> {
    let text = text::read_system(Path::new("/proc/cpuinfo"))?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn kernel() -> String {
    let name = rustix::system::uname();
    let part = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    format!("{} {}", part(name.sysname()), part(name.release()))
}

/// Device and file system of the mount that `place` lies on.
fn disk(place: &Path) -> Option<String> {
    let place = std::path::absolute(place).ok()?;
    let text = text::read_system(Path::new("/proc/self/mounts"))?;
    let mounts = text.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    let around = mounts.filter(|(_, mount, _)| place.starts_with(mount));
    let (device, _, system) = around.max_by_key(|(_, mount, _)| mount.len())?;
    Some(format!("{device} ({system})"))
}

/// The commit of the source that this program was compiled from, if it is still there.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(["-C", env!("CARGO_MANIFEST_DIR")])
            .args(arguments);
        let output = command
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let changed = if changes.is_empty() {
        ""
    } else {
        " with changes"
    };
    Some(format!("{commit}{changed}"))
}

/// Seconds since 1970.
pub(super) fn unix_now() -> Result<u64> {
    let now = clock::unix_seconds();
    now.ok_or_else(|| Error::invalid("the clock of this machine is before 1970"))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn linux_says_what_it_is() {
        assert!(kernel().starts_with("Linux "));
        assert!(!cpu().unwrap().is_empty());
        let disk = disk(Path::new(".")).unwrap();
        assert!(disk.ends_with(')'), "{disk}");
    }
}
