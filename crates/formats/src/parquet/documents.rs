//! Rows of a Parquet file as documents: columns are fields.
//!
//! Nulls are missing. Dates and moments become texts as RFC 3339 writes them, UUIDs texts, structs
//! and maps objects. Bytes that are no text are refused, and floats that are no number.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use pageway::{Error, Result, Vfs};
use parquet::basic::{LogicalType, TimeUnit};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Row;
use parquet::schema::types::{ColumnDescriptor, Type};
use serde_json::{Map, Value};

use super::bytes::Chunks;
use super::columns::Columns;
use super::rows::{check_codecs, damaged, failed, open_parquet};
use super::value::{Special, value_of};
use crate::attributes::refused;
use crate::open::Wish;

/// The columns of a file that are attributes.
pub(crate) struct Documents {
    name: String,
    file: SerializedFileReader<Chunks>,
    columns: Type,
    /// Columns whose values the library gives as bytes or numbers alone.
    special: HashMap<String, Special>,
}

impl Documents {
    /// Opens the file and reads its footer. The columns of vectors and ids that `beside` chooses
    /// are left out.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` for what is no Parquet, and files without another column.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, path: &Path, beside: Option<&Wish>) -> Result<Self> {
        let name = path.display().to_string();
        let file = open_parquet(vfs, path, &name)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let mut left_out = Vec::new();
        if let Some(wish) = beside {
            let chosen = Columns::choose(schema, &name, wish)?;
            let leaves = [Some(chosen.vectors), chosen.ids.map(|ids| ids.place)]
                .into_iter()
                .flatten();
            left_out.extend(leaves.map(|leaf| root_of(&schema.column(leaf)).to_owned()));
        }
        let is_left_out = |root: &str| left_out.iter().any(|other| other == root);
        let leaves =
            (0..schema.num_columns()).filter(|leaf| !is_left_out(root_of(&schema.column(*leaf))));
        check_codecs(file.metadata(), leaves)
            .map_err(|words| Error::invalid(format!("{name}: {words}")))?;
        let root = schema.root_schema();
        let kept = root.get_fields().iter();
        let kept = kept.filter(|field| !is_left_out(field.name()));
        let columns = Type::group_type_builder(root.name())
            .with_fields(kept.cloned().collect())
            .build()
            .map_err(|error| failed(&name, &error))?;
        if columns.get_fields().is_empty() {
            return Err(Error::invalid(format!(
                "{name}: has no columns of attributes"
            )));
        }
        let mut special = HashMap::new();
        for leaf in schema.columns() {
            let Some(own) = special_of(leaf) else {
                continue;
            };
            let alone = |other: &&Arc<ColumnDescriptor>| root_of(other) == root_of(leaf);
            if schema.columns().iter().filter(alone).count() > 1 {
                return Err(Error::invalid(format!(
                    "{name}: field '{}': a struct of UUIDs or moments to the nanosecond",
                    leaf.path()
                )));
            }
            special.insert(root_of(leaf).to_owned(), own);
        }
        Ok(Self {
            name,
            file,
            columns,
            special,
        })
    }

    /// Shows the documents of all rows, in order.
    ///
    /// # Errors
    /// `InvalidInput` with row and field; what `visit` gives.
    pub(crate) fn each(
        &self,
        visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>,
    ) -> Result<()> {
        let rows = self.guarded(|| self.file.get_row_iter(Some(self.columns.clone())));
        let mut rows = rows?;
        let mut number = 0;
        while let Some(row) = self.guarded(|| rows.next().transpose())? {
            visit(self.document(number, row)?)?;
            number += 1;
        }
        Ok(())
    }

    /// What the library gives, which asserts where a damaged page leads it astray.
    fn guarded<T>(&self, read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
        let read = catch_unwind(AssertUnwindSafe(read));
        let read = read.map_err(|_| damaged(&self.name, "a page makes no sense"))?;
        read.map_err(|error: ParquetError| failed(&self.name, &error))
    }

    fn document(&self, number: u64, row: Row) -> Result<Map<String, Value>> {
        let mut document = Map::new();
        for (name, field) in row.into_columns() {
            let value = value_of(&field, self.special.get(&name).copied());
            let value = value.map_err(|words| refused(&self.name, number, &name, words))?;
            if !value.is_null() {
                document.insert(name, value);
            }
        }
        Ok(document)
    }
}

fn root_of(leaf: &ColumnDescriptor) -> &str {
    leaf.path().parts().first().map_or("", String::as_str)
}

fn special_of(leaf: &ColumnDescriptor) -> Option<Special> {
    match leaf.logical_type_ref() {
        Some(LogicalType::Uuid) => Some(Special::Uuid),
        Some(LogicalType::Timestamp(own)) if own.unit == TimeUnit::NANOS => Some(Special::Nanos),
        _ => None,
    }
}
