//! Truth in a file, read a run of queries at a time.
//!
//! | extension | layout |
//! |---|---|
//! | `.ibin` | `u32 queries, u32 k`, all ids (`i32`), then perhaps all distances (`f32`) |
//! | `.ivecs` | per query `i32 k`, then `k` ids (`i32`) |
//!
//! The size of an `.ibin` file tells which of its two meanings it has.

use std::path::Path;
use std::sync::Arc;

use pageway_store::{OpenMode, Vfs, VfsFile};

use super::error::TruthError;
use super::table::Truth;
use crate::error::Error;
use crate::source::{lowercase_extension, read_bin_header, read_first_prefix};

const HEADER_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 4;

/// How a file of truth is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TruthForm {
    /// Header and ids.
    Ids,
    /// Header, all ids, all distances.
    IdsAndDistances,
    /// The length in front of each row of ids.
    Rows,
}

/// A file of truth. Holds none of it.
pub struct TruthFile {
    file: Arc<dyn VfsFile>,
    name: String,
    form: TruthForm,
    query_count: u64,
    k: u64,
    base_count: Option<u64>,
}

impl TruthFile {
    /// Opens a `.ibin` or `.ivecs` file and checks its header against its size. With `base_count`,
    /// every id that is read must be a row of that base.
    ///
    /// # Errors
    /// `NotFound` and `Io`; `InvalidInput` for unknown extensions, and headers that are cut, zero
    /// or disagree with the size.
    pub fn open(vfs: &Arc<dyn Vfs>, path: &Path, base_count: Option<u64>) -> Result<Self, Error> {
        let name = path.display().to_string();
        let extension = lowercase_extension(path);
        if !["ibin", "ivecs"].contains(&extension.as_str()) {
            return Err(TruthError::UnknownExtension { file: name }.into());
        }
        let file = vfs
            .open(path, OpenMode::Read)
            .map_err(|e| Error::from(e).within(&name))?;
        let (form, query_count, k) = match extension.as_str() {
            "ibin" => read_ibin(file.as_ref(), &name)?,
            _ => read_ivecs(file.as_ref(), &name)?,
        };
        Ok(Self {
            file,
            name,
            form,
            query_count,
            k,
            base_count,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Number of queries.
    pub fn query_count(&self) -> u64 {
        self.query_count
    }

    /// Neighbours per query.
    pub fn k(&self) -> usize {
        self.k as usize
    }

    /// True when the file holds distances beside the ids.
    pub fn has_distances(&self) -> bool {
        self.form == TruthForm::IdsAndDistances
    }

    /// Reads the truth of the queries `first .. first + count`: 4 or 8 bytes per neighbour, and
    /// as much again while reading.
    ///
    /// # Errors
    /// `InvalidInput` for queries outside of the file and for ids outside of the base, by query and
    /// rank; `Io`.
    pub fn read(&self, first: u64, count: usize) -> Result<Truth, Error> {
        let end = first.saturating_add(count as u64);
        if end > self.query_count {
            let (file, count) = (self.name.clone(), self.query_count);
            return Err(TruthError::Range {
                file,
                first,
                end,
                count,
            }
            .into());
        }
        let ids = match self.form {
            TruthForm::Rows => self.read_rows(first, count)?,
            TruthForm::Ids | TruthForm::IdsAndDistances => {
                self.values(HEADER_BYTES, first, count, i32::from_le_bytes)?
            }
        };
        let distances = match self.form {
            TruthForm::IdsAndDistances => {
                let ids_bytes = self.query_count * self.k * VALUE_BYTES;
                self.values(HEADER_BYTES + ids_bytes, first, count, f32::from_le_bytes)?
            }
            TruthForm::Ids | TruthForm::Rows => Vec::new(),
        };
        Ok(Truth {
            k: self.k(),
            ids: self.check_ids(first, &ids)?,
            distances,
        })
    }

    /// Reads the truth of all queries.
    ///
    /// # Errors
    /// As [`TruthFile::read`].
    pub fn read_all(&self) -> Result<Truth, Error> {
        self.read(0, self.query_count as usize)
    }

    /// `k` values for each of `count` queries from an array that begins at `start`.
    fn values<T>(
        &self,
        start: u64,
        first: u64,
        count: usize,
        decode: fn([u8; 4]) -> T,
    ) -> Result<Vec<T>, Error> {
        let row_bytes = self.k * VALUE_BYTES;
        let bytes = self.bytes(start + first * row_bytes, count * row_bytes as usize)?;
        Ok(bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|value| decode(*value))
            .collect())
    }

    /// Ids of rows that carry their length.
    fn read_rows(&self, first: u64, count: usize) -> Result<Vec<i32>, Error> {
        let stride = (self.k + 1) * VALUE_BYTES;
        let bytes = self.bytes(first * stride, count * stride as usize)?;
        let mut ids = Vec::with_capacity(count * self.k());
        for (query, row) in (first..).zip(bytes.chunks_exact(stride as usize)) {
            let mut values = row
                .as_chunks::<4>()
                .0
                .iter()
                .map(|value| i32::from_le_bytes(*value));
            let found = values.next().unwrap_or(0);
            if i64::from(found) != self.k as i64 {
                let (file, expected) = (self.name.clone(), self.k);
                return Err(TruthError::RowLength {
                    file,
                    query,
                    expected,
                    found,
                }
                .into());
            }
            ids.extend(values);
        }
        Ok(ids)
    }

    fn bytes(&self, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        let done = self.file.read_exact_at(&mut bytes, offset);
        done.map_err(|e| Error::from(e).within(&self.name))?;
        Ok(bytes)
    }

    fn check_ids(&self, first: u64, ids: &[i32]) -> Result<Vec<u32>, TruthError> {
        let count = self.base_count.unwrap_or(u64::MAX);
        let legal = |id: i32| u32::try_from(id).ok().filter(|id| u64::from(*id) < count);
        let checked = ids.iter().enumerate().map(|(position, &id)| {
            legal(id).ok_or_else(|| TruthError::IdRange {
                file: self.name.clone(),
                query: first + (position / self.k()) as u64,
                rank: position % self.k(),
                id,
                count: self.base_count,
            })
        });
        checked.collect()
    }
}

fn read_ibin(file: &dyn VfsFile, name: &str) -> Result<(TruthForm, u64, u64), Error> {
    let (queries, k) = read_bin_header(file, name)?;
    if queries == 0 || k == 0 {
        let (file, queries, k) = (name.to_owned(), queries.into(), k.into());
        return Err(TruthError::Empty { file, queries, k }.into());
    }
    let values_bytes = u128::from(queries) * u128::from(k) * u128::from(VALUE_BYTES);
    let ids_bytes = u128::from(HEADER_BYTES) + values_bytes;
    let both_bytes = ids_bytes + values_bytes;
    let found_bytes = file.len()?;
    let form = match u128::from(found_bytes) {
        found if found == ids_bytes => TruthForm::Ids,
        found if found == both_bytes => TruthForm::IdsAndDistances,
        _ => {
            let (file, queries, k) = (name.to_owned(), queries.into(), k.into());
            return Err(TruthError::SizeMismatch {
                file,
                queries,
                k,
                ids_bytes,
                both_bytes,
                found_bytes,
            }
            .into());
        }
    };
    Ok((form, queries.into(), k.into()))
}

fn read_ivecs(file: &dyn VfsFile, name: &str) -> Result<(TruthForm, u64, u64), Error> {
    let k = read_first_prefix(file, name)?;
    let Some(k) = u64::try_from(k).ok().filter(|k| *k > 0) else {
        let file = name.to_owned();
        return Err(TruthError::Empty {
            file,
            queries: 1,
            k: k.into(),
        }
        .into());
    };
    let (row_bytes, found_bytes) = ((k + 1) * VALUE_BYTES, file.len()?);
    if !found_bytes.is_multiple_of(row_bytes) {
        let file = name.to_owned();
        return Err(TruthError::PartialRow {
            file,
            found_bytes,
            row_bytes,
            k,
        }
        .into());
    }
    Ok((TruthForm::Rows, found_bytes / row_bytes, k))
}
