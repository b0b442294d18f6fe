//! Who leads each partition, as nodes say, and what the router has seen acknowledged of it: reads
//! ask for that, so that they see what was written through the same router.

use std::collections::BTreeMap;

use crate::partition::ReplicaSign;

/// What is known of partitions, by their names on nodes.
#[derive(Default, Debug)]
pub(crate) struct Leaders(BTreeMap<String, LedPartition>);

#[derive(Default, Debug)]
struct LedPartition {
    leader: Option<String>,
    /// Of the last lease that was heard of.
    epoch: u64,
    /// The last record that was acknowledged through this router.
    acknowledged: u64,
}

impl Leaders {
    /// A node has said how its partitions are.
    pub(crate) fn hear(&mut self, node: &str, signs: &[ReplicaSign]) {
        for sign in signs {
            let own = self.0.entry(sign.name.clone()).or_default();
            // A node that was paused may still say that it leads under a lease of before.
            if sign.leads && sign.epoch >= own.epoch {
                (own.leader, own.epoch) = (Some(node.to_owned()), sign.epoch);
            } else if !sign.leads && own.leader.as_deref() == Some(node) {
                own.leader = None;
            }
        }
    }

    /// The node that leads a partition, as far as is known.
    pub(crate) fn of(&self, partition: &str) -> Option<&str> {
        self.0.get(partition)?.leader.as_deref()
    }

    /// Why none of these nodes can be asked to change a partition.
    pub(crate) fn absence(&self, partition: &str, nodes: &[String]) -> String {
        match self.of(partition) {
            Some(node) if !nodes.iter().any(|own| own == node) => {
                format!("{node} leads it, which the map does not name for it")
            }
            _ => "no node leads it".to_owned(),
        }
    }

    /// A node does not lead a partition any more, or does not answer.
    pub(crate) fn lose(&mut self, partition: &str, node: &str) {
        if let Some(own) = self.0.get_mut(partition)
            && own.leader.as_deref() == Some(node)
        {
            own.leader = None;
        }
    }

    /// A change was acknowledged, by the number of its record.
    pub(crate) fn acknowledge(&mut self, partition: &str, number: u64) {
        let own = self.0.entry(partition.to_owned()).or_default();
        own.acknowledged = own.acknowledged.max(number);
    }

    /// The record that a node has to have to answer for a partition.
    pub(crate) fn least(&self, partition: &str) -> u64 {
        self.0.get(partition).map_or(0, |own| own.acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(leads: bool, epoch: u64) -> Vec<ReplicaSign> {
        vec![ReplicaSign {
            name: "p".to_owned(),
            leads,
            epoch,
            ..ReplicaSign::default()
        }]
    }

    #[test]
    fn the_leader_is_who_says_so_with_the_latest_lease() {
        let mut leaders = Leaders::default();
        assert_eq!(leaders.of("p"), None);
        leaders.hear("a", &sign(true, 3));
        leaders.hear("b", &sign(false, 3));
        assert_eq!(leaders.of("p"), Some("a"));
        leaders.hear("b", &sign(true, 4));
        leaders.hear("a", &sign(true, 3));
        assert_eq!(leaders.of("p"), Some("b"), "a was paused");
        leaders.lose("p", "a");
        assert_eq!(leaders.of("p"), Some("b"));
        leaders.hear("b", &sign(false, 4));
        assert_eq!(leaders.of("p"), None);
        leaders.hear("a", &sign(true, 3));
        assert_eq!(leaders.of("p"), None, "its lease has ended");
        assert_eq!(leaders.absence("p", &["b".to_owned()]), "no node leads it");
        leaders.hear("c", &sign(true, 5));
        let words = leaders.absence("p", &["a".to_owned(), "b".to_owned()]);
        assert_eq!(words, "c leads it, which the map does not name for it");
        leaders.acknowledge("p", 7);
        leaders.acknowledge("p", 5);
        assert_eq!((leaders.least("p"), leaders.least("q")), (7, 0));
    }
}
