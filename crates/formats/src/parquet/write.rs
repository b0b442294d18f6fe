//! Answers of searches, and vectors with their ids, as Parquet files.
//!
//! ```text
//! answers   query int64  rank int32  id int64  name string  distance float    a row per answer
//! vectors   id int64  vector list<float>                                      a row per vector
//! ```
//!
//! The name is null where a row has none. Ids from 2^63 on are marked as unsigned and come back
//! whole. The file gets its name when it is complete.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::lab::{OpenMode, VfsFile};
use pageway::{Answers, Error, Result, Vfs};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

const ANSWERS: &str = "message answers {
    required int64 query;
    required int32 rank;
    required int64 id (INTEGER(64, false));
    optional binary name (STRING);
    required float distance;
}";
const VECTORS: &str = "message vectors {
    required int64 id (INTEGER(64, false));
    required group vector (LIST) { repeated group list { required float element; } }
}";

/// A file that grows at its end.
struct Appended {
    file: Arc<dyn VfsFile>,
    offset: u64,
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A Parquet file in the making; dropped before it is finished, it leaves nothing.
struct Growing {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    partial: PathBuf,
    file: Arc<dyn VfsFile>,
    writer: SerializedFileWriter<Appended>,
    complete: bool,
}

impl Growing {
    fn create(vfs: &Arc<dyn Vfs>, path: &Path, schema: &str) -> Result<Self> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if vfs.exists(&partial)? {
            vfs.remove_file(&partial)?;
        }
        let file = vfs
            .open(&partial, OpenMode::CreateNew)
            .map_err(|error| Error::from(error).within(path.display()))?;
        let compression = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let schema = parse_message_type(schema).map_err(|error| failed(path, error))?;
        let appended = Appended {
            file: Arc::clone(&file),
            offset: 0,
        };
        let properties = Arc::new(compression.build());
        let writer = SerializedFileWriter::new(appended, Arc::new(schema), properties);
        Ok(Self {
            vfs: Arc::clone(vfs),
            path: path.to_owned(),
            partial,
            file,
            writer: writer.map_err(|error| failed(path, error))?,
            complete: false,
        })
    }

    /// Adds a row group.
    fn group(
        &mut self,
        write: impl FnOnce(&mut SerializedRowGroupWriter<'_, Appended>) -> Written,
    ) -> Result<()> {
        let path = &self.path;
        let mut group = self
            .writer
            .next_row_group()
            .map_err(|error| failed(path, error))?;
        let written = write(&mut group).and_then(|()| group.close().map(drop));
        written.map_err(|error| failed(path, error))
    }

    fn finish(mut self) -> Result<()> {
        let finished = self.writer.finish().map(drop);
        finished.map_err(|error| failed(&self.path, error))?;
        self.file.sync_data()?;
        self.vfs.rename(&self.partial, &self.path)?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if !self.complete {
            let _ = self.vfs.remove_file(&self.partial);
        }
    }
}

/// Levels of a column whose values are all there.
const REQUIRED: (Option<&[i16]>, Option<&[i16]>) = (None, None);

type Written = parquet::errors::Result<()>;

/// Writes the next column: values, which of them are there, and for lists how they nest.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Appended>,
    values: &[T::T],
    (definitions, repetitions): (Option<&[i16]>, Option<&[i16]>),
) -> Written {
    let next = group.next_column()?;
    let mut writer = next.ok_or_else(|| ParquetError::General("no column is left".to_owned()))?;
    writer
        .typed::<T>()
        .write_batch(values, definitions, repetitions)?;
    writer.close()
}

fn failed(path: &Path, error: ParquetError) -> Error {
    let place = path.display();
    let ParquetError::External(source) = error else {
        return Error::invalid(format!("{place}: {error}"));
    };
    match source.downcast::<io::Error>() {
        Ok(error) => Error::from(*error).within(place),
        Err(error) => Error::invalid(format!("{place}: {error}")),
    }
}

/// Answers of searches on their way into a Parquet file.
pub struct AnswersFile(Growing);

impl AnswersFile {
    /// Begins a file.
    ///
    /// # Errors
    /// `Io`.
    pub fn create(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        Growing::create(vfs, path, ANSWERS).map(Self)
    }

    /// Adds the answers of the queries that come next, from `first` on, as a row group.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub fn put(&mut self, first: u64, answers: &Answers) -> Result<()> {
        let (mut queries, mut ranks) = (Vec::new(), Vec::new());
        let (mut ids, mut distances) = (Vec::new(), Vec::new());
        let (mut names, mut has_name) = (Vec::new(), Vec::new());
        for (query, lims) in (first as i64..).zip(answers.lims.windows(2)) {
            let [begin, end] = lims else { continue };
            let found = answers.ids.get(*begin..*end).unwrap_or_default();
            let near = answers.distances.get(*begin..*end).unwrap_or_default();
            let found = (*begin..*end).zip(found).zip(near);
            let there = found.filter(|(_, near)| near.is_finite());
            for (rank, ((at, id), distance)) in (1..).zip(there) {
                queries.push(query);
                ranks.push(rank);
                ids.push(*id as i64);
                distances.push(*distance);
                let name = answers.names.get(at).and_then(Option::as_deref);
                has_name.push(i16::from(name.is_some()));
                names.extend(name.map(ByteArray::from));
            }
        }
        self.0.group(|group| {
            column::<Int64Type>(group, &queries, REQUIRED)?;
            column::<Int32Type>(group, &ranks, REQUIRED)?;
            column::<Int64Type>(group, &ids, REQUIRED)?;
            column::<ByteArrayType>(group, &names, (Some(&has_name), None))?;
            column::<FloatType>(group, &distances, REQUIRED)
        })
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

/// Vectors with their ids on their way into a Parquet file.
pub struct VectorsFile(Growing);

impl VectorsFile {
    /// Begins a file.
    ///
    /// # Errors
    /// `Io`.
    pub fn create(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        Growing::create(vfs, path, VECTORS).map(Self)
    }

    /// Adds vectors of one dimension, one after the other, as a row group.
    ///
    /// # Errors
    /// `InvalidInput` when components and ids do not fit; `NoSpace`; `Io`.
    pub fn put(&mut self, ids: &[u64], components: &[f32]) -> Result<()> {
        let dimension = components.len().checked_div(ids.len()).unwrap_or(0);
        if dimension * ids.len() != components.len() || dimension == 0 {
            return Err(Error::invalid("vectors and ids do not fit"));
        }
        let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
        let definitions = vec![1; components.len()];
        let nests = |at: usize| i16::from(!at.is_multiple_of(dimension));
        let repetitions: Vec<i16> = (0..components.len()).map(nests).collect();
        self.0.group(|group| {
            column::<Int64Type>(group, &ids, REQUIRED)?;
            column::<FloatType>(group, components, (Some(&definitions), Some(&repetitions)))
        })
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}
