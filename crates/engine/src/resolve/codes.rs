//! Quantizers.

use pageway_quant::ProductQuantizer;
use pageway_store::{BlobReader, FileEntry};

use super::Source;
use crate::error::Result;
use crate::spec::{IndexSpec, QuantizerSpec};

/// Largest codebook that is believed: dimension 16,384 times 256 centroids of `f32`, and a header.
const MAX_CODEBOOK_BYTES: u64 = 16_384 * 257 * 4 + 4096;

/// Bytes of one quantizer in memory.
pub(crate) fn codebook_bytes(spec: &IndexSpec) -> u64 {
    match spec.storage.quantizer {
        QuantizerSpec::Pq { .. } => u64::from(spec.shape.dimension) * 257 * 4 + 4096,
    }
}

/// Reads a quantizer, and checks that it is the one the spec speaks of.
pub(crate) fn quantizer(
    source: Source<'_>,
    file: &FileEntry,
    spec: QuantizerSpec,
) -> Result<ProductQuantizer> {
    let bytes = BlobReader::open(source.vfs, source.dir, file)?.read_rest(MAX_CODEBOOK_BYTES)?;
    let quantizer =
        ProductQuantizer::from_bytes(&bytes).map_err(|error| source.corrupt(&file.name, error))?;
    let shape = source.manifest.spec.shape;
    let expected = (
        shape.dimension as usize,
        spec.code_bytes() as usize,
        shape.metric,
    );
    let found = (
        quantizer.dimension(),
        quantizer.code_bytes(),
        quantizer.metric(),
    );
    if found == expected {
        return Ok(quantizer);
    }
    let what = format!("a quantizer for {found:?}, the manifest says {expected:?}");
    Err(source.corrupt(&file.name, what))
}
