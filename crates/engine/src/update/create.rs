//! An index without a row.

use std::path::Path;
use std::sync::Arc;

use pageway_store::{DirectoryLock, MANIFEST_FILE, OsVfs, Vfs, create_directory, remove_orphans};

use super::options::CreateOptions;
use super::writer::Writer;
use crate::build::added_spec;
use crate::calibration::Calibration;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{ChangeEntry, Manifest, remove_log};
use crate::memory::{MemoryWish, largest};
use crate::options::BuildOptions;
use crate::spec::Shape;

/// Memory of searches, if the caller gives none.
const MEMORY_BYTES: u64 = 64_000_000;
/// The expected vectors are so many times the memory of searches, if the caller gives no number.
const EXPECTED_TIMES: u64 = 5;

impl Writer {
    /// Makes an empty index in the directory `dir`, which does not exist or is empty.
    ///
    /// # Errors
    /// `InvalidInput` where there is an index or anything else already, or for a design that the
    /// memory does not hold, with the least that works.
    pub fn create(dir: &Path, options: &CreateOptions) -> Result<()> {
        Self::create_on(&(Arc::new(OsVfs) as Arc<dyn Vfs>), dir, options)
    }

    /// As [`Writer::create`], on a file system of the caller's.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create_on(vfs: &Arc<dyn Vfs>, dir: &Path, options: &CreateOptions) -> Result<()> {
        let manifest = manifest_of(options)?;
        let vfs = vfs.as_ref();
        let failed = |error| Error::from(error).within(dir.display());
        if !vfs.exists(dir).map_err(failed)? {
            create_directory(vfs, dir)?;
        }
        let _lock = DirectoryLock::acquire(vfs, dir)?;
        let names = vfs.list(dir).map_err(failed)?;
        if names.iter().any(|name| name == MANIFEST_FILE) {
            let words = format!("{}: there is an index already", dir.display());
            return Err(Error::invalid(words));
        }
        remove_orphans(vfs, dir, |_| false)?;
        remove_log(vfs, dir)?;
        manifest.commit(vfs, dir)
    }
}

fn manifest_of(options: &CreateOptions) -> Result<Manifest> {
    let CreateOptions {
        shape,
        metric,
        preset,
        ref form,
        memory,
        expected,
        degree,
        ref schema,
    } = *options;
    if shape.dimension == 0 {
        return Err(Error::invalid("dimension = 0: give 1 at least"));
    }
    let memory_bytes = memory.unwrap_or(MEMORY_BYTES);
    let row_bytes = shape.row_bytes() as u64;
    let build = BuildOptions {
        metric,
        preset,
        form: form.clone(),
        memory: Some(MemoryWish::Bytes(memory_bytes)),
        degree,
        ..BuildOptions::default()
    };
    let shape = Shape {
        dimension: shape.dimension,
        element: shape.element,
        metric,
    };
    let nodes = if let Some(expected) = expected {
        counted(expected)?
    } else {
        let wished = EXPECTED_TIMES.saturating_mul(memory_bytes) / row_bytes;
        held(&build, shape, wished)
    };
    let given = memory.map(MemoryWish::Bytes);
    Ok(Manifest {
        generation: 1,
        created_by: concat!("pageway ", env!("CARGO_PKG_VERSION")).to_owned(),
        spec: added_spec(&build.spec_for(shape, nodes)?, nodes),
        segments: Vec::new(),
        memory_bytes,
        calibration: Calibration::default(),
        changes: Some(ChangeEntry {
            log: None,
            floor: 0,
            floor_chain: None,
            next_id: 0,
            calibrated_rows: 0,
            changed_rows: 0,
        }),
        schema: schema.clone(),
        wish: build.design_wish().map(|wish| wish.with_memory(given)),
    })
}

/// Vectors that an index may hold.
fn counted(expected: u64) -> Result<u32> {
    let nodes = u32::try_from(expected).ok();
    nodes.filter(|nodes| *nodes < u32::MAX).ok_or_else(|| {
        let words = format!("{expected} vectors: one index holds fewer than 2^32");
        Error::new(ErrorKind::InvalidInput, words)
    })
}

/// The most of the `wished` vectors that memory holds, but at least one.
fn held(build: &BuildOptions, shape: Shape, wished: u64) -> u32 {
    let most = wished.clamp(1, u64::from(u32::MAX) - 1) as u32;
    let fits = |nodes: u32| build.spec_for(shape, nodes).is_ok();
    if fits(most) {
        return most;
    }
    largest(1, most, fits)
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, Metric, VectorShape};

    use super::*;
    use crate::presets::Preset;

    #[test]
    fn every_preset_is_made_of_narrow_vectors_by_default() {
        for preset in Preset::ALL {
            for dimension in [1, 2, 3, 4, 16] {
                for element in [ElementType::F32, ElementType::U8] {
                    let shape = VectorShape { dimension, element };
                    let options = CreateOptions::new(shape, Metric::L2).with_preset(preset);
                    if let Err(error) = manifest_of(&options) {
                        panic!("{preset} {dimension} {element:?}: {error}");
                    }
                    let error = manifest_of(&options.clone().with_memory(1)).unwrap_err();
                    let least = error.least_named();
                    manifest_of(&options.clone().with_memory(least)).unwrap();
                    manifest_of(&options.with_memory(least - 1)).unwrap_err();
                }
            }
        }
    }

    #[test]
    fn memory_beyond_what_an_index_holds_is_no_mistake() {
        let shape = VectorShape {
            dimension: 1,
            element: ElementType::U8,
        };
        let options = CreateOptions::new(shape, Metric::L2);
        manifest_of(&options.clone().with_memory(u64::MAX)).unwrap();
        manifest_of(&options.with_expected(1 << 32)).unwrap_err();
    }
}
