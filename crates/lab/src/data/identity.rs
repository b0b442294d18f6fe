//! What the data of a name are, in a few words each: to notice when a name stands for other data
//! than before.

use pageway::Result;
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::entry::{DataSet, QuerySource, SetFile, Whereabouts};
use crate::files;

/// What tells the data of a name from others. Files that are here count by their fingerprint,
/// wherever they lie; those that are fetched by their address, since their bytes are pinned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    base: String,
    queries: String,
    truth: String,
    metric: String,
}

impl Identity {
    /// Of a part of a data set. Two small reads per file.
    ///
    /// # Errors
    /// As a file of the set cannot be read.
    pub fn of(set: &DataSet, part: Cut) -> Result<Self> {
        let queries = match &set.queries {
            QuerySource::HeldOut { held_out } => format!("first {held_out} of the base"),
            QuerySource::File(file) => mark(set, [file])?,
        };
        Ok(Self {
            base: mark(set, [&set.base])? + &part.suffix(),
            queries,
            truth: mark(set, &set.truth)?,
            metric: set.metric.to_string(),
        })
    }

    /// What is not the same as in another.
    pub fn difference(&self, other: &Self) -> Vec<&'static str> {
        [
            ("base", &self.base, &other.base),
            ("queries", &self.queries, &other.queries),
            ("truth", &self.truth, &other.truth),
            ("metric", &self.metric, &other.metric),
        ]
        .into_iter()
        .filter(|(_, here, there)| here != there)
        .map(|(what, _, _)| what)
        .collect()
    }
}

/// Files in a few words; none give an empty text.
fn mark<'f>(set: &DataSet, files: impl IntoIterator<Item = &'f SetFile>) -> Result<String> {
    let mut words = Vec::new();
    for file in files {
        match file.whereabouts(&set.home)? {
            Whereabouts::Builtin(name) => words.push(name),
            Whereabouts::Addresses(addresses) => words.extend(addresses),
            Whereabouts::Paths(paths) => {
                for path in paths {
                    words.push(files::fingerprint(&path)?);
                }
            }
        }
        words.extend(file.member.clone());
        words.extend(file.rows.map(|rows| rows.to_string()));
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::data::Registry;

    fn identity(home: &Path, rest: &str) -> Identity {
        let mut registry = Registry::default();
        let text = format!("[own]\nbase = \"base.u8bin\"\n{rest}");
        registry.add(&text, home, "a test").unwrap();
        let (own, part) = registry.find("own").unwrap();
        Identity::of(own, part).unwrap()
    }

    fn place(base: &[u8]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in [("base.u8bin", base), ("q.u8bin", b"q"), ("t.ibin", b"t")] {
            files::write(&dir.path().join(name), bytes).unwrap();
        }
        dir
    }

    const PLAIN: &str = "metric = \"l2\"\nqueries = \"q.u8bin\"";

    #[test]
    fn the_same_bytes_are_the_same_data_wherever_they_lie() {
        let (here, there) = (place(b"one"), place(b"one"));
        let one = identity(here.path(), PLAIN);
        assert_eq!(one, identity(there.path(), PLAIN));
        assert!(one.difference(&one).is_empty());
    }

    #[test]
    fn what_differs_is_named() {
        let (here, there) = (place(b"one"), place(b"two"));
        let one = identity(here.path(), PLAIN);
        assert_eq!(one.difference(&identity(there.path(), PLAIN)), ["base"]);
        let more = PLAIN.replace("l2", "ip") + "\ntruth = \"t.ibin\"";
        let more = identity(here.path(), &more);
        assert_eq!(one.difference(&more), ["truth", "metric"]);
        let held = identity(here.path(), "metric = \"l2\"\nqueries = { held_out = 3 }");
        assert_eq!(one.difference(&held), ["queries"]);
    }

    #[test]
    fn a_cut_is_not_the_whole() {
        let registry = Registry::builtin().unwrap();
        let of = |name: &str| {
            let (set, part) = registry.find(name).unwrap();
            Identity::of(set, part).unwrap()
        };
        assert_eq!(of("demo").difference(&of("demo-5k")), ["base"]);
    }
}
