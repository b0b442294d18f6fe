//! Where a cluster stands: nodes, disks, processors, network, object store.

use clap::Args;
use pageway::{Error, Result};
use serde::Serialize;

use crate::model::Device;

/// Where a cluster stands, and who asks it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Site {
    /// Machines that hold rows.
    pub nodes: u32,
    /// Segments of each; with the graph none matters.
    pub segments_per_node: u32,
    /// Nodes that hold the same rows.
    pub replicas: u32,
    /// Cores of a node.
    pub cores: u32,
    /// Disks of a node.
    pub disks: u32,
    /// What they are.
    pub disk: Device,
    /// What is between them.
    #[serde(flatten)]
    pub network: Network,
    /// Share of the reads whose block is on no disk of the node, 0 to 1.
    pub cold: f64,
    /// Where those are read from.
    pub store: Device,
    /// Who asks.
    #[serde(flatten)]
    pub load: SiteLoad,
}

/// What is between machines.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Args)]
pub struct Network {
    /// Microseconds of the network there and back, without bytes
    #[arg(long, value_name = "US", default_value_t = 200.0)]
    pub round_trip_us: f64,

    /// Gigabits per second that a machine sends at most
    #[arg(long, value_name = "GBIT", default_value_t = 10.0)]
    pub gbit_per_s: f64,

    /// Processor time of a machine for each message, in microseconds: an assumption
    #[arg(long, value_name = "US", default_value_t = 20.0)]
    pub message_us: f64,
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Args)]
pub struct SiteLoad {
    /// Queries under way at a time
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub in_flight: u32,

    /// Queries to replay
    #[arg(
        id = "replayed",
        long = "replayed",
        value_name = "N",
        default_value_t = 5_000
    )]
    pub queries: u64,

    /// Seed of every choice by chance
    #[arg(long, value_name = "SEED", default_value_t = 42)]
    pub seed: u64,
}

impl Site {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// `InvalidInput`, with what is wrong.
    pub fn check(&self) -> Result<()> {
        let counts = [
            self.nodes,
            self.segments_per_node,
            self.replicas,
            self.cores,
            self.disks,
            self.load.in_flight,
        ];
        if counts.contains(&0) || self.load.queries == 0 {
            return Err(Error::invalid(
                "a cluster of nothing: give at least one node, segment, replica, core, disk and query",
            ));
        }
        if !self.nodes.is_multiple_of(self.replicas) {
            let words = format!(
                "{} nodes cannot be dealt into groups of {} replicas",
                self.nodes, self.replicas
            );
            return Err(Error::invalid(words));
        }
        let times = [self.network.round_trip_us, self.network.message_us];
        let sane = times.iter().all(|us| *us >= 0.0 && us.is_finite());
        if !sane
            || self.network.gbit_per_s <= 0.0
            || self.network.gbit_per_s.is_nan()
            || !(0.0..=1.0).contains(&self.cold)
        {
            return Err(Error::invalid(
                "times must not be negative, bandwidth must be positive, and the cold share \
                 between 0 and 1",
            ));
        }
        Ok(())
    }

    /// Segments in all: replicas hold the same.
    pub(super) fn segments(&self) -> u32 {
        (self.nodes * self.segments_per_node / self.replicas).max(1)
    }

    /// Nodes that hold a segment, or a page of the graph, of this number.
    pub(super) fn owners(&self, number: u64) -> impl Iterator<Item = usize> + use<> {
        let (nodes, first) = (u64::from(self.nodes), number % u64::from(self.nodes));
        (0..u64::from(self.replicas)).map(move |replica| ((first + replica) % nodes) as usize)
    }

    /// Nanoseconds in which a node sends so many bytes.
    pub(super) fn send_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 * 8.0 / self.network.gbit_per_s) as u64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::scenario::constant;

    /// Four nodes with disks of 100 us, 200 us apart, that cost nothing else.
    pub(in super::super) fn site() -> Site {
        Site {
            nodes: 4,
            segments_per_node: 1,
            replicas: 1,
            cores: 2,
            disks: 1,
            disk: constant(100.0),
            network: Network {
                round_trip_us: 200.0,
                gbit_per_s: 1e6,
                message_us: 0.0,
            },
            cold: 0.0,
            store: constant(30_000.0),
            load: SiteLoad {
                in_flight: 1,
                queries: 200,
                seed: 7,
            },
        }
    }

    #[test]
    fn replicas_lie_on_nodes_that_follow() {
        let mut site = site();
        site.replicas = 2;
        assert_eq!(site.owners(3).collect::<Vec<_>>(), [3, 0]);
        assert_eq!((site.segments(), site.send_ns(125_000_000)), (2, 1_000));
        site.check().unwrap();
    }

    #[test]
    fn a_cluster_that_cannot_be_is_refused() {
        let wrong = [
            |site: &mut Site| site.nodes = 0,
            |site: &mut Site| site.replicas = 3,
            |site: &mut Site| site.cold = 1.5,
            |site: &mut Site| site.network.gbit_per_s = 0.0,
            |site: &mut Site| site.network.round_trip_us = f64::NAN,
            |site: &mut Site| site.load.queries = 0,
        ];
        for spoil in wrong {
            let mut own = site();
            spoil(&mut own);
            assert!(own.check().is_err());
        }
    }
}
