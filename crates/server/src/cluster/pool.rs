//! What is known of nodes: who answers, who is busy, who is out of rotation.
//!
//! ```text
//! in rotation --- failed calls in a row, or silence ---> out --- a heartbeat is answered ---> in,
//!      ^                                                          where one failed call is enough
//!      '--- calls are answered -------------------------------------------------------------'
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use pageway::lab::SplitMix64;

use super::hedge::{Budget, Latencies};

/// Part of calls that may be hedges, and how many in a row.
const HEDGES: (f64, f64) = (0.05, 10.0);
/// Part of calls that may be asked again after all replicas have failed, and how many in a row.
const REPEATS: (f64, f64) = (0.10, 20.0);

/// How long nodes are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience {
    /// Between two heartbeats.
    pub(crate) heartbeat: Duration,
    /// Without a sign of life a node is out of rotation.
    pub(crate) silence: Duration,
    /// Calls that fail one after the other, so many put a node out of rotation.
    pub(crate) failures: u32,
    /// A call that takes longer has another replica asked.
    pub(crate) attempt: Duration,
    /// Before replicas that have all failed are asked again; twice as long before the next round.
    pub(crate) pause: Duration,
    /// Rounds over the replicas.
    pub(crate) rounds: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(333),
            silence: Duration::from_secs(1),
            failures: 3,
            attempt: Duration::from_secs(2),
            pause: Duration::from_millis(100),
            rounds: 3,
        }
    }
}

/// A node as it is known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NodeState {
    /// Calls that are under way.
    pub(crate) in_flight: u32,
    failures: u32,
    heard: Duration,
    /// What was wrong the last time that something was.
    pub(crate) trouble: Option<String>,
    /// Calls that were begun, and that failed.
    pub(crate) calls: (u64, u64),
}

/// All nodes. Times count from when the router began.
#[derive(Debug)]
pub(crate) struct NodePool {
    nodes: BTreeMap<String, NodeState>,
    random: SplitMix64,
    pub(crate) patience: Patience,
    pub(crate) latencies: Latencies,
    hedges: Budget,
    repeats: Budget,
}

impl NodePool {
    /// No nodes yet.
    pub(crate) fn new(patience: Patience, seed: u64) -> Self {
        Self {
            nodes: BTreeMap::new(),
            random: SplitMix64::new(seed),
            patience,
            latencies: Latencies::default(),
            hedges: Budget::new(HEDGES.0, HEDGES.1),
            repeats: Budget::new(REPEATS.0, REPEATS.1),
        }
    }

    /// Knows these nodes and no others; what was known of those that stay stays.
    pub(crate) fn set_nodes<'n>(&mut self, names: impl Iterator<Item = &'n str>, now: Duration) {
        let mut before = std::mem::take(&mut self.nodes);
        for name in names {
            let state = before.remove(name).unwrap_or(NodeState {
                in_flight: 0,
                failures: 0,
                heard: now,
                trouble: None,
                calls: (0, 0),
            });
            self.nodes.insert(name.to_owned(), state);
        }
    }

    /// All nodes, by name, and whether each is in rotation.
    pub(crate) fn states(&self, now: Duration) -> Vec<(&str, &NodeState, bool)> {
        let one = |(name, state)| (name, state, self.is_fit(state, now));
        let all = self
            .nodes
            .iter()
            .map(|(name, state)| (name.as_str(), state));
        all.map(one).collect()
    }

    fn is_fit(&self, state: &NodeState, now: Duration) -> bool {
        state.failures < self.patience.failures
            && now.saturating_sub(state.heard) <= self.patience.silence
    }

    /// Whether a node is in rotation. So is one that the map in use does not name any more:
    /// requests of before may still go there.
    pub(crate) fn is_in(&self, node: &str, now: Duration) -> bool {
        let state = self.nodes.get(node);
        state.is_none_or(|state| self.is_fit(state, now))
    }

    /// The one of these that is asked next: of two by chance, that with fewer calls under way.
    /// Nodes out of rotation come where there are no others.
    pub(crate) fn choose<'n>(&mut self, among: &[&'n str], now: Duration) -> Option<&'n str> {
        let fit = among.iter().filter(|node| self.is_in(node, now));
        let mut fit: Vec<&str> = fit.copied().collect();
        if fit.is_empty() {
            fit = among.to_vec();
        }
        if fit.is_empty() {
            return None;
        }
        let first = self.random.below(fit.len() as u64) as usize;
        let first = fit.swap_remove(first);
        if fit.is_empty() {
            return Some(first);
        }
        let second = self.random.below(fit.len() as u64) as usize;
        let second = fit.swap_remove(second);
        let busy = |node: &str| self.nodes.get(node).map_or(0, |state| state.in_flight);
        Some(if busy(second) < busy(first) {
            second
        } else {
            first
        })
    }

    /// A call to a node begins.
    pub(crate) fn begin(&mut self, node: &str) {
        self.hedges.earn();
        self.repeats.earn();
        if let Some(state) = self.nodes.get_mut(node) {
            state.in_flight += 1;
            state.calls.0 += 1;
        }
    }

    /// A call to a node ends, and the node is well.
    pub(crate) fn succeed(&mut self, node: &str, now: Duration) {
        self.leave(node);
        if let Some(state) = self.nodes.get_mut(node) {
            state.failures = 0;
            state.heard = state.heard.max(now);
        }
    }

    /// A call to a node fails.
    pub(crate) fn fail(&mut self, node: &str, why: &str) {
        self.leave(node);
        if let Some(state) = self.nodes.get_mut(node) {
            state.failures = state.failures.saturating_add(1);
            state.calls.1 += 1;
            state.trouble = Some(why.to_owned());
        }
    }

    /// Nobody waits for a call any more.
    pub(crate) fn leave(&mut self, node: &str) {
        if let Some(state) = self.nodes.get_mut(node) {
            state.in_flight = state.in_flight.saturating_sub(1);
        }
    }

    /// A heartbeat was answered. A node that was out is asked again, and is out after one failure.
    pub(crate) fn hear(&mut self, node: &str, now: Duration) {
        let most = self.patience.failures.saturating_sub(1);
        if let Some(state) = self.nodes.get_mut(node) {
            state.heard = state.heard.max(now);
            state.failures = state.failures.min(most);
        }
    }

    /// A heartbeat was not answered, or by another node.
    pub(crate) fn miss(&mut self, node: &str, why: &str) {
        if let Some(state) = self.nodes.get_mut(node) {
            state.failures = state.failures.saturating_add(1);
            state.trouble = Some(why.to_owned());
        }
    }

    /// Whether one more replica may be asked before the first has answered.
    pub(crate) fn may_hedge(&mut self) -> bool {
        self.hedges.spend()
    }

    /// Whether replicas that have failed may be asked again.
    pub(crate) fn may_repeat(&mut self) -> bool {
        self.repeats.spend()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Duration = Duration::ZERO;

    fn pool(names: &[&str]) -> NodePool {
        let mut pool = NodePool::new(Patience::default(), 7);
        pool.set_nodes(names.iter().copied(), ZERO);
        pool
    }

    #[test]
    fn failures_and_silence_put_a_node_out_and_a_heartbeat_puts_it_in() {
        let mut pool = pool(&["a", "b"]);
        for _ in 0..3 {
            assert!(pool.is_in("a", ZERO));
            pool.begin("a");
            pool.fail("a", "gone");
        }
        assert!(!pool.is_in("a", ZERO));
        for _ in 0..20 {
            assert_eq!(pool.choose(&["a", "b"], ZERO), Some("b"));
        }
        assert_eq!(pool.choose(&["a"], ZERO), Some("a"), "where there is none");
        pool.hear("a", ZERO);
        assert!(pool.is_in("a", ZERO));
        pool.begin("a");
        pool.fail("a", "gone");
        assert!(!pool.is_in("a", ZERO), "on probation");
        pool.hear("a", ZERO);
        pool.begin("a");
        pool.succeed("a", ZERO);
        pool.miss("a", "x");
        assert!(pool.is_in("a", ZERO), "well again");
        let late = Duration::from_millis(1001);
        assert!(!pool.is_in("b", late));
        pool.hear("b", late);
        assert!(pool.is_in("b", late));
    }

    #[test]
    fn the_less_busy_of_two_is_asked() {
        let mut pool = pool(&["a", "b"]);
        pool.begin("a");
        for _ in 0..20 {
            assert_eq!(pool.choose(&["a", "b"], ZERO), Some("b"));
        }
        pool.leave("a");
        let chosen = (0..100).filter(|_| pool.choose(&["a", "b"], ZERO) == Some("a"));
        assert!((20..80).contains(&chosen.count()));
        assert_eq!(pool.choose(&[], ZERO), None);
    }

    #[test]
    fn nodes_that_stay_keep_their_state() {
        let mut pool = pool(&["a", "b"]);
        pool.begin("a");
        pool.set_nodes(["a", "c"].into_iter(), Duration::from_secs(9));
        let states = pool.states(Duration::from_secs(9));
        let seen = states
            .iter()
            .map(|(name, state, fit)| (*name, state.in_flight, *fit));
        assert_eq!(seen.collect::<Vec<_>>(), [("a", 1, false), ("c", 0, true)]);
    }
}
