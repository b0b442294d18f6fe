//! The means of clusters and of their groups, in the one form or the other.

use pageway_kernels::KernelSet;
use pageway_types::{ElementType, Guide};

use super::split::{Bases, Offsets};
use super::whole::WholeMeans;
use super::{FoundClusters, NextMean};
use crate::error::Result;
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
    /// Rounds the means of clusters, which `next` gives from first to last, and of groups; `None`
    /// where they are out of the range of `f32`.
    pub(super) fn round(
        found: FoundClusters<'_>,
        next: NextMean<'_>,
        (shape, kernels): (Shape, &KernelSet),
    ) -> Result<Option<Self>> {
        let dimension = shape.dimension as usize;
        if !whole(shape) {
            let Some(groups) = Bases::round(found.group_means, dimension, kernels) else {
                return Ok(None);
            };
            let clusters = Offsets::round(next, (found.groups, &groups), kernels)?;
            return Ok(clusters.map(|clusters| Self::Split { clusters, groups }));
        }
        let count = found.starts.len().saturating_sub(1);
        let mut rows = Vec::with_capacity(count * dimension);
        let mut mean = vec![0.0; dimension];
        for _ in 0..count {
            next(&mut mean)?;
            WholeMeans::round(&mean, shape, &mut rows);
        }
        let mut group_rows = Vec::new();
        WholeMeans::round(found.group_means, shape, &mut group_rows);
        let groups = found.group_means.len() / dimension;
        let clusters = WholeMeans::new(rows, count, (shape, kernels));
        let groups = WholeMeans::new(group_rows, groups, (shape, kernels));
        let means = clusters.zip(groups);
        Ok(means.map(|(clusters, groups)| Self::Whole { clusters, groups }))
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

    /// Shows the bytes that `read` takes, piece by piece.
    pub(super) fn write(&self, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Whole { clusters, groups } => {
                out(&clusters.rows)?;
                out(&groups.rows)
            }
            Self::Split { clusters, groups } => {
                out(&groups.unit.to_le_bytes())?;
                for step in &clusters.steps {
                    out(&step.to_le_bytes())?;
                }
                out(&clusters.rows.bytes)?;
                out(&groups.high.bytes)?;
                out(&groups.low.bytes)
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
