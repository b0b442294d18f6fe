//! The chosen design on several machines: each holds a part of the rows as they came, and every
//! query asks all parts, as `pageway route` does.
//!
//! ```text
//! rows of a node       =  rows x replicas / nodes
//! queries per second   =  replicas x those of one node with its rows
//! latency              =  that of one node + a round trip
//! price                =  nodes x (node + memory x its price + disk x its price)
//! ```
//!
//! Counts over the rows of a node follow from the trials, as those over all rows do. Not counted:
//! that a query waits for the slowest node, what a message costs the processor, and that parts
//! which each reach the recall reach more of it together. `pageway lab cluster` replays recorded
//! reads instead.

use std::fmt;

use pageway::{Error, Result, format_bytes};
use serde::Serialize;

use crate::cost::Cost;

const BYTES_PER_GB: f64 = 1e9;
/// Of 30 days.
const SECONDS_PER_MONTH: f64 = 30.0 * 86_400.0;

/// Machines that rows are to lie on.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct FleetWish {
    /// Machines.
    pub nodes: u32,
    /// Machines that hold the same rows.
    pub replicas: u32,
    /// Microseconds from one machine to another and back.
    pub round_trip_us: f64,
    /// What they cost; none where nobody says.
    pub prices: Option<FleetPrices>,
}

/// Prices, in one currency, for a month.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct FleetPrices {
    /// Of a machine, but for what follows.
    pub node: f64,
    /// Of 10^9 bytes of memory that the index holds.
    pub memory_gb: f64,
    /// Of 10^9 bytes on disk.
    pub disk_gb: f64,
}

impl FleetWish {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// `InvalidInput` that names the number.
    pub fn check(&self) -> Result<()> {
        let (nodes, replicas) = (self.nodes, self.replicas);
        if nodes == 0 || replicas == 0 || !nodes.is_multiple_of(replicas) {
            return Err(Error::invalid(format!(
                "nodes = {nodes}, replicas = {replicas}: give groups of as many nodes as replicas"
            )));
        }
        let prices = self.prices.unwrap_or_default();
        let numbers = [
            ("round trip", self.round_trip_us),
            ("price of a node", prices.node),
            ("price of memory", prices.memory_gb),
            ("price of disk", prices.disk_gb),
        ];
        let wrong = |(_, value): &&(&str, f64)| !value.is_finite() || *value < 0.0;
        match numbers.iter().find(wrong) {
            Some((name, value)) => {
                let words = format!("{name} = {value}: give 0 or more");
                Err(Error::invalid(words))
            }
            None => Ok(()),
        }
    }

    /// Rows that a node holds of `rows`.
    pub(crate) fn rows_of_node(&self, rows: u64) -> u64 {
        let groups = u64::from(self.nodes / self.replicas.max(1)).max(1);
        rows.div_ceil(groups)
    }
}

/// The chosen design on those machines: predicted.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct FleetPlan {
    /// What was wished.
    #[serde(flatten)]
    pub wish: FleetWish,
    /// Rows of a node.
    pub rows_of_node: u64,
    /// Memory of a search on a node, in bytes.
    pub memory_of_node: u64,
    /// Bytes on disk of a node.
    pub disk_of_node: u64,
    /// Microseconds of a query that is alone.
    pub latency_us: f64,
    /// Queries per second of all of them.
    pub queries_per_second: f64,
    /// Pages that a query reads on all nodes that it asks.
    pub pages: f64,
    /// Of a month, where prices are known.
    pub price_per_month: Option<f64>,
    /// Of a million queries, if as many are asked all the time as can be answered.
    pub price_per_million_queries: Option<f64>,
}

impl FleetPlan {
    /// The design whose searches over the rows of a node cost `of_node`, and that takes so many
    /// bytes of memory and of disk over all `rows`.
    pub(crate) fn new(
        wish: FleetWish,
        (rows, memory_bytes, disk_bytes): (u64, u64, u64),
        of_node: &Cost,
    ) -> Self {
        let rows_of_node = wish.rows_of_node(rows);
        let share = rows_of_node as f64 / rows.max(1) as f64;
        let part = |bytes: u64| (bytes as f64 * share).ceil() as u64;
        let (memory_of_node, disk_of_node) = (part(memory_bytes), part(disk_bytes));
        let queries_per_second = f64::from(wish.replicas) * of_node.queries_per_second;
        let price = wish.prices.map(|prices| {
            let gb = |bytes: u64| bytes as f64 / BYTES_PER_GB;
            let memory = gb(memory_of_node) * prices.memory_gb;
            let disk = gb(disk_of_node) * prices.disk_gb;
            f64::from(wish.nodes) * (prices.node + memory + disk)
        });
        let millions = queries_per_second * SECONDS_PER_MONTH / 1e6;
        Self {
            wish,
            rows_of_node,
            memory_of_node,
            disk_of_node,
            latency_us: of_node.latency_us + wish.round_trip_us,
            queries_per_second,
            pages: of_node.counts.pages * f64::from(wish.nodes / wish.replicas.max(1)),
            price_per_month: price,
            price_per_million_queries: price.map(|price| price / millions.max(1e-9)),
        }
    }
}

impl fmt::Display for FleetPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wish = &self.wish;
        writeln!(
            f,
            "Predicted for {} nodes, {} of the same rows, every query on all parts:",
            wish.nodes, wish.replicas
        )?;
        writeln!(
            f,
            "  {:.0} queries per second, {:.0} us alone with a round trip of {:.0} us, {:.1} pages \
             a query",
            self.queries_per_second, self.latency_us, wish.round_trip_us, self.pages
        )?;
        write!(
            f,
            "  a node: {} rows, {} of memory, {} of disk",
            self.rows_of_node,
            format_bytes(self.memory_of_node),
            format_bytes(self.disk_of_node)
        )?;
        let prices = self.price_per_month.zip(self.price_per_million_queries);
        prices.map_or(Ok(()), |(month, million)| {
            write!(
                f,
                "\n  at the prices given: {month:.2} a month, {million:.4} for a million queries when \
                 busy"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Counts;

    fn wish() -> FleetWish {
        FleetWish {
            nodes: 8,
            replicas: 2,
            round_trip_us: 200.0,
            prices: None,
        }
    }

    fn cost() -> Cost {
        Cost {
            counts: Counts {
                pages: 12.0,
                ..Counts::default()
            },
            latency_us: 500.0,
            queries_per_second: 3_000.0,
        }
    }

    #[test]
    fn replicas_answer_more_and_parts_hold_less() {
        let size = (1_000_000_000, 40_000_000_000, 160_000_000_000);
        let plan = FleetPlan::new(wish(), size, &cost());
        assert_eq!(plan.rows_of_node, 250_000_000);
        assert_eq!(plan.memory_of_node, 10_000_000_000);
        assert_eq!(plan.disk_of_node, 40_000_000_000);
        assert_eq!((plan.queries_per_second, plan.latency_us), (6_000.0, 700.0));
        assert_eq!((plan.pages, plan.price_per_month), (48.0, None));
        assert!(!plan.to_string().contains("prices"));
        let prices = FleetPrices {
            node: 100.0,
            memory_gb: 2.0,
            disk_gb: 0.5,
        };
        let priced = FleetWish {
            prices: Some(prices),
            ..wish()
        };
        let plan = FleetPlan::new(priced, size, &cost());
        assert_eq!(plan.price_per_month, Some(8.0 * (100.0 + 20.0 + 20.0)));
        let million = plan.price_per_million_queries.unwrap();
        assert!((million - 1120.0 / (6_000.0 * 2_592_000.0 / 1e6)).abs() < 1e-9);
        assert!(plan.to_string().contains("1120.00 a month"));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let refused = |spoil: fn(&mut FleetWish)| {
            let mut own = wish();
            spoil(&mut own);
            own.check().unwrap_err().to_string()
        };
        assert!(refused(|own| own.nodes = 0).contains("nodes = 0"));
        assert!(refused(|own| own.replicas = 3).contains("replicas = 3"));
        assert!(refused(|own| own.round_trip_us = -1.0).contains("round trip"));
        let prices = |own: &mut FleetWish| {
            own.prices = Some(FleetPrices {
                disk_gb: f64::NAN,
                ..FleetPrices::default()
            });
        };
        assert!(refused(prices).contains("price of disk"));
        wish().check().unwrap();
    }
}
