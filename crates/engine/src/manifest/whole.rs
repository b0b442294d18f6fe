//! What the manifest says: everything needed to open the index, as JSON. `docs/format/manifest.md`.

use std::path::Path;

use pageway_store::{FileEntry, Vfs, commit_manifest, read_manifest};
use pageway_types::NodeId;
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::spec::{IndexSpec, QuantizerSpec};
use crate::storage::Identities;

/// What a file of an index holds; the number is in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub(crate) enum FileKind {
    /// Records in pages.
    Records = 1,
    /// One code per node.
    Codes = 2,
    /// The quantizer.
    Codebook = 3,
    /// Nodes in the order in which a cache takes them.
    HotNodes = 4,
    /// What finds where walks start.
    Entry = 5,
    /// A second code per node.
    SecondCodes = 6,
    /// The quantizer of the second codes.
    SecondCodebook = 7,
    /// Row and user id of each node.
    Identities = 8,
}

impl FileKind {
    /// Stem of the file name.
    pub(crate) const fn stem(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Codes => "codes",
            Self::Codebook => "codebook",
            Self::HotNodes => "hot",
            Self::Entry => "entry",
            Self::SecondCodes => "second-codes",
            Self::SecondCodebook => "second-codebook",
            Self::Identities => "identities",
        }
    }

    /// Name of the file in one generation of an index.
    pub(crate) fn file_name(self, generation: u64) -> String {
        format!("{}-{generation}.pw", self.stem())
    }
}

/// The files of an index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Files {
    pub(crate) records: FileEntry,
    pub(crate) codebook: FileEntry,
    /// Codes held in memory, where there are any.
    pub(crate) codes: Option<FileEntry>,
    /// Where a cache of nodes or hot pages is part of the design.
    pub(crate) hot: Option<FileEntry>,
    /// Where finding an entry takes more than a few nodes, or their codes are not in `codes`.
    pub(crate) entry: Option<FileEntry>,
    pub(crate) second_codes: Option<FileEntry>,
    pub(crate) second_codebook: Option<FileEntry>,
    /// Where codes may decide that a node is an answer.
    #[serde(default)]
    pub(crate) identities: Option<FileEntry>,
}

impl Files {
    /// Every file.
    pub(crate) fn all(&self) -> Vec<&FileEntry> {
        let optional = [
            &self.codes,
            &self.hot,
            &self.entry,
            &self.second_codes,
            &self.second_codebook,
            &self.identities,
        ];
        let always = [&self.records, &self.codebook];
        always
            .into_iter()
            .chain(optional.into_iter().flatten())
            .collect()
    }

    /// Bytes of all files on disk.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let mut sum = 0;
        for file in self.all() {
            sum += file.file_bytes()?;
        }
        Ok(sum)
    }
}

/// What the build saw of the graph.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphStatistics {
    pub(crate) mean_degree: f64,
    pub(crate) max_degree: u32,
    pub(crate) shards: u32,
    /// OR(G): mean share of a page's other nodes that a node of it names; absent where the graph
    /// was never in memory as a whole.
    pub(crate) overlap: Option<f64>,
    /// Bytes of all lists packed, where memory may hold them.
    pub(crate) packed_bytes: Option<u64>,
    /// Mean share of the bytes of a record page that records fill.
    pub(crate) page_utilisation: f64,
}

/// The manifest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Counts builds in this directory.
    pub(crate) generation: u64,
    /// Program and version that wrote it.
    pub(crate) created_by: String,
    pub(crate) spec: IndexSpec,
    pub(crate) node_count: u32,
    /// Where walks start.
    pub(crate) entry: Vec<NodeId>,
    pub(crate) files: Files,
    pub(crate) graph: GraphStatistics,
    /// Memory of a search, unless `open` says otherwise.
    pub(crate) memory_bytes: u64,
    pub(crate) calibration: Calibration,
}

impl Manifest {
    /// Reads and checks the manifest of the index in `dir`.
    pub(crate) fn read(vfs: &dyn Vfs, dir: &Path) -> Result<Self> {
        let bytes = read_manifest(vfs, dir)?;
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| {
            Error::new(
                ErrorKind::Incompatible,
                format!(
                    "the manifest of {} is not one this version knows: {error}",
                    dir.display()
                ),
            )
        })?;
        manifest
            .check()
            .map_err(|error| error.within(dir.display()))?;
        Ok(manifest)
    }

    /// Makes this manifest the current one, in one atomic step.
    pub(crate) fn commit(&self, vfs: &dyn Vfs, dir: &Path) -> Result<()> {
        let json = serde_json::to_vec_pretty(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("the manifest cannot be written: {error}"),
            )
        })?;
        Ok(commit_manifest(vfs, dir, &json)?)
    }

    /// Bytes of the raw vectors.
    pub(crate) fn raw_bytes(&self) -> u64 {
        u64::from(self.node_count) * self.spec.shape.vectors().row_bytes() as u64
    }

    fn check(&self) -> Result<()> {
        self.spec
            .validate()
            .map_err(|error| corrupt(error.to_string()))?;
        if self.node_count == 0 || self.node_count == u32::MAX {
            return Err(corrupt(format!("{} nodes", self.node_count)));
        }
        if self.entry.is_empty() || self.entry.iter().any(|node| node.0 >= self.node_count) {
            return Err(corrupt("an entry node does not exist".to_owned()));
        }
        let storage = &self.spec.storage;
        let in_memory = storage.codes_in_memory(self.node_count);
        let first = (&self.files.codes, in_memory, Some(storage.quantizer));
        let second = (
            &self.files.second_codes,
            self.node_count,
            storage.second_codes_in_memory(),
        );
        for (file, nodes, quantizer) in [first, second] {
            let code_bytes = quantizer.map_or(0, QuantizerSpec::code_bytes);
            let expected = u64::from(nodes) * u64::from(code_bytes);
            let found = file.as_ref().map_or(0, |file| file.payload_bytes);
            if found != expected {
                return Err(corrupt(format!(
                    "{found} bytes of codes, expected {expected}"
                )));
            }
        }
        self.check_identities()
    }

    fn check_identities(&self) -> Result<()> {
        let expected = Identities::bytes(&self.spec, self.node_count);
        let file = self.files.identities.as_ref();
        let found = file.map_or(0, |file| file.payload_bytes);
        if found == expected {
            return Ok(());
        }
        Err(corrupt(format!(
            "{found} bytes of identities, expected {expected}"
        )))
    }
}

fn corrupt(what: String) -> Error {
    Error::new(ErrorKind::Corrupt, format!("manifest: {what}"))
}
