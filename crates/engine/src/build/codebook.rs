//! The codebook of another index, taken over so that both share one set of centroids.

use std::path::Path;

use pageway_quant::Quantizer;
use pageway_store::{FileUuid, Vfs};
use pageway_types::VectorShape;

use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::presets::choices::typed;
use crate::resolve::{self, Source};
use crate::spec::{IndexSpec, QuantizerSpec, Shape};

/// A quantizer, and the identity of the file it came from.
pub(super) struct SharedCodebook {
    pub(super) quantizer: Quantizer,
    pub(super) uuid: FileUuid,
    /// What its codes are.
    spec: QuantizerSpec,
}

impl SharedCodebook {
    /// Reads the codebook of the index in `dir`, of its first segment, for vectors of `shape`.
    ///
    /// # Errors
    /// As opening that index; `InvalidInput` when its vectors are of another space.
    pub(super) fn read(vfs: &dyn Vfs, dir: &Path, shape: Shape) -> Result<Self> {
        let manifest = Manifest::read(vfs, dir)?;
        let theirs = manifest.spec.shape;
        if theirs != shape {
            let describe = |shape: Shape| {
                let VectorShape { dimension, element } = shape.vectors();
                format!("{dimension} x {element}, {}", shape.metric)
            };
            return Err(Error::invalid(format!(
                "the codebook of {} is for vectors of {}, these are {}: share it within one \
                 vector space alone",
                dir.display(),
                describe(theirs),
                describe(shape)
            )));
        }
        let segment = manifest.first()?;
        let (file, spec) = (&segment.files.codebook, segment.spec.storage.quantizer);
        Ok(Self {
            quantizer: resolve::quantizer(Source { vfs, dir, segment }, file, spec)?,
            uuid: file.uuid,
            spec,
        })
    }

    /// Refuses a design with codes of another kind or length.
    ///
    /// # Errors
    /// `InvalidInput` with both kinds or lengths.
    pub(super) fn check(&self, spec: &IndexSpec) -> Result<()> {
        let (wanted, own) = (spec.storage.quantizer, self.spec);
        if wanted == own {
            return Ok(());
        }
        if wanted == own.with_code_bytes(wanted.code_bytes()) {
            return Err(self.other_length(wanted.code_bytes()));
        }
        let (wanted, own) = (typed(&wanted), typed(&own));
        Err(Error::invalid(format!(
            "the codebook to share is for codes {own}, this design would have {wanted}: choose that \
             quantizer, or share none"
        )))
    }

    fn other_length(&self, wanted: u32) -> Error {
        Error::invalid(format!(
            "the codebook to share is for codes of {} bytes, this design would have {wanted}: give \
             code bytes that make them the same, or share none",
            self.code_bytes()
        ))
    }

    /// Bytes per code.
    pub(super) fn code_bytes(&self) -> u32 {
        self.quantizer.code_bytes() as u32
    }
}
