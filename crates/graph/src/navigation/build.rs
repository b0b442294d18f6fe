//! Building a navigation graph: a Vamana graph over the sample, entered at its medoid.

use std::io;

use pageway_types::{Progress, VectorRead, VectorShape};

use super::{NavigationGraph, NavigationSpec, SampledVectors};
use crate::error::GraphError;
use crate::{MedoidSpec, VectorSet, build, medoid};

/// Rows of the sample that the search for the medoid copies at a time.
pub(super) const BLOCK_BYTES: usize = 4 << 20;

impl NavigationGraph {
    /// Builds a Vamana graph with alpha 1.2 over sampled vectors.
    ///
    /// Takes [`NavigationSpec::build_bytes`] of memory and the time of a Vamana build over the
    /// sample. The same for any number of threads in `pool`.
    ///
    /// # Errors
    /// When the vectors do not fit together, a parameter is out of range, memory is refused, or
    /// `progress` cancels.
    pub fn build(
        vectors: SampledVectors,
        spec: &NavigationSpec,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Self, GraphError> {
        vectors.check()?;
        let SampledVectors {
            ref rows,
            shape,
            metric,
            kernels,
            ..
        } = vectors;
        let centre = MedoidSpec {
            metric,
            kernels,
            block_bytes: BLOCK_BYTES,
        };
        let entry = medoid(&InMemory { rows, shape }, &centre, pool, progress)?.node;
        let set = VectorSet::new(rows, shape, metric, kernels, None)?;
        let bottom = build(&set, (entry, &[]), &spec.vamana(), pool, progress)?;
        Self::from_layers(vectors, Vec::new(), bottom)
    }
}

/// Rows in memory, read like a file.
struct InMemory<'r> {
    rows: &'r [u8],
    shape: VectorShape,
}

impl VectorRead for InMemory<'_> {
    fn count(&self) -> u64 {
        (self.rows.len() / self.shape.row_bytes().max(1)) as u64
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let begin = first as usize * self.shape.row_bytes();
        let rows = self.rows.get(begin..begin + out.len());
        out.copy_from_slice(rows.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn resident(&self) -> Option<&[u8]> {
        Some(self.rows)
    }
}
