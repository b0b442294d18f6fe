//! The JSON of a manifest: segments of the design of the whole do not repeat it. And manifests as
//! they were written before there were segments: one, whose fields stood beside those of the whole.

use pageway_attributes::Schema;
use pageway_types::NodeId;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::changes::ChangeEntry;
use super::files::Files;
use super::segment::{CodeError, GraphStatistics, PatchEntry, SegmentEntry};
use super::whole::Manifest;
use super::wish::DesignWish;
use crate::calibration::Calibration;
use crate::spec::IndexSpec;

/// A manifest as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredManifest {
    generation: u64,
    created_by: String,
    spec: IndexSpec,
    segments: Vec<StoredSegment>,
    memory_bytes: u64,
    calibration: Calibration,
    /// Where the index was opened to be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changes: Option<ChangeEntry>,
    /// Kinds that values of attributes must be of, by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Schema>,
    /// What the design was chosen by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wish: Option<DesignWish>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSegment {
    first_row: u32,
    node_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_id: Option<u64>,
    /// Where it differs from that of the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<IndexSpec>,
    entry: Vec<NodeId>,
    files: Files,
    graph: GraphStatistics,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code_error: Option<CodeError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patched: Option<PatchEntry>,
}

/// A manifest of the former form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlatManifest {
    generation: u64,
    created_by: String,
    spec: IndexSpec,
    node_count: u32,
    entry: Vec<NodeId>,
    files: Files,
    graph: GraphStatistics,
    memory_bytes: u64,
    calibration: Calibration,
}

/// Which form a manifest has.
#[derive(Deserialize)]
struct ManifestForm {
    segments: Option<IgnoredAny>,
}

/// Reads a manifest of either form.
pub(super) fn from_json(bytes: &[u8]) -> serde_json::Result<Manifest> {
    let form: ManifestForm = serde_json::from_slice(bytes)?;
    let stored = if form.segments.is_some() {
        serde_json::from_slice(bytes)?
    } else {
        StoredManifest::from(serde_json::from_slice::<FlatManifest>(bytes)?)
    };
    Ok(stored.into())
}

/// Writes a manifest.
pub(super) fn to_json(manifest: &Manifest) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec_pretty(&StoredManifest::from(manifest))
}

impl From<FlatManifest> for StoredManifest {
    fn from(flat: FlatManifest) -> Self {
        Self {
            generation: flat.generation,
            created_by: flat.created_by,
            spec: flat.spec,
            segments: vec![StoredSegment {
                first_row: 0,
                node_count: flat.node_count,
                first_id: None,
                spec: None,
                entry: flat.entry,
                files: flat.files,
                graph: flat.graph,
                code_error: None,
                patched: None,
            }],
            memory_bytes: flat.memory_bytes,
            calibration: flat.calibration,
            changes: None,
            schema: None,
            wish: None,
        }
    }
}

/// The spec of a segment that says nothing of folded vectors: there are none.
fn of_rows(mut spec: IndexSpec) -> IndexSpec {
    spec.layout.folded.get_or_insert(0);
    spec
}

/// The spec of a segment as it is written.
fn stored_spec(spec: &IndexSpec) -> IndexSpec {
    let mut spec = spec.clone();
    spec.layout.folded = spec.layout.folded.filter(|folded| *folded > 0);
    spec
}

impl From<StoredManifest> for Manifest {
    fn from(stored: StoredManifest) -> Self {
        let spec = stored.spec;
        let segment = |segment: StoredSegment| SegmentEntry {
            first_row: segment.first_row,
            node_count: segment.node_count,
            own_first_id: segment.first_id,
            element: spec.shape.element,
            spec: of_rows(segment.spec.unwrap_or_else(|| spec.clone())),
            entry: segment.entry,
            files: segment.files,
            graph: segment.graph,
            code_error: segment.code_error,
            patched: segment.patched,
        };
        Self {
            generation: stored.generation,
            created_by: stored.created_by,
            segments: stored.segments.into_iter().map(segment).collect(),
            spec,
            memory_bytes: stored.memory_bytes,
            calibration: stored.calibration,
            changes: stored.changes,
            schema: stored.schema,
            wish: stored.wish,
        }
    }
}

impl From<&Manifest> for StoredManifest {
    fn from(manifest: &Manifest) -> Self {
        let segment = |segment: &SegmentEntry| StoredSegment {
            first_row: segment.first_row,
            node_count: segment.node_count,
            first_id: segment.own_first_id,
            spec: Some(stored_spec(&segment.spec)).filter(|own| *own != manifest.spec),
            entry: segment.entry.clone(),
            files: segment.files.clone(),
            graph: segment.graph,
            code_error: segment.code_error,
            patched: segment.patched,
        };
        Self {
            generation: manifest.generation,
            created_by: manifest.created_by.clone(),
            spec: manifest.spec.clone(),
            segments: manifest.segments.iter().map(segment).collect(),
            memory_bytes: manifest.memory_bytes,
            calibration: manifest.calibration.clone(),
            changes: manifest.changes,
            schema: manifest.schema.clone(),
            wish: manifest.wish.clone(),
        }
    }
}
