//! What is known of a data set: one table of the registry.
//!
//! Nothing is guessed: a size or a checksum stands in an entry only where it was published. Sizes
//! of files with a header follow from rows, dimension and element, and are worked out here.

use std::path::{Path, PathBuf};

use pageway::{ElementType, Error, Metric, Result, VectorShape};
use serde::{Deserialize, Deserializer, Serialize};

/// Files that the program carries inside.
const BUILTIN: &str = "builtin:";

/// A data set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Its name in the registry.
    #[serde(skip)]
    pub name: String,
    /// Directory against which relative paths are meant.
    #[serde(skip)]
    pub home: PathBuf,
    /// What it is.
    #[serde(default)]
    pub about: String,
    /// Who published it, where known.
    pub origin: Option<String>,
    /// Its licence in words, where known.
    pub licence: Option<String>,
    /// Distance.
    #[serde(deserialize_with = "metric")]
    pub metric: Metric,
    /// Element type; needed where the file does not tell it.
    pub element: Option<ElementType>,
    /// Dimension, where known before the file is here.
    pub dimension: Option<u32>,
    /// Rows of the base, where known before the file is here.
    pub rows: Option<u64>,
    /// Vectors.
    pub base: SetFile,
    /// Queries.
    pub queries: QuerySource,
    /// Published neighbours; each for the rows it names, or for the whole base.
    #[serde(default, deserialize_with = "one_or_many")]
    pub truth: Vec<SetFile>,
}

/// A file of a data set. In TOML a text, or a table with these keys.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct SetFile {
    /// A path (relative to the registry file, or with `~` or `${VARIABLE}`), or an address. Digits
    /// in braces stand for many files: `part-{00..25}.parquet`.
    pub from: String,
    /// Format, where the name does not tell it: an extension such as `ibin`, `hdf5`.
    pub format: Option<String>,
    /// File in an archive, data set in HDF5, column in Parquet.
    pub member: Option<String>,
    /// Bytes, where published.
    pub bytes: Option<u64>,
    /// Checksum, where published.
    pub sha256: Option<String>,
    /// Of truth: rows of the base it is for. Of queries: how many to use.
    pub rows: Option<u64>,
}

/// Where the queries come from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a file, or { held_out = ROWS }: the first rows of the base, which it \
                 then does without"
)]
pub enum QuerySource {
    /// The first rows of the base, which are then left out of it.
    HeldOut {
        /// How many.
        held_out: u64,
    },
    /// A file of their own.
    File(SetFile),
}

/// What holds the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Container {
    /// A file that the engine reads.
    Plain,
    /// An archive with such a file.
    TarGz,
    /// Python reads it.
    Hdf5,
    /// Python reads it.
    Parquet,
}

/// Where a file is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Whereabouts {
    /// Inside the program, by name.
    Builtin(String),
    /// Addresses, in order.
    Addresses(Vec<String>),
    /// Paths, in order.
    Paths(Vec<PathBuf>),
}

impl DataSet {
    /// Dimension and element type, when the entry states both.
    pub(super) fn shape(&self) -> Option<VectorShape> {
        Some(VectorShape {
            dimension: self.dimension?,
            element: self.element?,
        })
    }

    /// Bytes of the vectors of the base, when the entry states enough.
    pub fn raw_bytes(&self) -> Option<u64> {
        self.rows?.checked_mul(self.shape()?.row_bytes() as u64)
    }

    /// Queries that are taken out of the base.
    pub(super) fn held_out(&self) -> u64 {
        match self.queries {
            QuerySource::HeldOut { held_out } => held_out,
            QuerySource::File(_) => 0,
        }
    }

    /// All files.
    pub(super) fn files(&self) -> impl Iterator<Item = &SetFile> {
        let queries = match &self.queries {
            QuerySource::File(file) => Some(file),
            QuerySource::HeldOut { .. } => None,
        };
        std::iter::once(&self.base)
            .chain(queries)
            .chain(self.truth.iter())
    }

    /// Whether nothing has to be fetched.
    pub(super) fn is_local(&self) -> bool {
        !self.files().any(SetFile::is_remote)
    }
}

impl SetFile {
    pub(super) fn is_remote(&self) -> bool {
        self.from.contains("://")
    }

    pub(super) fn container(&self) -> Container {
        let name = self.from.to_ascii_lowercase();
        let format = self.format.as_deref().unwrap_or("").to_ascii_lowercase();
        let is = |end: &str| format == end || name.ends_with(&format!(".{end}"));
        if is("tar.gz") || is("tgz") {
            Container::TarGz
        } else if is("hdf5") || is("h5") {
            Container::Hdf5
        } else if is("parquet") {
            Container::Parquet
        } else {
            Container::Plain
        }
    }

    /// Where the file is, for a registry file in the directory `home`.
    pub(super) fn whereabouts(&self, home: &Path) -> Result<Whereabouts> {
        if let Some(name) = self.from.strip_prefix(BUILTIN) {
            return Ok(Whereabouts::Builtin(name.to_owned()));
        }
        if self.is_remote() {
            return Ok(Whereabouts::Addresses(expand_numbers(&self.from)));
        }
        let text = expand_variables(&self.from)?;
        let paths = expand_numbers(&text).into_iter();
        Ok(Whereabouts::Paths(
            paths.map(|path| home.join(path)).collect(),
        ))
    }

    /// The name under which a file at `address` is kept: its last part, with the format as
    /// extension where the name does not tell it.
    pub(super) fn kept_name(&self, address: &str) -> String {
        let bare = address.split(['?', '#']).next().unwrap_or(address);
        let last = bare.trim_end_matches('/').rsplit('/').next();
        let name = last.unwrap_or("file").to_owned();
        match &self.format {
            Some(format) if !name.to_ascii_lowercase().ends_with(&format!(".{format}")) => {
                format!("{name}.{format}")
            }
            _ => name,
        }
    }
}

/// A file as it may be written.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a path or an address, or a table with `from` and perhaps `format`, \
                 `member`, `bytes`, `sha256`, `rows`"
)]
enum Written {
    Text(String),
    Table(FileTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    from: String,
    format: Option<String>,
    member: Option<String>,
    bytes: Option<u64>,
    sha256: Option<String>,
    rows: Option<u64>,
}

impl From<Written> for SetFile {
    fn from(written: Written) -> Self {
        let table = match written {
            Written::Table(table) => table,
            Written::Text(from) => FileTable {
                from,
                format: None,
                member: None,
                bytes: None,
                sha256: None,
                rows: None,
            },
        };
        Self {
            from: table.from,
            format: table.format,
            member: table.member,
            bytes: table.bytes,
            sha256: table.sha256,
            rows: table.rows,
        }
    }
}

/// Every name that the command line takes.
fn metric<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Metric, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(serde::de::Error::custom)
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<SetFile>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a file, or an array of files")]
    enum Truth {
        One(SetFile),
        Many(Vec<SetFile>),
    }
    Ok(match Truth::deserialize(from)? {
        Truth::One(file) => vec![file],
        Truth::Many(files) => files,
    })
}

/// `~` at the start and every `${VARIABLE}`.
fn expand_variables(text: &str) -> Result<String> {
    let mut rest = text.to_owned();
    if let Some(behind) = text.strip_prefix("~/") {
        rest = format!("{}/{behind}", variable("HOME", text)?);
    }
    let mut done = String::new();
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else {
            return Err(Error::invalid(format!("{text}: ${{ without }}")));
        };
        done.push_str(before);
        done.push_str(&variable(name, text)?);
        rest = after.to_owned();
    }
    Ok(done + &rest)
}

fn variable(name: &str, text: &str) -> Result<String> {
    std::env::var(name)
        .map_err(|_| Error::invalid(format!("{text}: the variable {name} is not set")))
}

/// `a-{08..11}` stands for `a-08`, `a-09`, `a-10`, `a-11`.
fn expand_numbers(text: &str) -> Vec<String> {
    let parts = text.split_once('{').and_then(|(before, behind)| {
        let (range, after) = behind.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        let numbers = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        Some((before, first.len(), numbers, after))
    });
    match parts {
        None => vec![text.to_owned()],
        Some((before, width, (first, last), after)) => (first..=last)
            .map(|number| format!("{before}{number:0width$}{after}"))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> std::result::Result<DataSet, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn files_are_texts_or_tables() {
        let text = r#"
            metric = "ip"
            base = "b.fbin"
            queries = { from = "q.fbin", rows = 10 }
            truth = [{ from = "t", format = "ibin", rows = 5 }, "u.ibin"]
        "#;
        let set = set(text).unwrap();
        assert_eq!(set.metric, Metric::InnerProduct);
        assert_eq!(set.base.from, "b.fbin");
        assert!(matches!(&set.queries, QuerySource::File(file) if file.rows == Some(10)));
        assert_eq!(set.truth.len(), 2);
        assert_eq!(set.truth[0].kept_name("https://h/a/t?x=1"), "t.ibin");
        assert_eq!(set.files().count(), 4);
        assert!(set.is_local());
    }

    #[test]
    fn unknown_keys_and_metrics_are_refused() {
        let wrong = [
            "metric = \"l2\"\nbase = \"b\"\nqueries = \"q\"\nshape = 3",
            "metric = \"l3\"\nbase = \"b\"\nqueries = \"q\"",
            "metric = \"l2\"\nbase = { path = \"b\" }\nqueries = \"q\"",
        ];
        let messages: Vec<String> = wrong.map(|text| set(text).unwrap_err().to_string()).into();
        assert!(messages[0].contains("shape"), "{}", messages[0]);
        assert!(messages[1].contains("unknown metric"), "{}", messages[1]);
        assert!(messages[2].contains("`from`"), "{}", messages[2]);
    }

    #[test]
    fn numbers_in_braces_keep_their_width() {
        let all = expand_numbers("x/{08..10}-of-11.parquet");
        let expected = [
            "x/08-of-11.parquet",
            "x/09-of-11.parquet",
            "x/10-of-11.parquet",
        ];
        assert_eq!(all, expected);
        assert_eq!(expand_numbers("plain"), ["plain"]);
    }

    #[test]
    fn variables_and_home_are_filled_in() {
        let home = std::env::var("HOME").unwrap();
        assert_eq!(expand_variables("~/a").unwrap(), format!("{home}/a"));
        assert_eq!(expand_variables("${HOME}/b").unwrap(), format!("{home}/b"));
        let error = expand_variables("${NO_SUCH_VARIABLE_HERE}/b").unwrap_err();
        assert!(error.context().contains("NO_SUCH_VARIABLE_HERE"));
    }

    #[test]
    fn containers_show_in_names_or_formats() {
        let of = |from: &str, format: Option<&str>| {
            let mut file = SetFile::from(Written::Text(from.to_owned()));
            file.format = format.map(str::to_owned);
            file.container()
        };
        assert_eq!(of("a/B.TAR.GZ", None), Container::TarGz);
        assert_eq!(of("a.hdf5", None), Container::Hdf5);
        assert_eq!(of("a", Some("parquet")), Container::Parquet);
        assert_eq!(of("a.u8bin", None), Container::Plain);
    }
}
