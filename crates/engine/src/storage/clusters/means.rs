//! The means of clusters and of their groups, in the one form or the other.

use pageway_graph::Clusters;
use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide};

use super::split::{Bases, Offsets};
use super::whole::WholeMeans;
use crate::spec::Shape;

/// Means of clusters and of groups.
pub(super) enum Means {
    /// Bytes, as the vectors are.
    Whole {
        clusters: WholeMeans,
        groups: WholeMeans,
    },
    Split {
        clusters: Offsets,
        groups: Bases,
    },
}

/// Whether means are those of bytes.
const fn whole(shape: Shape) -> bool {
    matches!(shape.metric.guide(), Guide::L2 | Guide::InnerProduct)
        && matches!(shape.element, ElementType::U8 | ElementType::I8)
}

impl Means {
    /// Rounds means; `None` where they are out of the range of `f32`.
    pub(super) fn round(found: &Clusters, shape: Shape, kernels: &KernelSet) -> Option<Self> {
        let (clusters, groups) = (&found.centroids, &found.group_centroids);
        let dimension = shape.dimension as usize;
        if whole(shape) {
            let rounded = |means: &[f32]| {
                let rows = WholeMeans::rounded(means, shape);
                WholeMeans::new(rows, means.len() / dimension, (shape, kernels))
            };
            return Some(Self::Whole {
                clusters: rounded(clusters)?,
                groups: rounded(groups)?,
            });
        }
        let groups = Bases::round(groups, dimension, kernels)?;
        let clusters = Offsets::round(clusters, (&found.groups, &groups), kernels)?;
        Some(Self::Split { clusters, groups })
    }

    /// Bytes in memory of so many clusters and groups.
    pub(super) const fn bytes(clusters: u64, groups: u64, shape: Shape) -> u64 {
        if whole(shape) {
            return (clusters + groups) * WholeMeans::bytes(shape);
        }
        let dimension = shape.dimension as usize;
        let unit = size_of::<f32>() as u64;
        clusters * Offsets::bytes(dimension) + groups * Bases::bytes(dimension) + unit
    }

    /// Appends the bytes that `read` takes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Whole { clusters, groups } => {
                out.extend_from_slice(&clusters.rows);
                out.extend_from_slice(&groups.rows);
            }
            Self::Split { clusters, groups } => {
                out.extend_from_slice(&groups.unit.to_le_bytes());
                out.extend(clusters.steps.iter().flat_map(|step| step.to_le_bytes()));
                out.extend_from_slice(&clusters.rows.bytes);
                out.extend_from_slice(&groups.high.bytes);
                out.extend_from_slice(&groups.low.bytes);
            }
        }
    }

    /// The means of clusters, which begin where `starts` says for each group; `None` where `bytes`
    /// are not those.
    pub(super) fn read(
        bytes: &[u8],
        starts: &[u32],
        (shape, kernels): (Shape, &KernelSet),
    ) -> Option<Self> {
        let (count, groups) = (*starts.last()? as usize, starts.len().checked_sub(1)?);
        let dimension = shape.dimension as usize;
        let (all, of_groups) = (
            count.checked_mul(dimension)?,
            groups.checked_mul(dimension)?,
        );
        if whole(shape) {
            let (rows, group_rows) = bytes.split_at_checked(all)?;
            let means =
                |rows: &[u8], count| WholeMeans::new(rows.to_vec(), count, (shape, kernels));
            return Some(Self::Whole {
                clusters: means(rows, count)?,
                groups: means(group_rows, groups)?,
            });
        }
        let (unit, rest) = bytes.split_first_chunk()?;
        let (steps, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (rows, rest) = rest.split_at_checked(all)?;
        let (high, low) = rest.split_at_checked(of_groups)?;
        let (steps, _) = steps.as_chunks();
        let steps = steps.iter().map(|step| f32::from_le_bytes(*step)).collect();
        let halves = (high.to_vec(), low.to_vec());
        let groups = Bases::new(f32::from_le_bytes(*unit), halves, dimension, kernels)?;
        let clusters = Offsets::new((steps, rows.to_vec()), (starts, &groups), kernels)?;
        Some(Self::Split { clusters, groups })
    }
}
