//! What crosses the border: rows of numpy, paths, settings by name, reports.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pageway::source::{
    IdRead, IdSlice, OpenAs, TextLines, TextRead, TextSlice, VectorFile, VectorFormat, VectorSlice,
    open_ids,
};
use pageway::{ElementType, Error, ErrorKind, OsVfs, Schema, VectorRead, VectorShape, Vfs};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::to_exception;
use crate::rows_to_store::RowsToStore;

/// Rows of an array: their bytes, components per row, element type.
#[derive(FromPyObject)]
pub(crate) struct Rows<'py>(PyReadonlyArray1<'py, u8>, u32, String);

impl Rows<'_> {
    /// The bytes, where they lie in the array.
    pub(crate) fn bytes(&self) -> PyResult<&[u8]> {
        Ok(self.0.as_slice()?)
    }

    /// Dimension and element type.
    pub(crate) fn shape(&self) -> PyResult<VectorShape> {
        Ok(VectorShape {
            dimension: self.1,
            element: named(&self.2)?,
        })
    }
}

/// Vectors of the caller.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// In memory.
    Array(Rows<'py>),
    /// In a file.
    File(PathBuf),
    /// In a file that does not say what its elements are.
    FileOf(PathBuf, String),
    /// In a file that stands for something else, which messages name.
    FileFor(PathBuf, String, String),
}

impl Source<'_> {
    /// Opens the file, or looks at the array.
    pub(crate) fn open(&self) -> PyResult<Box<dyn VectorRead + '_>> {
        Ok(match self {
            Self::Array(rows) => {
                let slice = VectorSlice::new(rows.bytes()?, rows.shape()?);
                Box::new(slice.map_err(to_exception)?)
            }
            Self::File(path) => Box::new(open_vectors(path, None)?),
            Self::FileOf(path, element) | Self::FileFor(path, element, _) => {
                Box::new(open_vectors(path, Some(named(element)?))?)
            }
        })
    }

    /// The same for vectors that go with others of type `among`, which messages call `role`: floats
    /// are rounded to it, and where it is bits bytes are taken as packed ones.
    pub(crate) fn open_among(&self, among: ElementType, role: &str) -> PyResult<RowsToStore<'_>> {
        let bits = (among == ElementType::Bit).then_some(among);
        let vectors: Box<dyn VectorRead + '_> = match self {
            Self::File(path) => Box::new(open_vectors(path, bits)?),
            Self::Array(rows) if bits.is_some() && rows.shape()?.element == ElementType::U8 => {
                let dimension = rows.shape()?.dimension * 8;
                let element = among;
                let slice = VectorSlice::new(rows.bytes()?, VectorShape { dimension, element });
                Box::new(slice.map_err(to_exception)?)
            }
            Self::Array(_) | Self::FileOf(..) | Self::FileFor(..) => self.open()?,
        };
        let own = vectors.shape().element;
        let rounded = own != among && own.is_float() && among.is_float();
        RowsToStore::new(vectors, &self.name(role), rounded.then_some(among))
    }

    /// What messages call it: what it stands for, the path, or `role` for an array.
    pub(crate) fn name(&self, role: &str) -> String {
        match self {
            Self::Array(_) => role.to_owned(),
            Self::File(path) | Self::FileOf(path, _) => path.display().to_string(),
            Self::FileFor(_, _, name) => name.clone(),
        }
    }
}

/// Ids of the caller.
#[derive(FromPyObject)]
pub(crate) enum Ids<'py> {
    /// In memory.
    Array(PyReadonlyArray1<'py, u64>),
    /// Names in place of them.
    Names(Vec<String>),
    /// In a file.
    File(PathBuf),
}

impl Ids<'_> {
    /// Opens the file, or looks at the array; none where there are names.
    pub(crate) fn open(&self) -> PyResult<Option<Box<dyn IdRead + '_>>> {
        Ok(match self {
            Self::Array(ids) => Some(Box::new(IdSlice(ids.as_slice()?))),
            Self::Names(_) => None,
            Self::File(path) => Some(open_ids(&vfs(), path).map_err(to_exception)?),
        })
    }

    /// The names.
    pub(crate) fn names(&self) -> Option<TextSlice<'_>> {
        match self {
            Self::Names(names) => Some(TextSlice::names(names)),
            Self::Array(_) | Self::File(_) => None,
        }
    }
}

/// Ids or names of rows that are put in.
#[derive(FromPyObject)]
pub(crate) enum Keys<'py> {
    Ids(PyReadonlyArray1<'py, u64>),
    Names(Vec<String>),
}

/// Attributes of rows.
#[derive(FromPyObject)]
pub(crate) enum Documents {
    /// In memory, a JSON text each.
    List(Vec<String>),
    /// In a file of JSON lines.
    File(PathBuf),
}

impl Documents {
    /// Opens the file, or looks at the list.
    pub(crate) fn open(&self) -> PyResult<Box<dyn TextRead + '_>> {
        Ok(match self {
            Self::List(all) => Box::new(TextSlice::attributes(all)),
            Self::File(path) => Box::new(TextLines::open(&vfs(), path).map_err(to_exception)?),
        })
    }
}

fn vfs() -> Arc<dyn Vfs> {
    Arc::new(OsVfs)
}

/// Extensions of files that Python reads, beside those of the engine.
const EXTENSIONS: &str = ".parquet .pq .jsonl .ndjson .jsonl.gz .ndjson.gz .arrow .feather .ipc .h5 \
                          .hdf5 .lance";

fn open_vectors(path: &Path, element: Option<ElementType>) -> PyResult<VectorFile> {
    VectorFormat::of(path).map_err(|error| to_exception(error.with_known(EXTENSIONS).into()))?;
    VectorFile::open(&vfs(), path, OpenAs { element }).map_err(to_exception)
}

/// A metric or element type by its name.
pub(crate) fn named<T: FromStr<Err = String>>(text: &str) -> PyResult<T> {
    text.parse()
        .map_err(|error: String| to_exception(Error::invalid(error)))
}

/// A preset, an amount of memory or a tolerance as the user wrote it.
pub(crate) fn wish<T: FromStr<Err = Error>>(text: &str) -> PyResult<T> {
    text.parse().map_err(to_exception)
}

/// A schema of attributes, as JSON.
pub(crate) fn schema(text: &str) -> PyResult<Schema> {
    let read: Result<Schema, Error> = text.parse().map_err(Error::from);
    read.map_err(to_exception)
}

/// A report as JSON, which is how it crosses the border.
pub(crate) fn json(report: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(report)
        .map_err(|error| to_exception(Error::new(ErrorKind::Internal, error.to_string())))
}

/// `values` as an array of `rows` rows; moved, not copied.
pub(crate) fn table<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    PyArray1::from_vec(py, values).reshape([rows, columns])
}
