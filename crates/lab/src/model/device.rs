//! A disk as a few numbers: those of data sheets, of a file of one's own, or as measured here.

use std::path::Path;

use pageway::{Error, Result};
use serde::{Deserialize, Serialize};

use super::latency::Quantiles;
use crate::files::read_text;

/// The devices that come with pageway, and where their numbers are from.
const CATALOGUE: &str = include_str!("../../devices.toml");

/// What a device that was measured here is called.
pub(crate) const THIS_MACHINE: &str = "this machine";

/// Processor time of a read where nothing else is known: what io_uring took where this was written,
/// with many reads in flight.
const CPU_US_PER_READ: f64 = 2.0;

/// By what factor a read takes longer than alone where a thread that sends one read after the other
/// is taken to be busy.
const BUSY: f64 = 1.4;

/// A disk.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What it is called.
    pub name: String,
    /// What it is, in a sentence.
    pub words: String,
    /// Time of a read that is alone, as the thread that waits sees it, in microseconds.
    pub latency_us: Quantiles,
    /// Reads served at a time; others wait.
    #[serde(default = "unlimited")]
    pub parallel: u32,
    /// Most reads per second.
    pub max_iops: Option<f64>,
    /// Most bytes per second, in units of 10^6.
    pub max_mb_per_s: Option<f64>,
    /// Processor time of a read: to send it and to take it back.
    #[serde(default = "cpu_us_per_read")]
    pub cpu_us_per_read: f64,
    /// Time of the thread for each call of the system that sends reads, however many.
    #[serde(default)]
    pub cpu_us_per_batch: f64,
    /// By what factor the time of a read grows with the reads in flight: pairs of both, rising.
    /// Beyond the last pair reads per second are constant.
    #[serde(default)]
    pub slowdown: Vec<(f64, f64)>,
}

const fn unlimited() -> u32 {
    u32::MAX
}

const fn cpu_us_per_read() -> f64 {
    CPU_US_PER_READ
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    device: Vec<Device>,
}

/// What `pageway doctor --json` prints, and `machine.json` of a run, as far as it matters here.
#[derive(Deserialize)]
struct Readings {
    #[serde(default)]
    disk: serde_json::Value,
    #[serde(default)]
    disk_readings: Vec<[f64; 5]>,
}

#[derive(Deserialize)]
struct DeviceReading {
    queue_depth: f64,
    reads_per_second: f64,
    latency_us_mean: f64,
    latency_us_p50: f64,
    latency_us_p99: f64,
}

/// Names of the devices that come with pageway.
///
/// # Errors
/// None in practice: a test reads them.
pub fn device_names() -> Result<Vec<String>> {
    Ok(catalogue(CATALOGUE)?
        .into_iter()
        .map(|device| device.name)
        .collect())
}

fn catalogue(text: &str) -> Result<Vec<Device>> {
    let catalogue: Catalogue =
        toml::from_str(text).map_err(|error| Error::invalid(error.to_string()))?;
    for device in &catalogue.device {
        device.check().map_err(|error| error.within(&device.name))?;
    }
    Ok(catalogue.device)
}

impl Device {
    /// Finds a device: by name among those that come with pageway; as `FILE.toml:NAME` in a file of
    /// one's own; or as a `.json` file with this machine's readings, from `pageway doctor --json`
    /// or of a run.
    ///
    /// # Errors
    /// `InvalidInput` with the names there are; `NotFound` for a file.
    pub fn find(name: &str) -> Result<Self> {
        let is_json = Path::new(name)
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("json"));
        if is_json {
            let text = read_text(Path::new(name))?;
            return Self::from_readings(&text).map_err(|error| error.within(name));
        }
        let (devices, wanted) = match name.rsplit_once(".toml:") {
            None => (catalogue(CATALOGUE)?, name),
            Some((file, wanted)) => {
                let file = format!("{file}.toml");
                let text = read_text(Path::new(&file))?;
                let devices = catalogue(&text).map_err(|error| error.within(&file))?;
                (devices, wanted)
            }
        };
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let words = format!(
            "no device is called '{wanted}': give one of {}, FILE.toml:NAME, or the output of \
             'pageway doctor DIR --json' as a file that ends in .json",
            names.join(", ")
        );
        let found = devices.iter().find(|device| device.name == wanted);
        found.cloned().ok_or_else(|| Error::invalid(words))
    }

    fn from_readings(text: &str) -> Result<Self> {
        let invalid = |error: serde_json::Error| Error::invalid(error.to_string());
        let readings: Readings = serde_json::from_str(text).map_err(invalid)?;
        if !readings.disk.is_array() {
            return Self::measured(&readings.disk_readings);
        }
        let disk: Vec<DeviceReading> = serde_json::from_value(readings.disk).map_err(invalid)?;
        let disk: Vec<[f64; 5]> = disk
            .iter()
            .map(|reading| {
                [
                    reading.queue_depth,
                    reading.reads_per_second,
                    reading.latency_us_mean,
                    reading.latency_us_p50,
                    reading.latency_us_p99,
                ]
            })
            .collect();
        Self::measured(&disk)
    }

    /// This machine's disk, from random reads by queue depth: depth, reads per second, mean, median
    /// and 99th percentile of the latency in microseconds.
    ///
    /// The time of a read that is alone keeps the measured mean, and its shape is that of the two
    /// quantiles. It grows with the reads in flight as the mean did.
    ///
    /// # Errors
    /// `InvalidInput` without readings that begin at depth 1.
    pub fn measured(readings: &[[f64; 5]]) -> Result<Self> {
        let Some(&[depth, _, mean, p50, p99]) = readings.first() else {
            return Err(Error::invalid("there are no readings of a disk"));
        };
        if depth != 1.0 {
            return Err(Error::invalid(
                "the first reading of the disk is not at depth 1",
            ));
        }
        let tail = p99.max(p50);
        let shape = vec![
            (0.0, 0.8 * p50),
            (50.0, p50),
            (99.0, tail),
            (100.0, 2.0 * tail),
        ];
        let latency_us = Quantiles::new(shape)?.with_mean(mean);
        let shortest = latency_us.at(0.0);
        let cpu_us_per_read = CPU_US_PER_READ.min(shortest / 4.0);
        let most = shortest * 0.75 - cpu_us_per_read;
        let cpu_us_per_batch = (busy_us(readings) - cpu_us_per_read).clamp(0.0, most);
        let cpu = cpu_us_per_read + cpu_us_per_batch;
        let mut factor = 1.0_f64;
        let slowdown = readings.iter().map(|&[depth, _, at_depth, ..]| {
            factor = factor.max((at_depth - cpu) / (mean - cpu));
            (depth, factor)
        });
        let device = Self {
            name: THIS_MACHINE.to_owned(),
            words: "random reads of 4 KiB, measured by 'pageway doctor'".to_owned(),
            slowdown: slowdown.collect(),
            latency_us,
            parallel: unlimited(),
            max_iops: None,
            max_mb_per_s: None,
            cpu_us_per_read,
            cpu_us_per_batch,
        };
        device.check()?;
        Ok(device)
    }

    fn check(&self) -> Result<()> {
        self.latency_us.check()?;
        let positive = |limit: Option<f64>| limit.is_none_or(|value| value > 0.0);
        let rises = |pair: &[(f64, f64)]| match pair {
            [(n, f), (m, g)] => n < m && f <= g,
            _ => true,
        };
        let slowdown = &self.slowdown;
        let begins = slowdown.first().is_none_or(|&pair| pair == (1.0, 1.0));
        let limits = positive(self.max_iops) && positive(self.max_mb_per_s) && self.parallel > 0;
        let costs = self.cpu_us_per_read >= 0.0 && self.cpu_us_per_batch >= 0.0;
        if !limits || !costs || self.cpu_us() >= self.latency_us.at(0.0) {
            let words = "limits must be positive, and processor time below the shortest read";
            return Err(Error::invalid(words));
        }
        if !begins || !slowdown.windows(2).all(rises) {
            return Err(Error::invalid(
                "slowdown: give rising pairs that begin with [1, 1]",
            ));
        }
        Ok(())
    }

    /// Processor time of a read that is sent alone.
    pub(super) fn cpu_us(&self) -> f64 {
        self.cpu_us_per_read + self.cpu_us_per_batch
    }

    /// Whether reads wait for a place.
    pub(super) fn is_narrow(&self) -> bool {
        self.parallel != unlimited()
    }

    /// By what factor a read takes longer when `in_flight` are out, itself among them.
    pub(super) fn slowdown(&self, in_flight: f64) -> f64 {
        let after = self.slowdown.partition_point(|(n, _)| *n <= in_flight);
        let before = after.checked_sub(1).and_then(|at| self.slowdown.get(at));
        match (before, self.slowdown.get(after)) {
            (Some((n, f)), Some((m, g))) => f + (g - f) * (in_flight - n) / (m - n),
            (Some((n, f)), None) => f * in_flight / n,
            (None, _) => 1.0,
        }
    }

    /// Most reads of `read_bytes` per second; infinite where nothing limits them.
    pub fn ceiling(&self, read_bytes: u64) -> f64 {
        let seconds = (self.latency_us.mean() - self.cpu_us()) / 1e6;
        let served = match self.slowdown.last() {
            Some((n, f)) => n / (f * seconds),
            None if self.is_narrow() => f64::from(self.parallel) / seconds,
            None => f64::INFINITY,
        };
        served.min(1e9 / self.pace_ns(read_bytes))
    }

    /// Nanoseconds between reads at the fastest.
    pub(super) fn pace_ns(&self, read_bytes: u64) -> f64 {
        let by_iops = self.max_iops.map_or(0.0, |iops| 1e9 / iops);
        let by_bytes = self
            .max_mb_per_s
            .map_or(0.0, |mb| read_bytes as f64 * 1e3 / mb);
        by_iops.max(by_bytes)
    }
}

/// Processor time of a read that is sent alone: at the first depth at which reads wait for the
/// thread of the measurement, that thread takes its whole time for the reads of that depth.
fn busy_us(readings: &[[f64; 5]]) -> f64 {
    let alone = readings.first().map_or(0.0, |[_, _, mean, ..]| *mean);
    let busy = readings
        .iter()
        .find(|[_, _, mean, ..]| *mean >= BUSY * alone);
    busy.map_or(0.0, |[depth, _, mean, ..]| mean / depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READINGS: [[f64; 5]; 3] = [
        [1.0, 20_000.0, 50.0, 45.0, 80.0],
        [4.0, 50_000.0, 80.0, 70.0, 120.0],
        [64.0, 160_000.0, 400.0, 390.0, 600.0],
    ];

    #[test]
    fn every_device_that_comes_with_pageway_makes_sense_and_is_found() {
        let names = device_names().unwrap();
        assert!(names.len() >= 6);
        for name in names {
            let device = Device::find(&name).unwrap();
            assert!(
                device.words.len() > 10 && device.ceiling(4096) > 1000.0,
                "{name}"
            );
        }
        let error = Device::find("floppy").unwrap_err().to_string();
        assert!(
            error.contains("floppy") && error.contains("nvme"),
            "{error}"
        );
    }

    #[test]
    fn a_measured_device_keeps_its_mean_and_grows_slower_as_measured() {
        let device = Device::measured(&READINGS).unwrap();
        assert!((device.latency_us.mean() - 50.0).abs() < 1e-9);
        let cpu = device.cpu_us();
        assert!((cpu - 20.0).abs() < 1e-9, "80 us at depth 4: {cpu}");
        let shortest = device.latency_us.at(0.0);
        let uneven = [[1.0, 2e4, 50.0, 10.0, 900.0], [4.0, 5e4, 80.0, 70.0, 120.0]];
        let uneven = Device::measured(&uneven).unwrap();
        assert!(uneven.cpu_us() < uneven.latency_us.at(0.0) && cpu < shortest);
        for [depth, _, mean, ..] in READINGS {
            let expected = (mean - cpu) / (50.0 - cpu);
            assert!((device.slowdown(depth) - expected).abs() < 1e-9);
        }
        assert!((device.slowdown(128.0) / device.slowdown(64.0) - 2.0).abs() < 1e-9);
        assert!((device.ceiling(4096) - 64.0 / 380e-6).abs() < 1.0);
        assert!(Device::measured(&[]).is_err());
        assert!(Device::measured(&READINGS[1..]).is_err());
    }

    #[test]
    fn readings_are_taken_from_doctor_and_from_a_run() {
        let root = tempfile::tempdir().unwrap();
        let doctor = r#"{"disk":[{"queue_depth":1,"reads_per_second":20000,"latency_us_mean":50,
            "latency_us_p50":45,"latency_us_p99":80}],"free_bytes":1}"#;
        let run = r#"{"cpu":"x","disk":"ext4","disk_readings":[[1,20000,50,45,80]]}"#;
        for text in [doctor, run] {
            let device = Device::from_readings(text).unwrap();
            assert_eq!(device.name, THIS_MACHINE);
            assert!((device.latency_us.mean() - 50.0).abs() < 1e-9);
        }
        let missing = root.path().join("no.json");
        assert!(Device::find(&missing.display().to_string()).is_err());
    }

    #[test]
    fn limits_set_the_pace() {
        let mut device = Device::measured(&READINGS[..1]).unwrap();
        device.slowdown.clear();
        assert_eq!(device.ceiling(4096), f64::INFINITY);
        device.max_iops = Some(3000.0);
        device.max_mb_per_s = Some(125.0);
        assert!((device.ceiling(4096) - 3000.0).abs() < 1e-6);
        assert!((device.ceiling(125_000) - 1000.0).abs() < 1e-6);
        device.parallel = 2;
        device.max_iops = None;
        assert!((device.ceiling(1) - 2.0 / 48e-6).abs() < 1e-3);
        device.cpu_us_per_read = 100.0;
        assert!(device.check().is_err());
    }
}
