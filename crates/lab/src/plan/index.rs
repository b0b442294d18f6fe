//! What must be built: an index, once, however many cells search it.

use std::collections::BTreeMap;

use pageway::spec::{IndexSpec, Shape};
use pageway::{ElementType, Metric, Preset, Result, Sizes};
use serde_json::Value;

use super::settings::{BuildSettings, Settings, number, share};
use crate::suite::{Design, Suite};

/// A cut of a data set, by name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct CutName {
    /// Data set, or a cut of it by rows such as `sift-300k`.
    pub(crate) data: String,
    /// First rows.
    pub(crate) rows: Option<u64>,
    /// First dimensions.
    pub(crate) dimensions: Option<u32>,
}

impl CutName {
    /// The name, cut included.
    pub(crate) fn label(&self) -> String {
        let rows = self
            .rows
            .map_or(String::new(), |rows| format!("-first{rows}"));
        let dimensions = self.dimensions.map_or(String::new(), |d| format!("-{d}d"));
        format!("{}{rows}{dimensions}", self.data)
    }
}

/// An index to be built.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct IndexPlan {
    /// Identity, and name of its directory.
    pub(crate) key: String,
    /// Its data.
    pub(crate) cut: CutName,
    /// Which of how many segments of the data, where it is divided.
    pub(crate) segment: Option<(u32, u32)>,
    /// Design, by its name.
    pub(crate) design: String,
    /// Preset and further arguments.
    pub(crate) flags: Design,
    /// Sizes.
    pub(crate) settings: BuildSettings,
    /// Whether it is built from nothing, to measure building.
    pub(crate) fresh: bool,
    /// Keys of the indexes whose graph and codebook it takes, where it is not built from nothing.
    pub(crate) donors: Donors,
    /// Experiments that need it.
    pub(crate) experiments: Vec<String>,
}

/// Whose graph and codebook an index takes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Donors {
    /// Key of the index with the graph.
    pub(crate) graph: Option<String>,
    /// Key of the index with the codebook.
    pub(crate) codebook: Option<String>,
}

/// Design whose indexes give their graphs and codebooks to others.
pub(crate) const DONOR: &str = "diskann";

impl IndexPlan {
    /// The index that `settings` need.
    pub(super) fn of(suite: &Suite, settings: &Settings) -> Result<Self> {
        let flags = suite.design(&settings.design)?;
        let build = &settings.build;
        let parts = [
            Some(settings.cut.label()),
            Some(settings.design.clone()),
            Some(format!("p{}", build.page_size)),
            Some(format!("m{}", build.memory.replace('%', "pct"))),
            build.code_bytes.map(|bytes| format!("c{bytes}")),
            build.refine_share.map(|share| format!("s{share}")),
        ];
        let key = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
        Ok(Self {
            key,
            cut: settings.cut.clone(),
            segment: None,
            design: settings.design.clone(),
            flags,
            settings: build.clone(),
            fresh: false,
            donors: Donors::default(),
            experiments: Vec::new(),
        })
    }

    /// This index over one of several equal parts of the rows.
    pub(super) fn segment(&self, number: u32, count: u32) -> Self {
        Self {
            key: format!("{}/part{number}of{count}", self.key),
            segment: Some((number, count)),
            ..self.clone()
        }
    }

    /// Its rows, of those of the data.
    pub(super) fn rows_of(&self, rows: u64) -> u64 {
        let parts = self.segment.map_or(1, |(_, count)| u64::from(count));
        rows / parts.max(1)
    }

    /// Whether its graph is the one that `donor` has.
    pub(super) fn has_graph_of(&self, donor: &Self) -> bool {
        let graph = self.spec().map(|spec| spec.graph);
        graph.is_some_and(|graph| donor.spec().is_some_and(|spec| spec.graph == graph))
            && !self.flags.flags.iter().any(|flag| flag == "--graph")
    }

    /// Whether its codebook is one that donors of as many code bytes have: not where the bytes are
    /// divided over two codes.
    pub(super) fn has_shared_codebook(&self) -> bool {
        let spec = self.spec();
        spec.is_some_and(|spec| spec.storage.second_quantizer.is_none())
            && !self
                .flags
                .flags
                .iter()
                .any(|flag| flag == "--second-code-bytes")
    }

    /// Its preset over some vectors.
    fn spec(&self) -> Option<IndexSpec> {
        let shape = Shape {
            dimension: 128,
            element: ElementType::F32,
            metric: Metric::L2,
        };
        let preset = self.flags.preset.parse::<Preset>().ok()?;
        Some(preset.spec(shape, &Sizes::default()))
    }

    /// Its settings under their names, for a record.
    pub(crate) fn axes(&self) -> BTreeMap<String, Value> {
        let settings = &self.settings;
        let mut axes = BTreeMap::from([
            ("page_size".to_owned(), Value::from(settings.page_size)),
            ("memory".to_owned(), Value::from(settings.memory.clone())),
            ("fresh".to_owned(), Value::from(self.fresh)),
        ]);
        let numbers = [
            ("code_bytes", settings.code_bytes.map(f64::from)),
            ("memory_ratio", share(&settings.memory)),
            ("segments", self.segment.map(|(_, count)| f64::from(count))),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                axes.insert(name.to_owned(), number(value));
            }
        }
        axes
    }

    /// Name of its directory.
    pub(crate) fn directory(&self) -> String {
        self.key.replace('/', "_")
    }
}
