//! Rows on their way out of an index, and which of them are changed how.

use numpy::{PyArray1, PyReadonlyArray1};
use pageway::{Edit, FieldPath, RowPage, RowParts, Which, read_document};
use pyo3::prelude::*;

use crate::error::to_exception;
use crate::index::FilterWish;

/// Which rows are changed.
#[derive(FromPyObject)]
pub(crate) enum WhichRows<'py> {
    Ids(PyReadonlyArray1<'py, u64>),
    Matching(FilterWish<'py>),
    Names(Vec<String>),
}

impl WhichRows<'_> {
    /// Does something with them.
    pub(crate) fn with<T>(&self, act: impl FnOnce(Which<'_>) -> PyResult<T>) -> PyResult<T> {
        match self {
            Self::Ids(ids) => act(Which::Ids(ids.as_slice()?)),
            Self::Matching(wish) => act(Which::Matching(&wish.filter()?)),
            Self::Names(names) => act(Which::Names(names)),
        }
    }
}

/// A change of attributes: `set`, `overwrite`, `remove` or `clear`, with the fields as JSON or the
/// path that they are set at, or the paths that go.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct EditWish {
    what: String,
    fields: String,
    paths: Vec<String>,
}

impl EditWish {
    /// The change.
    pub(crate) fn edit(&self) -> PyResult<Edit> {
        let path =
            |path: &String| FieldPath::parse(path).map_err(|error| to_exception(error.into()));
        let mut paths = self.paths.iter().map(path).collect::<PyResult<Vec<_>>>()?;
        let fields = || {
            let fields = read_document(self.fields.as_bytes());
            fields.map_err(|error| to_exception(error.into()))
        };
        Ok(match self.what.as_str() {
            "set" => Edit::Set {
                at: paths.pop(),
                fields: fields()?,
            },
            "overwrite" => Edit::Overwrite(fields()?),
            "remove" => Edit::Remove(paths),
            _ => Edit::Clear,
        })
    }
}

/// Ids and names, attributes, bytes of vectors, and the next id.
pub(crate) type Scrolled<'py> = (
    (Bound<'py, PyArray1<u64>>, Vec<Option<String>>),
    Vec<Option<String>>,
    Bound<'py, PyArray1<u8>>,
    Option<u64>,
);

/// Rows as they cross the border.
pub(crate) fn scrolled(py: Python<'_>, page: RowPage) -> Scrolled<'_> {
    let ids = page.rows.iter().map(|row| row.id).collect();
    let bytes: Vec<&[u8]> = page.rows.iter().map(|row| &*row.vector).collect();
    let bytes = bytes.concat();
    let beside = page.rows.into_iter();
    let (names, attributes) = beside.map(|row| (row.name, row.attributes)).unzip();
    let (ids, bytes) = (PyArray1::from_vec(py, ids), PyArray1::from_vec(py, bytes));
    ((ids, names), attributes, bytes, page.next)
}

/// Whether vectors, and attributes, are wanted.
pub(crate) fn row_parts((vectors, attributes): (bool, bool)) -> RowParts {
    RowParts {
        vectors,
        attributes,
    }
}
