//! What is wanted of an index, and what is settled already.

use std::fmt;
use std::str::FromStr;

use pageway::spec::{DEFAULTS, IndexSpec, MAX_BEAM};
use pageway::{Error, MemoryWish, Metric, Overrides, Preset, Result};
use serde::Serialize;

use crate::fleet::FleetWish;
use crate::update::UpdateWish;

/// What counts once recall and memory are met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Fewest microseconds from question to answer, one query at a time.
    #[default]
    Latency,
    /// Most queries per second, all threads busy.
    Throughput,
    /// Fewest pages read.
    Reads,
}

impl Goal {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Latency, "latency"),
        (Self::Throughput, "throughput"),
        (Self::Reads, "reads"),
    ];
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(goal, _)| goal == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Goal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(goal, _)| *goal).ok_or_else(|| {
            Error::invalid(format!(
                "unknown goal '{text}': there is latency, throughput and reads"
            ))
        })
    }
}

/// Choices that are not open: nothing else is tried.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pins {
    /// Only these presets; all where empty.
    pub presets: Vec<Preset>,
    /// Only forms of this name.
    pub form: Option<String>,
    /// Bytes of a page.
    pub page_bytes: Option<u32>,
    /// Longest adjacency list (R).
    pub degree: Option<u32>,
    /// Bytes per code.
    pub code_bytes: Option<u32>,
    /// Bits per dimension of a code; `code_bytes` comes first.
    pub code_bits: Option<f64>,
    /// Reads in flight (W).
    pub beam: Option<u32>,
    /// Policies, as `pageway build` takes them.
    pub overrides: Overrides,
}

/// The keys of `Pins::set`.
const KEYS: &str = "preset, form, page-size, degree, code-bytes, bits and beam";

impl Pins {
    /// Pins `key=value`; of `preset` several may be pinned, the others hold their last value.
    ///
    /// # Errors
    /// `InvalidInput` for a key or value that is not legal, with those that are.
    pub fn set(&mut self, pair: &str) -> Result<()> {
        let refuse = |words: &str| Err(Error::invalid(format!("--pin {pair}: {words}")));
        let Some((key, value)) = pair.split_once('=') else {
            return refuse("write key=value");
        };
        let number = value.parse::<u32>().ok().filter(|number| *number > 0);
        let field = match key {
            "preset" => {
                self.presets.push(value.parse()?);
                return Ok(());
            }
            "form" => {
                self.form = Some(value.to_owned());
                return Ok(());
            }
            "bits" => {
                let bits = value.parse::<f64>().ok();
                self.code_bits = bits.filter(|bits| *bits > 0.0 && *bits <= 8.0);
                return match self.code_bits {
                    Some(_) => Ok(()),
                    None => refuse("give bits per dimension, above 0 and up to 8"),
                };
            }
            "page-size" => &mut self.page_bytes,
            "degree" => &mut self.degree,
            "code-bytes" => &mut self.code_bytes,
            "beam" => &mut self.beam,
            _ => return refuse(&format!("there is {KEYS}, not '{key}'")),
        };
        if number.is_none() {
            return refuse("give a whole number above 0");
        }
        *field = number;
        Ok(())
    }

    /// Bytes per code for vectors of `dimension`, where they are pinned.
    pub(crate) fn code_bytes(&self, dimension: u32) -> Option<u32> {
        let of_bits = |bits: f64| (bits * f64::from(dimension) / 8.0).round().max(1.0) as u32;
        self.code_bytes.or(self.code_bits.map(of_bits))
    }
}

/// What is wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct Wish {
    /// Distance.
    pub metric: Metric,
    /// Memory of a search.
    pub memory: MemoryWish,
    /// Recall@10.
    pub recall: f32,
    /// What counts beyond that.
    pub goal: Goal,
    /// Searching threads; 0 for all cores.
    pub threads: usize,
    /// Rows of the larger sample.
    pub sample_rows: u64,
    /// Seconds after which nothing more is tried; no limit where absent.
    pub seconds: Option<f64>,
    /// Seconds that the disk is measured for.
    pub device_seconds: f32,
    /// What is settled already.
    pub pins: Pins,
    /// Seed of every random choice.
    pub seed: u64,
    /// How the index will change, where it will.
    pub updates: Option<UpdateWish>,
    /// Machines that rows are to lie on, where it is not one.
    pub fleet: Option<FleetWish>,
}

impl Wish {
    /// Reads in flight that are tried: the design's own, and wider or narrower as the goal asks.
    pub(crate) fn beams(&self, spec: &IndexSpec) -> Vec<u32> {
        let own = spec.execution.schedule.beam();
        if self.pins.beam.is_some() {
            return vec![own];
        }
        let others = match self.goal {
            Goal::Latency => [2 * own, 4 * own],
            Goal::Throughput | Goal::Reads => [own / 2, own / 4],
        };
        let mut all = vec![own];
        all.extend(others.map(|beam| beam.clamp(1, MAX_BEAM)));
        all.dedup();
        all
    }
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            metric: Metric::L2,
            memory: MemoryWish::Share(0.1),
            recall: DEFAULTS.recall,
            goal: Goal::default(),
            threads: 0,
            sample_rows: 20_000,
            seconds: None,
            device_seconds: 1.5,
            pins: Pins::default(),
            seed: DEFAULTS.seed,
            updates: None,
            fleet: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_as_they_are_shown() {
        for (goal, name) in Goal::ALL {
            assert_eq!(goal.to_string(), name);
            assert_eq!(name.parse::<Goal>().unwrap(), goal);
        }
        assert!("speed".parse::<Goal>().is_err());
    }

    #[test]
    fn pins_are_read_and_refused_by_name() {
        let mut pins = Pins::default();
        for pair in ["page-size=8192", "beam=3", "preset=starling", "preset=dgai"] {
            pins.set(pair).unwrap();
        }
        assert_eq!((pins.page_bytes, pins.beam), (Some(8192), Some(3)));
        assert_eq!(pins.presets, [Preset::Starling, Preset::Dgai]);
        pins.set("bits=2").unwrap();
        assert_eq!(pins.code_bytes(100), Some(25));
        pins.set("code-bytes=7").unwrap();
        assert_eq!(pins.code_bytes(100), Some(7));
        for pair in ["beam", "beam=0", "bits=9", "page=1", "preset=x"] {
            assert!(pins.set(pair).is_err(), "{pair}");
        }
        let said = pins.set("size=1").unwrap_err();
        assert!(said.context().contains("page-size, degree"), "{said}");
    }
}
