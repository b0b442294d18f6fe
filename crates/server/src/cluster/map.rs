//! The shard map: which collections there are, in which shards each lies, and which nodes have
//! those.
//!
//! ```toml
//! version = 3                              # a later map has a higher one
//!
//! [nodes]
//! a = "http://10.0.0.1:6333"
//! b = "http://10.0.0.2:6333"
//!
//! [[collections.texts.shards]]
//! collection = "texts-0"                   # its name on the nodes
//! nodes = ["a", "b"]
//! sequence = 1200                          # a node that has less does not answer for it
//!
//! [collections.notes]
//! cut = "id"                               # a hash of its id says in which shard a point is
//! [[collections.notes.shards]]
//! collection = "notes-0"                   # the order of the shards is a part of that
//! nodes = ["a", "b"]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pageway::{Error, Result};
use serde::Deserialize;

use crate::input::read_file;
use crate::registry::check_name;

/// Bytes of a map at most.
const MAX_BYTES: u64 = 16 << 20;
/// Shards of a collection, and replicas of a shard, at most.
const MAX_SHARDS: usize = 1024;
const MAX_REPLICAS: usize = 16;

/// A map as a file has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterMap {
    /// A later map has a higher one.
    pub(crate) version: u64,
    /// Addresses by name.
    pub(crate) nodes: BTreeMap<String, String>,
    /// By the name that clients use.
    #[serde(default)]
    pub(crate) collections: BTreeMap<String, RoutedCollection>,
}

/// A collection in shards. A point is in one of them.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoutedCollection {
    /// How points are dealt to shards, where that is known.
    #[serde(default)]
    pub(crate) cut: Option<Cut>,
    pub(crate) shards: Vec<Shard>,
}

/// How points are dealt to shards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cut {
    /// By a hash of their ids, [`crate::partition::part_of`].
    Id,
}

/// A part of a collection, the same on each of its nodes.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shard {
    /// Its name on the nodes, where it is a collection.
    pub(crate) collection: String,
    pub(crate) nodes: Vec<String>,
    /// The change that a node must have to answer.
    #[serde(default)]
    pub(crate) sequence: u64,
    /// The digest of what it holds then, as its nodes tell it.
    #[serde(default)]
    pub(crate) digest: Option<String>,
}

impl ClusterMap {
    /// Reads a map, and refuses one that cannot be meant.
    ///
    /// # Errors
    /// `InvalidInput`, with the place in the map; as files are.
    pub fn read(path: &Path) -> Result<Self> {
        let text = String::from_utf8(read_file(path, MAX_BYTES)?);
        let wrong =
            |what: &dyn std::fmt::Display| Error::invalid(format!("{}: {what}", path.display()));
        let text = text.map_err(|error| wrong(&error))?;
        Self::parse(&text).map_err(|error| wrong(&error))
    }

    /// The map of a text.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let map: Self = toml::from_str(text).map_err(|error| Error::invalid(error.to_string()))?;
        map.check()?;
        Ok(map)
    }

    fn check(&self) -> Result<()> {
        let mut addresses = BTreeSet::new();
        for (name, address) in &self.nodes {
            let is_name = (1..=255).contains(&name.len()) && name.bytes().all(is_plain);
            if !is_name {
                let words = format!("nodes.{name}: letters, digits, `-`, `_` and `.` make a name");
                return Err(Error::invalid(words));
            }
            let own = authority(address);
            let own = own.map_err(|words| Error::invalid(format!("nodes.{name}: {words}")))?;
            if !addresses.insert(own) {
                let words = format!("nodes.{name}: {address} is the address of another node too");
                return Err(Error::invalid(words));
            }
        }
        let mut owners = BTreeMap::new();
        for (name, routed) in &self.collections {
            let place = format!("collections.{name}");
            check_name(name).map_err(|why| Error::invalid(format!("{place}: {}", why.text)))?;
            if !(1..=MAX_SHARDS).contains(&routed.shards.len()) {
                let words = format!("{place}: 1 to {MAX_SHARDS} shards are possible");
                return Err(Error::invalid(words));
            }
            for (number, shard) in routed.shards.iter().enumerate() {
                let place = format!("{place}.shards[{number}]");
                self.check_shard(shard)
                    .map_err(|error| error.within(&place))?;
                if routed.cut.is_some() && !shard.collection.bytes().all(is_plain) {
                    let words = "letters, digits, `-`, `_` and `.` make the name of a partition";
                    return Err(Error::invalid(format!("{place}: {words}")));
                }
                if let Some(other) = owners.insert(&shard.collection, place.clone()) {
                    let words = format!("{place}: {} is {other} too", shard.collection);
                    return Err(Error::invalid(words));
                }
            }
        }
        Ok(())
    }

    fn check_shard(&self, shard: &Shard) -> Result<()> {
        check_name(&shard.collection).map_err(|why| Error::invalid(why.text))?;
        if !(1..=MAX_REPLICAS).contains(&shard.nodes.len()) {
            let words = format!("1 to {MAX_REPLICAS} nodes are possible");
            return Err(Error::invalid(words));
        }
        for (at, node) in shard.nodes.iter().enumerate() {
            if !self.nodes.contains_key(node) {
                return Err(Error::invalid(format!("no node has the name {node:?}")));
            }
            if shard.nodes.iter().take(at).any(|other| other == node) {
                return Err(Error::invalid(format!("{node:?} is there twice")));
            }
        }
        let digest = shard.digest.as_deref().unwrap_or("0");
        if digest.is_empty() || !digest.bytes().all(|own| own.is_ascii_hexdigit()) {
            let words = format!("digest: hexadecimal digits are expected, not {digest:?}");
            return Err(Error::invalid(words));
        }
        Ok(())
    }

    /// Refuses a map that is not a later one than this.
    pub(crate) fn check_next(&self, next: &Self) -> Result<()> {
        if next.version <= self.version && next != self {
            return Err(Error::invalid(format!(
                "version {} is not after version {}, which is in use",
                next.version, self.version
            )));
        }
        for (name, own) in &next.collections {
            let before = self.collections.get(name);
            if before.is_some_and(|before| !own.is_dealt_as(before)) {
                return Err(Error::invalid(format!(
                    "collections.{name}: points are in the shards that their ids tell: these stay \
                     as many and in their order"
                )));
            }
        }
        Ok(())
    }
}

impl RoutedCollection {
    /// Whether points that are where another map says are where this one says; so are those of
    /// other shards altogether.
    fn is_dealt_as(&self, other: &Self) -> bool {
        if self.cut.is_none() || other.cut.is_none() {
            return true;
        }
        let names = |of: &Self| -> Vec<String> {
            of.shards.iter().map(|own| own.collection.clone()).collect()
        };
        let (own, other) = (names(self), names(other));
        own == other || own.iter().all(|name| !other.contains(name))
    }
}

/// Whether names of nodes and of partitions may have it.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// The host and the port of an address.
pub(crate) fn authority(address: &str) -> std::result::Result<&str, String> {
    let own = address.strip_prefix("http://").unwrap_or(address);
    let own = own.trim_end_matches('/');
    let port = own.rsplit_once(':').and_then(|(host, port)| {
        let is_host = !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']);
        port.parse::<u16>().ok().filter(|_| is_host)
    });
    match port {
        Some(_) => Ok(own),
        None => Err(format!("{address:?}: http://HOST:PORT is expected")),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const GOOD: &str = "version = 2
[nodes]
a = 'http://10.0.0.1:6333'
b = '[::1]:6334/'
[[collections.texts.shards]]
collection = 'texts-0'
nodes = ['a', 'b']
[[collections.texts.shards]]
collection = 'texts-1'
nodes = ['b']
sequence = 9
";

    #[test]
    fn a_map_is_read() {
        let map = ClusterMap::parse(GOOD).unwrap();
        let texts = &map.collections["texts"];
        assert_eq!((map.version, texts.shards.len()), (2, 2));
        assert_eq!((texts.shards[0].sequence, texts.shards[1].sequence), (0, 9));
        assert_eq!(authority(&map.nodes["b"]), Ok("[::1]:6334"));
        assert!(ClusterMap::parse("version = 1\n[nodes]\n").is_ok());
    }

    #[test]
    fn a_map_that_cannot_be_meant_is_refused() {
        for (from, to, word) in [
            ("nodes = ['b']", "nodes = ['c']", "shards[1]"),
            ("nodes = ['a', 'b']", "nodes = ['a', 'a']", "twice"),
            ("nodes = ['b']", "nodes = []", "1 to 16"),
            ("'texts-1'", "'texts-0'", "shards[0] too"),
            ("'texts-1'", "'../x'", "shards[1]"),
            ("sequence = 9", "sequenz = 9", "sequenz"),
            ("sequence = 9", "digest = 'no'", "digest"),
            ("[::1]:6334/", "10.0.0.1:6333", "another node"),
            ("[::1]:6334/", "https://x:1", "nodes.b"),
            ("[::1]:6334/", "x", "nodes.b"),
            ("version = 2", "", "version"),
            ("\na = ", "\n'a b' = ", "make a name"),
        ] {
            let map = ClusterMap::parse(&GOOD.replacen(from, to, 1));
            let words = map.unwrap_err().to_string();
            assert!(words.contains(word), "{to}: {words}");
        }
    }

    #[test]
    fn shards_of_points_that_are_dealt_by_ids_stay() {
        let cut = |version: u64, shards: &[&str]| {
            let mut text = format!("version = {version}\n[nodes]\na = 'x:1'\n");
            text += "[collections.t]\ncut = 'id'\n";
            for name in shards {
                text += "[[collections.t.shards]]\nnodes = ['a']\n";
                writeln!(text, "collection = '{name}'").unwrap();
            }
            ClusterMap::parse(&text)
        };
        let map = cut(1, &["t-0", "t-1"]).unwrap();
        assert_eq!(map.collections["t"].cut, Some(Cut::Id));
        for (shards, fits) in [
            (&["t-0", "t-1"][..], true),
            (&["t-1", "t-0"], false),
            (&["t-0", "t-1", "t-2"], false),
            (&["t-0"], false),
            (&["u-0", "u-1", "u-2"], true),
        ] {
            let next = map.check_next(&cut(2, shards).unwrap());
            assert_eq!(next.is_ok(), fits, "{shards:?}");
        }
        let words = cut(1, &["t 0"]).unwrap_err().to_string();
        assert!(words.contains("shards[0]") && words.contains("partition"));
    }

    #[test]
    fn only_a_later_map_follows() {
        let map = ClusterMap::parse(GOOD).unwrap();
        let next = |version: &str, more: &str| {
            let text = GOOD.replacen("version = 2", version, 1);
            map.check_next(&ClusterMap::parse(&text.replacen("'a', 'b'", more, 1)).unwrap())
        };
        assert!(next("version = 3", "'a'").is_ok());
        assert!(next("version = 2", "'a', 'b'").is_ok(), "the same");
        assert!(next("version = 2", "'a'").is_err());
        assert!(next("version = 1", "'a'").is_err());
    }
}
