//! Quantizers, and tables of codes.

use std::sync::{Mutex, PoisonError};

use pageway_quant::{ComponentOrder, PqSpec, Quantizer, RaBitQSpec, Rotation, TrainingSpec};
use pageway_store::{BlobReader, FileEntry};

use super::Source;
use crate::error::Result;
use crate::spec::{EntrySpec, IndexSpec, QuantizerSpec, RotationSpec};
use crate::storage::CodeTable;
use crate::threads::{each_at_once, thread_count};

/// Codes that a thread puts into another form at once.
const ARRANGED_AT_ONCE: usize = 8192;

/// What the quantizer of a spec is trained as.
pub(crate) fn training(spec: &IndexSpec) -> TrainingSpec {
    training_of(spec.storage.quantizer, spec.seed, ComponentOrder::Natural)
}

/// What the second quantizer of a spec is trained as: made to err differently from the first.
pub(crate) fn second_training(spec: &IndexSpec) -> Option<TrainingSpec> {
    let second = spec.storage.second_quantizer?;
    Some(training_of(second, !spec.seed, ComponentOrder::Strided))
}

fn training_of(quantizer: QuantizerSpec, seed: u64, order: ComponentOrder) -> TrainingSpec {
    match quantizer {
        QuantizerSpec::Pq { code_bytes } => TrainingSpec::Pq(PqSpec {
            seed,
            order,
            ..PqSpec::new(code_bytes)
        }),
        QuantizerSpec::RaBitQ {
            code_bytes,
            rotation,
        } => TrainingSpec::RaBitQ(RaBitQSpec {
            rotation: match rotation {
                RotationSpec::Hadamard => Rotation::Hadamard,
                RotationSpec::Principal => Rotation::Principal,
            },
            seed,
            ..RaBitQSpec::new(code_bytes)
        }),
    }
}

/// Shortest and longest code of a kind.
pub(crate) fn code_range(quantizer: QuantizerSpec, dimension: u32) -> (u32, u32) {
    match training_of(quantizer, 0, ComponentOrder::Natural) {
        TrainingSpec::Pq(_) => (1, dimension),
        TrainingSpec::RaBitQ(spec) => {
            let dimension = dimension as usize;
            (
                spec.smallest(dimension) as u32,
                spec.largest(dimension) as u32,
            )
        }
    }
}

/// Bytes of the quantizers of a spec in memory.
pub(crate) fn codebook_bytes(spec: &IndexSpec) -> u64 {
    let dimension = spec.shape.dimension as usize;
    let bytes = |training: TrainingSpec| training.resident_bytes(dimension) as u64;
    bytes(training(spec)) + second_training(spec).map_or(0, bytes)
}

/// Bytes of the same on disk.
pub(crate) fn codebook_file_bytes(spec: &IndexSpec) -> u64 {
    let dimension = spec.shape.dimension as usize;
    let bytes = |training: TrainingSpec| training.file_bytes(dimension) as u64;
    bytes(training(spec)) + second_training(spec).map_or(0, bytes)
}

/// Bytes that score codes of one query.
pub(crate) fn scorer_bytes(spec: &IndexSpec) -> usize {
    let dimension = spec.shape.dimension as usize;
    let bytes = |training: TrainingSpec| training.scorer_bytes(dimension);
    let own = bytes(training(spec)) + second_training(spec).map_or(0, bytes);
    let tables = |training: TrainingSpec| training.table_bytes(dimension);
    let second = second_training(spec).filter(|_| spec.storage.second_codes_in_memory().is_some());
    let own = own + second.map_or(0, tables);
    if spec.execution.entry == EntrySpec::Clusters {
        let code_bytes = spec.storage.quantizer.code_bytes() as usize;
        return own + training(spec).block_bytes(dimension) + code_bytes;
    }
    match spec.storage.codes_in_memory(u32::MAX) {
        0 => own,
        _ => own + tables(training(spec)),
    }
}

/// A table of the codes of all nodes, which are as they are stored: all cores put them into the
/// form of tables, each in its place.
pub(super) fn arranged(mut bytes: Vec<u8>, node_count: u32, quantizer: &Quantizer) -> CodeTable {
    let part_bytes = ARRANGED_AT_ONCE * quantizer.code_bytes();
    let parts: Vec<_> = bytes.chunks_mut(part_bytes).map(Mutex::new).collect();
    each_at_once(thread_count(0), &parts, &|codes| {
        let mut codes = codes.lock().unwrap_or_else(PoisonError::into_inner);
        quantizer.arrange(&mut codes);
    });
    CodeTable::arranged(bytes, node_count)
}

/// Values of a query before and after it is turned, where that is done for several at once.
pub(crate) fn turned_values(spec: &IndexSpec) -> usize {
    training(spec).turned_values(spec.shape.dimension as usize)
}

/// Reads a quantizer, and checks that it is the one the spec speaks of.
pub(crate) fn quantizer(
    source: Source<'_>,
    file: &FileEntry,
    spec: QuantizerSpec,
) -> Result<Quantizer> {
    let shape = source.segment.spec.shape;
    // No codebook of this kind is larger.
    let training = training_of(spec, 0, ComponentOrder::Natural);
    let limit = training.file_bytes(shape.dimension as usize) as u64;
    let bytes = BlobReader::open(source.vfs, source.dir, file)?.read_rest(limit)?;
    let quantizer =
        Quantizer::from_bytes(&bytes).map_err(|error| source.corrupt(&file.name, error))?;
    let expected = (
        shape.dimension as usize,
        spec.code_bytes() as usize,
        shape.metric.guide(),
    );
    let found = (
        quantizer.dimension(),
        quantizer.code_bytes(),
        quantizer.metric(),
    );
    let is_kind = match spec {
        QuantizerSpec::Pq { .. } => matches!(quantizer, Quantizer::Pq(_)),
        QuantizerSpec::RaBitQ { .. } => matches!(quantizer, Quantizer::RaBitQ(_)),
    };
    if found == expected && is_kind {
        return Ok(quantizer);
    }
    let what = format!("a quantizer for {found:?}, the manifest says {expected:?}");
    Err(source.corrupt(&file.name, what))
}
