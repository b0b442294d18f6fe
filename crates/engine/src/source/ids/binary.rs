//! Ids of a fixed width: `.u64bin`, `.ibin` and `.npy`.

use std::sync::Arc;

use pageway_store::VfsFile;

use super::super::error::SourceError;
use super::super::layout::{BIN_HEADER_BYTES, length_of, read_bin_header, read_of};
use super::super::npy::{NpyHeader, NpyProblem};
use super::{IdRead, check_range};
use crate::error::Error;

/// Most bytes of ids read at once.
const COPY_BYTES: usize = 64 * 1024;

/// Width and sign of an id in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct IdType {
    bytes: u8,
    signed: bool,
}

impl IdType {
    const U64: Self = Self::new(8, false);
    const I64: Self = Self::new(8, true);
    const U32: Self = Self::new(4, false);
    const I32: Self = Self::new(4, true);

    const fn new(bytes: u8, signed: bool) -> Self {
        Self { bytes, signed }
    }

    const fn width(self) -> usize {
        self.bytes as usize
    }

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

/// What a header says.
struct IdHeader {
    count: u64,
    first_offset: u64,
    id_type: IdType,
}

impl IdHeader {
    /// Count and file size agree.
    fn check(&self, name: &str, found_bytes: u64) -> Result<(), SourceError> {
        let file = name.to_owned();
        let width = self.id_type.width() as u64;
        let stated = format!("{} ids of {width} bytes", self.count);
        if self.count == 0 {
            return Err(SourceError::Empty { file });
        }
        let payload_bytes = self.count.checked_mul(width);
        match payload_bytes.and_then(|bytes| bytes.checked_add(self.first_offset)) {
            Some(expected_bytes) if expected_bytes == found_bytes => Ok(()),
            Some(expected_bytes) => Err(SourceError::SizeMismatch {
                file,
                stated,
                expected_bytes,
                found_bytes,
            }),
            None => Err(SourceError::Overflow { file, stated }),
        }
    }
}

/// Ids of a fixed width in a file.
pub(super) struct BinaryIds {
    file: Arc<dyn VfsFile>,
    name: String,
    header: IdHeader,
}

impl BinaryIds {
    /// Reads the header and checks it against the file size.
    pub(super) fn open(
        file: Arc<dyn VfsFile>,
        name: String,
        extension: &str,
    ) -> Result<Self, Error> {
        let header = match extension {
            "npy" => read_npy(file.as_ref(), &name)?,
            "ibin" => read_bin(file.as_ref(), &name, IdType::I32)?,
            _ => read_bin(file.as_ref(), &name, IdType::U64)?,
        };
        header.check(&name, length_of(file.as_ref(), &name)?)?;
        Ok(Self { file, name, header })
    }
}

impl IdRead for BinaryIds {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self) -> u64 {
        self.header.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        check_range(self, first, out.len())?;
        let width = self.header.id_type.width();
        let ids_at_once = COPY_BYTES / width;
        let mut copy = vec![0; out.len().min(ids_at_once) * width];
        let mut row = first;
        for run in out.chunks_mut(ids_at_once) {
            let (bytes, _) = copy.split_at_mut(run.len() * width);
            let offset = self.header.first_offset + row * width as u64;
            read_of(self.file.as_ref(), &self.name, bytes, offset)?;
            for (id, bytes) in run.iter_mut().zip(bytes.chunks_exact(width)) {
                let value = self.header.id_type.decode(bytes);
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

fn read_bin(file: &dyn VfsFile, name: &str, id_type: IdType) -> Result<IdHeader, Error> {
    let (rows, columns) = read_bin_header(file, name)?;
    if columns != 1 {
        let (file, found) = (name.to_owned(), columns.into());
        return Err(SourceError::NotOnePerRow { file, found }.into());
    }
    let (count, first_offset) = (rows.into(), BIN_HEADER_BYTES);
    Ok(IdHeader {
        count,
        first_offset,
        id_type,
    })
}

fn read_npy(file: &dyn VfsFile, name: &str) -> Result<IdHeader, Error> {
    let header = NpyHeader::read(file, name)?;
    let refuse = |problem| SourceError::Npy {
        file: name.to_owned(),
        problem,
    };
    header.check_order().map_err(refuse)?;
    let id_type = npy_id_type(&header).map_err(refuse)?;
    let count = match *header.shape.as_slice() {
        [count] | [count, 1] => count,
        [_, found] => {
            let file = name.to_owned();
            return Err(SourceError::NotOnePerRow { file, found }.into());
        }
        _ => {
            let (found, expected) = (header.shape.len(), "ids come as an array of 1 axis");
            return Err(refuse(NpyProblem::Axes { found, expected }).into());
        }
    };
    Ok(IdHeader {
        count,
        first_offset: header.payload_offset,
        id_type,
    })
}

fn npy_id_type(header: &NpyHeader) -> Result<IdType, NpyProblem> {
    match header.descr.as_str() {
        "<u8" => Ok(IdType::U64),
        "<i8" => Ok(IdType::I64),
        "<u4" => Ok(IdType::U32),
        "<i4" => Ok(IdType::I32),
        _ => Err(header.element_problem(
            "which is no list of ids",
            "convert it with array.astype(numpy.uint64)",
        )),
    }
}
