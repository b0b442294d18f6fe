//! Ids of a fixed width: `.u64bin`, `.ibin` and `.npy`.

use std::sync::Arc;

use pageway_store::VfsFile;

use super::super::error::SourceError;
use super::super::layout::{BIN_HEADER_BYTES, read_bin_header};
use super::super::npy::{NpyHeader, NpyProblem};
use super::{IdRead, check_range};
use crate::error::Error;

/// Most bytes of ids read at once.
const COPY_BYTES: usize = 64 * 1024;

/// Width and sign of an id in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct IdType {
    bytes: usize,
    signed: bool,
}

impl IdType {
    /// The value of one little-endian id, sign-extended when it is signed.
    fn decode(self, bytes: &[u8]) -> i128 {
        let negative = self.signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = [if negative { 0xff } else { 0 }; 16];
        wide.iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = *from);
        i128::from_le_bytes(wide)
    }
}

/// Ids of a fixed width in a file.
pub(super) struct BinaryIds {
    file: Arc<dyn VfsFile>,
    name: String,
    count: u64,
    first_offset: u64,
    id_type: IdType,
}

impl BinaryIds {
    /// Reads the header and checks it against the file size.
    pub(super) fn open(
        file: Arc<dyn VfsFile>,
        name: String,
        extension: &str,
    ) -> Result<Self, Error> {
        let (count, first_offset, id_type) = match extension {
            "npy" => read_npy(file.as_ref(), &name)?,
            "ibin" => read_bin(
                file.as_ref(),
                &name,
                IdType {
                    bytes: 4,
                    signed: true,
                },
            )?,
            _ => read_bin(
                file.as_ref(),
                &name,
                IdType {
                    bytes: 8,
                    signed: false,
                },
            )?,
        };
        let stated = format!("{count} ids of {} bytes", id_type.bytes);
        if count == 0 {
            return Err(SourceError::Empty { file: name }.into());
        }
        let expected_bytes = count
            .checked_mul(id_type.bytes as u64)
            .and_then(|bytes| bytes.checked_add(first_offset));
        let Some(expected_bytes) = expected_bytes else {
            return Err(SourceError::Overflow { file: name, stated }.into());
        };
        let found_bytes = file.len()?;
        if expected_bytes != found_bytes {
            let file = name;
            return Err(SourceError::SizeMismatch {
                file,
                stated,
                expected_bytes,
                found_bytes,
            }
            .into());
        }
        Ok(Self {
            file,
            name,
            count,
            first_offset,
            id_type,
        })
    }
}

impl IdRead for BinaryIds {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        check_range(self, first, out.len())?;
        let width = self.id_type.bytes;
        let ids_at_once = COPY_BYTES / width;
        let mut copy = vec![0; out.len().min(ids_at_once) * width];
        let mut row = first;
        for run in out.chunks_mut(ids_at_once) {
            let (bytes, _) = copy.split_at_mut(run.len() * width);
            self.file
                .read_exact_at(bytes, self.first_offset + row * width as u64)?;
            for (id, bytes) in run.iter_mut().zip(bytes.chunks_exact(width)) {
                let value = self.id_type.decode(bytes);
                *id = u64::try_from(value).map_err(|_| SourceError::NegativeId {
                    file: self.name.clone(),
                    row,
                    value: value as i64,
                })?;
                row += 1;
            }
        }
        Ok(())
    }
}

fn read_bin(file: &dyn VfsFile, name: &str, id_type: IdType) -> Result<(u64, u64, IdType), Error> {
    let (rows, columns) = read_bin_header(file, name)?;
    if columns != 1 {
        let file = name.to_owned();
        return Err(SourceError::NotOnePerRow {
            file,
            found: columns.into(),
        }
        .into());
    }
    Ok((rows.into(), BIN_HEADER_BYTES, id_type))
}

fn read_npy(file: &dyn VfsFile, name: &str) -> Result<(u64, u64, IdType), Error> {
    let header = NpyHeader::read(file, name)?;
    let refuse = |problem| SourceError::Npy {
        file: name.to_owned(),
        problem,
    };
    header.check_order().map_err(refuse)?;
    let id_type = match header.descr.as_str() {
        "<u8" => IdType {
            bytes: 8,
            signed: false,
        },
        "<i8" => IdType {
            bytes: 8,
            signed: true,
        },
        "<u4" => IdType {
            bytes: 4,
            signed: false,
        },
        "<i4" => IdType {
            bytes: 4,
            signed: true,
        },
        _ => {
            return Err(refuse(header.element_problem(
                "which is no list of ids",
                "convert it with array.astype(numpy.uint64)",
            ))
            .into());
        }
    };
    match *header.shape.as_slice() {
        [count] | [count, 1] => Ok((count, header.payload_offset, id_type)),
        [_, found] => Err(SourceError::NotOnePerRow {
            file: name.to_owned(),
            found,
        }
        .into()),
        _ => Err(refuse(NpyProblem::Axes {
            found: header.shape.len(),
            expected: "ids come as an array of 1 axis",
        })
        .into()),
    }
}
