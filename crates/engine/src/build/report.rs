//! The report of a build.

use pageway_types::{ElementType, VectorShape};
use serde::Serialize;

use super::disk::temporary_bytes;
use super::pipeline::Stages;
use super::plan::BuildPlan;
use crate::error::Result;
use crate::manifest::Manifest;
use crate::options::BuildOptions;

/// What a build did, and what the index can do.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct BuildReport {
    /// Vectors.
    pub nodes: u64,
    /// Dimension and element type.
    pub shape: VectorShape,
    /// Seconds by stage, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// Partitions the graph was built in; 1 for a graph built whole.
    pub shards: u32,
    /// Nodes that the merge of partitions left unreachable, and that were linked.
    pub relinked_nodes: u64,
    /// Outliers, which codes and clusters treat as shorter; estimated from a sample.
    pub tamed_rows: u64,
    /// Mean length of adjacency lists.
    pub mean_degree: f64,
    /// Bytes per code.
    pub code_bytes: u32,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
    /// Element type that vectors are stored in: f16 where that holds all of f32 vectors exactly.
    pub stored: ElementType,
    /// Bytes on disk.
    pub index_bytes: u64,
    /// The same by kind of file, in order.
    pub file_bytes: Vec<(&'static str, u64)>,
    /// Bytes that were written to temporary files, at most, and removed.
    pub temporary_bytes: u64,
    /// Memory of a search.
    pub memory_bytes: u64,
    /// Memory the build was allowed.
    pub build_memory_bytes: u64,
    /// Best recall@10 of the calibration.
    pub best_recall_at_10: f32,
    /// List size for the recall@10 that was wished for; absent when it is out of reach.
    pub list_size: Option<u32>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl BuildReport {
    /// The report of a finished build.
    pub(super) fn of(
        plan: &BuildPlan,
        options: &BuildOptions,
        manifest: &Manifest,
        stages: Stages,
    ) -> Result<Self> {
        let calibration = &manifest.calibration;
        let k = 10.min(manifest.node_count());
        let reachable = calibration.list_size_for(k, options.recall);
        let mut warnings = stages.lengths.warnings();
        warnings.extend(plan.warnings(options)?);
        if let Err(error) = &reachable
            && !calibration.curves.is_empty()
        {
            warnings.push(error.context().to_owned());
        }
        if let Some(dir) = options
            .graph_from
            .as_ref()
            .filter(|_| plan.spec.graph.max_degree() == 0)
        {
            warnings.push(format!(
                "the graph of {} was not taken over: with this memory the design has clusters and no \
                 lists",
                dir.display()
            ));
        }
        Ok(Self {
            nodes: manifest.node_count().into(),
            shape: manifest.spec.shape.vectors(),
            stored: plan.spec.shape.element,
            seconds: stages.seconds,
            shards: manifest.shards(),
            relinked_nodes: stages.relinked_nodes,
            tamed_rows: stages.lengths.tamed,
            mean_degree: manifest.mean_degree(),
            code_bytes: manifest.spec.storage.quantizer.code_bytes(),
            raw_bytes: manifest.raw_bytes(),
            index_bytes: manifest.file_bytes()?,
            file_bytes: manifest.bytes_by_part()?,
            temporary_bytes: u64::from(plan.cut.runs()) * temporary_bytes(plan),
            memory_bytes: manifest.memory_bytes,
            build_memory_bytes: plan.build_memory(),
            best_recall_at_10: calibration.best(k).unwrap_or(0.0),
            list_size: reachable.ok(),
            warnings,
        })
    }
}
