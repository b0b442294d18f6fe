//! Rows of a Parquet file, row group after row group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use half::f16;
use pageway::{ElementType, Error, Result, Vfs};
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::bytes::Chunks;
use super::columns::{Columns, IdColumn};
use crate::number::put;
use crate::open::Wish;
use crate::reader::open_file;
use crate::stream::{Batch, RowStream, rows_per_batch};

/// Vectors of a Parquet file. Holds a page of each column and a batch.
pub(crate) struct ParquetRows {
    name: String,
    file: SerializedFileReader<Chunks>,
    columns: Columns,
    count: u64,
    group: usize,
    open: Option<Group>,
    dimension: Option<u32>,
    /// Rows read so far.
    row: u64,
}

/// The columns of a row group.
struct Group {
    vectors: ColumnReader,
    ids: Option<ColumnReader>,
}

/// Components of some records, with where records begin and which components are there.
#[derive(Default)]
struct Lists {
    values: Vec<f64>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    records: usize,
}

impl ParquetRows {
    /// Opens the file and reads its footer.
    pub(crate) fn open(vfs: &Arc<dyn Vfs>, path: &Path, wish: &Wish) -> Result<Self> {
        let name = path.display().to_string();
        let file = open_parquet(vfs, path, &name)?;
        let metadata = file.metadata().file_metadata();
        let columns = Columns::choose(metadata.schema_descr(), &name, wish)?;
        let count = metadata.num_rows().max(0) as u64;
        let leaves = [Some(columns.vectors), columns.ids.map(|ids| ids.place)];
        check_codecs(file.metadata(), leaves.into_iter().flatten())
            .map_err(|words| Error::invalid(format!("{name}: {words}")))?;
        Ok(Self {
            name,
            file,
            columns,
            count,
            group: 0,
            open: None,
            dimension: None,
            row: 0,
        })
    }

    /// The columns of the row group at hand, or of the next; `None` behind the last.
    fn group(&mut self) -> Result<Option<&mut Group>> {
        if self.open.is_none() {
            if self.group >= self.file.num_row_groups() {
                return Ok(None);
            }
            let refuse = |error: ParquetError| failed(&self.name, &error);
            let group = self.file.get_row_group(self.group).map_err(refuse)?;
            let column = |at: usize| group.get_column_reader(at).map_err(refuse);
            self.open = Some(Group {
                vectors: column(self.columns.vectors)?,
                ids: self.columns.ids.map(|ids| column(ids.place)).transpose()?,
            });
            self.group += 1;
        }
        Ok(self.open.as_mut())
    }

    /// The records of `lists` as rows.
    fn batch(&mut self, lists: &Lists, ids: Vec<u64>) -> Result<Batch> {
        let starts = lists.repetitions.iter().skip(1);
        let first = 1 + starts.take_while(|level| **level != 0).count();
        let dimension = *self.dimension.get_or_insert(first as u32);
        self.check(lists, dimension as usize)?;
        let (element, components) = if self.columns.is_packed {
            (ElementType::U8, dimension * 8)
        } else {
            (self.columns.element, dimension)
        };
        let mut rows = Vec::with_capacity(element.bytes_of(lists.values.len()));
        for (row, values) in (self.row..).zip(lists.values.chunks(dimension as usize)) {
            put(values, element, &mut rows).map_err(|at| {
                let value = values.get(at).copied().unwrap_or_default();
                self.refuse(row, format!("holds {value}, which is no {element}"))
            })?;
        }
        self.row += lists.records as u64;
        Ok(Batch {
            dimension: components,
            rows,
            ids,
        })
    }

    /// Every record has `dimension` components, and all of them are there.
    fn check(&self, lists: &Lists, dimension: usize) -> Result<()> {
        let mut row = self.row;
        let mut length = 0;
        let levels = lists.repetitions.iter().zip(&lists.definitions);
        for (place, (repetition, definition)) in levels.enumerate() {
            if *repetition == 0 && place > 0 {
                self.check_length(row, length, dimension)?;
                row += 1;
                length = 0;
            }
            if *definition < self.columns.level {
                return Err(self.refuse(row, "has no vector, or one with a component missing"));
            }
            length += 1;
        }
        self.check_length(row, length, dimension)
    }

    fn check_length(&self, row: u64, length: usize, dimension: usize) -> Result<()> {
        if length == dimension {
            return Ok(());
        }
        let words = format!("has {length} components, the rows before it have {dimension}");
        Err(self.refuse(row, words))
    }

    /// Ids that are there and not negative.
    fn whole(&self, read: &IdBatch, column: IdColumn, records: usize) -> Result<Vec<u64>> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let path = schema.column(column.place).path().string();
        let mut levels = read.definitions.iter();
        if let Some(at) = levels.position(|level| *level < column.level) {
            let words = format!("has no id: column '{path}' is null there");
            return Err(self.refuse(self.row + at as u64, words));
        }
        if read.signed.len() != records {
            return Err(damaged(&self.name, "fewer ids than rows"));
        }
        let mut ids = Vec::with_capacity(records);
        for (row, id) in (self.row..).zip(&read.signed) {
            if *id < 0 && !column.is_unsigned {
                let words = format!(
                    "has {id} in column '{path}': ids are whole numbers from 0 to 2^64 - 2"
                );
                return Err(self.refuse(row, words));
            }
            let unused = u64::BITS - read.bits;
            ids.push((*id as u64) << unused >> unused);
        }
        Ok(ids)
    }

    fn refuse(&self, row: u64, words: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}: row {row} {words}", self.name))
    }
}

impl RowStream for ParquetRows {
    fn element(&self) -> ElementType {
        self.columns.element
    }

    fn count(&self) -> Option<u64> {
        Some(self.count)
    }

    fn next_batch(&mut self) -> Result<Option<Batch>> {
        // The library asserts where a damaged page leads it astray.
        let read = catch_unwind(AssertUnwindSafe(|| self.next_rows()));
        read.unwrap_or_else(|_| Err(damaged(&self.name, "a page makes no sense")))
    }
}

impl ParquetRows {
    fn next_rows(&mut self) -> Result<Option<Batch>> {
        let rows = rows_per_batch(self.dimension);
        let name = self.name.clone();
        loop {
            let Some(group) = self.group()? else {
                return Ok(None);
            };
            let mut lists = Lists::default();
            let read = lists.read(&mut group.vectors, rows);
            read.map_err(|error| failed(&name, &error))?;
            if lists.records == 0 {
                self.open = None;
                continue;
            }
            let read = group
                .ids
                .as_mut()
                .map(|ids| IdBatch::read(ids, lists.records));
            let read = read.transpose().map_err(|error| failed(&name, &error))?;
            let ids = match (read, self.columns.ids) {
                (Some(read), Some(column)) => self.whole(&read, column, lists.records)?,
                (None, _) | (_, None) => Vec::new(),
            };
            return self.batch(&lists, ids).map(Some);
        }
    }
}

impl Lists {
    fn read(&mut self, reader: &mut ColumnReader, records: usize) -> parquet::errors::Result<()> {
        match reader {
            ColumnReader::BoolColumnReader(own) => {
                self.read_as(own, records, |v| f64::from(u8::from(*v)))
            }
            ColumnReader::FloatColumnReader(own) => self.read_as(own, records, |v| (*v).into()),
            ColumnReader::DoubleColumnReader(own) => self.read_as(own, records, |v| *v),
            ColumnReader::Int32ColumnReader(own) => self.read_as(own, records, |v| (*v).into()),
            ColumnReader::Int64ColumnReader(own) => self.read_as(own, records, |v| *v as f64),
            ColumnReader::FixedLenByteArrayColumnReader(own) => {
                self.read_as(own, records, |value| {
                    let bytes = value.data().first_chunk::<2>().copied();
                    f16::from_le_bytes(bytes.unwrap_or_default()).into()
                })
            }
            ColumnReader::Int96ColumnReader(_) | ColumnReader::ByteArrayColumnReader(_) => {
                Err(ParquetError::General("holds no numbers".to_owned()))
            }
        }
    }

    fn read_as<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        records: usize,
        widen: impl Fn(&T::T) -> f64,
    ) -> parquet::errors::Result<()> {
        let mut values = Vec::new();
        let levels = (&mut self.definitions, &mut self.repetitions);
        (self.records, _, _) =
            reader.read_records(records, Some(levels.0), Some(levels.1), &mut values)?;
        self.values.extend(values.iter().map(widen));
        Ok(())
    }
}

/// Ids of some records, as they lie.
#[derive(Default)]
struct IdBatch {
    /// Those that are there.
    signed: Vec<i64>,
    definitions: Vec<i16>,
    /// Bits that each was stored with.
    bits: u32,
}

impl IdBatch {
    fn read(reader: &mut ColumnReader, records: usize) -> parquet::errors::Result<Self> {
        let mut found = Self::default();
        let levels = &mut found.definitions;
        match reader {
            ColumnReader::Int64ColumnReader(own) => {
                own.read_records(records, Some(levels), None, &mut found.signed)?;
                found.bits = i64::BITS;
            }
            ColumnReader::Int32ColumnReader(own) => {
                let mut ids: Vec<i32> = Vec::new();
                own.read_records(records, Some(levels), None, &mut ids)?;
                found.signed = ids.into_iter().map(i64::from).collect();
                found.bits = i32::BITS;
            }
            ColumnReader::BoolColumnReader(_)
            | ColumnReader::Int96ColumnReader(_)
            | ColumnReader::FloatColumnReader(_)
            | ColumnReader::DoubleColumnReader(_)
            | ColumnReader::ByteArrayColumnReader(_)
            | ColumnReader::FixedLenByteArrayColumnReader(_) => {}
        }
        Ok(found)
    }
}

/// Opens a file and reads its footer.
pub(super) fn open_parquet(
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    name: &str,
) -> Result<SerializedFileReader<Chunks>> {
    let file = open_file(vfs, path)?;
    let length = file
        .len()
        .map_err(|error| Error::from(error).within(name))?;
    let reader = SerializedFileReader::new(Chunks { file, length });
    let reader = reader.map_err(|error| failed(name, &error))?;
    check_places(reader.metadata(), length).map_err(|words| damaged(name, words))?;
    Ok(reader)
}

/// Refuses parts of columns that do not lie inside the file: the library would assert.
fn check_places(metadata: &ParquetMetaData, length: u64) -> std::result::Result<(), &'static str> {
    let parts = metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns);
    for part in parts {
        let first = part
            .dictionary_page_offset()
            .unwrap_or_else(|| part.data_page_offset());
        let end = u64::try_from(first)
            .ok()
            .zip(u64::try_from(part.compressed_size()).ok())
            .and_then(|(first, bytes)| first.checked_add(bytes));
        if part.data_page_offset() < 0 || end.is_none_or(|end| end > length) {
            return Err("a part of a column lies outside of the file");
        }
    }
    Ok(())
}

/// Compression that is undone.
const CODECS: &str = if cfg!(feature = "zstd") {
    "gzip, LZ4, snappy and zstd"
} else {
    "gzip, LZ4 and snappy"
};

/// Refuses columns that are compressed in a way that is not undone, by the places of their leaves.
pub(super) fn check_codecs(
    metadata: &ParquetMetaData,
    leaves: impl Iterator<Item = usize>,
) -> std::result::Result<(), String> {
    let groups = metadata.row_groups();
    for part in leaves.flat_map(|leaf| groups.iter().filter_map(move |one| one.columns().get(leaf)))
    {
        let codec = match part.compression() {
            Compression::BROTLI(_) => "brotli",
            Compression::LZO => "LZO",
            Compression::ZSTD(_) if !cfg!(feature = "zstd") => "zstd",
            Compression::UNCOMPRESSED
            | Compression::SNAPPY
            | Compression::GZIP(_)
            | Compression::LZ4
            | Compression::LZ4_RAW
            | Compression::ZSTD(_) => continue,
        };
        let column = part.column_path();
        return Err(format!(
            "column {column} is compressed with {codec}, which is not read; {CODECS} are: write \
             the file with one of these, or without compression"
        ));
    }
    Ok(())
}

pub(super) fn damaged(name: &str, words: &str) -> Error {
    Error::invalid(format!("{name}: cannot be read as Parquet: {words}"))
}

pub(super) fn failed(name: &str, error: &ParquetError) -> Error {
    Error::invalid(format!("{name}: cannot be read as Parquet: {error}"))
}

#[cfg(test)]
mod tests {
    use parquet::basic::{BrotliLevel, GzipLevel};
    use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    /// Of a file with two columns, compressed so.
    fn metadata(codecs: [Compression; 2]) -> ParquetMetaData {
        let root = parse_message_type("message m { required int64 a; required int64 b; }");
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(root.unwrap())));
        let parts = codecs.iter().enumerate().map(|(at, codec)| {
            let part = ColumnChunkMetaData::builder(schema.column(at));
            part.set_compression(*codec).build().unwrap()
        });
        let group = RowGroupMetaData::builder(Arc::clone(&schema));
        let group = group.set_column_metadata(parts.collect()).build().unwrap();
        let file = FileMetaData::new(1, 0, None, None, schema, None);
        ParquetMetaData::new(file, vec![group])
    }

    #[test]
    fn compression_that_is_not_undone_is_named_where_it_is_read() {
        let brotli = Compression::BROTLI(BrotliLevel::default());
        let mixed = metadata([Compression::GZIP(GzipLevel::default()), brotli]);
        assert_eq!(check_codecs(&mixed, [0].into_iter()), Ok(()));
        let words = check_codecs(&mixed, [0, 1].into_iter()).unwrap_err();
        assert!(
            words.contains("column \"b\" is compressed with brotli"),
            "{words}"
        );
        assert!(words.contains("gzip"), "{words}");
        assert!(check_codecs(&metadata([Compression::LZO; 2]), 0..2).is_err());
    }
}
