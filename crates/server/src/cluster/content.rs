//! What shards hold: a digest of the snapshot that each was made of, so that two of one name and
//! number which are not the same do not pass for one another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::map::Shard;

/// What a shard was made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ShardContent {
    /// The number of its last change then; where it has changed since, this says nothing.
    pub(crate) sequence: u64,
    /// Of the bytes of its indexes.
    pub(crate) digest: String,
}

/// What a router asks of a node beside the request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ShardNeed {
    /// The node that is meant; none where any will do.
    pub(crate) node: String,
    /// The change that it must have.
    pub(crate) least: u64,
    /// What the shard is to be, where it is at that number.
    pub(crate) content: Option<ShardContent>,
}

impl ShardNeed {
    /// As a header: `NODE LEAST`, and `SEQUENCE:DIGEST` behind that.
    pub(crate) fn header(&self) -> String {
        let Self { node, least, .. } = self;
        match &self.content {
            None => format!("{node} {least}"),
            Some(own) => format!("{node} {least} {}:{}", own.sequence, own.digest),
        }
    }

    /// What a header says.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let mut words = header.split(' ');
        let (node, least) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let content = words.next().map(|word| {
            let (sequence, digest) = word.split_once(':')?;
            Some(ShardContent {
                sequence: sequence.parse().ok()?,
                digest: digest.to_owned(),
            })
        });
        let content = match content {
            None => None,
            Some(own) => Some(own?),
        };
        let whole = Self {
            node,
            least,
            content,
        };
        words.next().is_none().then_some(whole)
    }
}

/// What nodes say of their shards, by node and shard.
#[derive(Default, Debug)]
pub(crate) struct ShardContents(BTreeMap<String, BTreeMap<String, ShardContent>>);

impl ShardContents {
    /// A node has said what its shards are.
    pub(crate) fn hear(&mut self, node: &str, shards: BTreeMap<String, ShardContent>) {
        self.0.insert(node.to_owned(), shards);
    }

    /// What a shard is to be: as the map says, or the first of its nodes that says something.
    pub(crate) fn expected(&self, shard: &Shard) -> Option<ShardContent> {
        if let Some(digest) = &shard.digest {
            return Some(ShardContent {
                sequence: shard.sequence,
                digest: digest.clone(),
            });
        }
        let mut nodes = shard.nodes.iter();
        nodes.find_map(|node| self.of(node, shard)).cloned()
    }

    /// The nodes of a shard that hold something else of the same number.
    pub(crate) fn differing<'s>(&self, shard: &'s Shard) -> Vec<&'s str> {
        let Some(expected) = self.expected(shard) else {
            return Vec::new();
        };
        let differs = |node: &&String| {
            let own = self.of(node, shard);
            own.is_some_and(|own| own.differs(&expected))
        };
        let nodes = shard.nodes.iter().filter(differs);
        nodes.map(String::as_str).collect()
    }

    fn of(&self, node: &str, shard: &Shard) -> Option<&ShardContent> {
        self.0.get(node)?.get(&shard.collection)
    }
}

impl ShardContent {
    /// Whether two are of one number and not the same.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.sequence == other.sequence && self.digest != other.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(sequence: u64, digest: &str) -> ShardContent {
        ShardContent {
            sequence,
            digest: digest.to_owned(),
        }
    }

    #[test]
    fn headers_come_back() {
        for (need, text) in [
            ((7, None), "a.b 7"),
            ((0, Some(content(9, "0af"))), "a.b 0 9:0af"),
        ] {
            let need = ShardNeed {
                node: "a.b".to_owned(),
                least: need.0,
                content: need.1,
            };
            assert_eq!(need.header(), text);
            assert_eq!(ShardNeed::parse(text), Some(need));
        }
        for text in ["", "a", "a x", "a 1 2", "a 1 x:y", "a 1 2:y z"] {
            assert_eq!(ShardNeed::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_map_counts_and_then_the_first_of_its_nodes() {
        let mut shard = Shard {
            collection: "s".to_owned(),
            nodes: ["a", "b", "c"].map(str::to_owned).to_vec(),
            sequence: 4,
            digest: None,
        };
        let mut contents = ShardContents::default();
        assert_eq!(contents.expected(&shard), None);
        let mut say = |node: &str, own: ShardContent| {
            contents.hear(node, BTreeMap::from([("s".to_owned(), own)]));
        };
        say("c", content(5, "z"));
        say("b", content(4, "x"));
        say("a", content(4, "y"));
        assert_eq!(contents.expected(&shard), Some(content(4, "y")));
        assert_eq!(contents.differing(&shard), ["b"], "c has more");
        shard.digest = Some("x".to_owned());
        assert_eq!(contents.differing(&shard), ["a"]);
    }
}
