//! Rows in order become a source that can be read in any: in memory, or in a file.
//!
//! The file loses its name as soon as it is open, so that nothing is left of it whatever ends the
//! process. It is whole by then; while it is written it has the suffix `.partial`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pageway::lab::OpenMode;
use pageway::source::{
    IdRead, IdSlice, NarrowedVectors, OpenAs, VectorFile, VectorFileWriter, VectorSlice, open_ids,
};
use pageway::{ElementType, Error, Progress, Result, VectorRead, VectorShape, Vfs};

use crate::library::{Found, Origin, RunIds, Runs};
use crate::open::Wish;
use crate::stream::{Batch, RowStream};

/// Bytes of rows that are held.
const HELD_BYTES: usize = 16 << 20;

/// A file that is open: its vectors, and ids where it has some.
pub struct Opened {
    /// The vectors.
    pub vectors: Vectors,
    /// An id per vector.
    pub ids: Option<Box<dyn IdRead>>,
    /// The library and kind of index that they are from, if they are.
    pub origin: Option<Origin>,
}

impl From<Found> for Opened {
    fn from(found: Found) -> Self {
        let ids = found
            .ids
            .map(|ids| Box::new(RunIds(ids)) as Box<dyn IdRead>);
        let rows = Rows::Runs(found.rows, found.shape);
        Self {
            vectors: Vectors {
                name: found.name,
                rows,
            },
            ids,
            origin: Some(found.origin),
        }
    }
}

/// Vectors that can be read in any order.
pub struct Vectors {
    name: String,
    rows: Rows,
}

enum Rows {
    File(VectorFile),
    Held(Vec<u8>, VectorShape),
    Runs(Runs, VectorShape),
    Rounded(NarrowedVectors<'static>),
}

impl From<VectorFile> for Vectors {
    fn from(file: VectorFile) -> Self {
        Self {
            name: file.name().to_owned(),
            rows: Rows::File(file),
        }
    }
}

impl Vectors {
    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same vectors, rounded to `element` whenever they are read.
    ///
    /// # Errors
    /// `InvalidInput` unless both types are floats.
    pub fn rounded_to(self, element: ElementType) -> Result<Self> {
        let name = self.name.clone();
        let rows = Rows::Rounded(NarrowedVectors::new(Box::new(self), &name, element)?);
        Ok(Self { name, rows })
    }

    /// How far rounding moved a vector that was read, at most, as a share of its length; `None`
    /// where they are read as they are.
    pub fn worst_error(&self) -> Option<f32> {
        match &self.rows {
            Rows::Rounded(rows) => Some(rows.worst_error()),
            Rows::File(_) | Rows::Held(..) | Rows::Runs(..) => None,
        }
    }
}

impl VectorRead for Vectors {
    fn count(&self) -> u64 {
        match &self.rows {
            Rows::File(file) => file.count(),
            Rows::Held(rows, shape) => (rows.len() / shape.row_bytes()) as u64,
            Rows::Runs(rows, _) => rows.count(),
            Rows::Rounded(rows) => rows.count(),
        }
    }

    fn shape(&self) -> VectorShape {
        match &self.rows {
            Rows::File(file) => file.shape(),
            Rows::Held(_, shape) | Rows::Runs(_, shape) => *shape,
            Rows::Rounded(rows) => rows.shape(),
        }
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        match &self.rows {
            Rows::File(file) => file.read(first, out),
            Rows::Held(rows, shape) => VectorSlice::new(rows, *shape)?.read(first, out),
            Rows::Runs(rows, _) => rows.read_rows(first, out),
            Rows::Rounded(rows) => rows.read(first, out),
        }
    }
}

/// Ids that are held.
struct HeldIds(String, Vec<u64>);

impl IdRead for HeldIds {
    fn name(&self) -> &str {
        &self.0
    }

    fn count(&self) -> u64 {
        self.1.len() as u64
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        IdSlice(&self.1).read(first, out)
    }
}

/// Reads `stream` to its end.
pub(crate) fn gather(
    vfs: &Arc<dyn Vfs>,
    stream: &mut dyn RowStream,
    name: String,
    wish: &Wish,
    progress: &dyn Progress,
) -> Result<Opened> {
    let first = stream.next_batch()?;
    let first = first.ok_or_else(|| Error::invalid(format!("{name}: has no vectors")))?;
    let shape = VectorShape {
        dimension: first.dimension,
        element: stream.element(),
    };
    VectorSlice::new(&first.rows, shape).map_err(|error| error.within(&name))?;
    progress.stage("read rows", stream.count().unwrap_or(0));
    let place = Place { vfs, wish };
    let mut gathering = Gathering::new(name, shape, !first.ids.is_empty());
    let mut next = Some(first);
    while let Some(batch) = next {
        progress.check()?;
        progress.advance((batch.rows.len() / shape.row_bytes()) as u64);
        gathering.add(&batch, &place, stream.count())?;
        next = stream.next_batch()?;
    }
    gathering.finish(&place)
}

/// Where a file may be made.
struct Place<'p> {
    vfs: &'p Arc<dyn Vfs>,
    wish: &'p Wish,
}

impl Place<'_> {
    fn path(&self, ending: &str) -> PathBuf {
        let process = std::process::id();
        let name = format!(".pageway-rows-{process}-{:p}.{ending}", self.wish);
        self.wish.scratch.join(name)
    }
}

/// Rows and ids so far.
struct Gathering {
    name: String,
    shape: VectorShape,
    has_ids: bool,
    rows: Vec<u8>,
    ids: Vec<u64>,
    writer: Option<VectorFileWriter>,
}

impl Gathering {
    fn new(name: String, shape: VectorShape, has_ids: bool) -> Self {
        Self {
            name,
            shape,
            has_ids,
            rows: Vec::new(),
            ids: Vec::new(),
            writer: None,
        }
    }

    fn add(&mut self, batch: &Batch, place: &Place<'_>, count: Option<u64>) -> Result<()> {
        if batch.dimension != self.shape.dimension || batch.ids.is_empty() == self.has_ids {
            return Err(Error::invalid(format!(
                "{}: rows differ in what they hold",
                self.name
            )));
        }
        self.ids.extend(&batch.ids);
        if let Some(writer) = &mut self.writer {
            return writer.write(&batch.rows);
        }
        self.rows.extend_from_slice(&batch.rows);
        if self.rows.len() > HELD_BYTES {
            let expected = count.unwrap_or((self.rows.len() / self.shape.row_bytes()) as u64);
            let path = place.path("npy");
            let mut writer = VectorFileWriter::create(place.vfs, &path, self.shape, expected)?;
            writer.write(&std::mem::take(&mut self.rows))?;
            self.writer = Some(writer);
        }
        Ok(())
    }

    fn finish(self, place: &Place<'_>) -> Result<Opened> {
        let spilled = self.writer.is_some();
        let rows = match self.writer {
            None => Rows::Held(self.rows, self.shape),
            Some(writer) => {
                writer.finish()?;
                let path = place.path("npy");
                let element = Some(self.shape.element);
                let file = VectorFile::open(place.vfs, &path, OpenAs { element });
                place.vfs.remove_file(&path)?;
                Rows::File(file?)
            }
        };
        let name = self.name;
        let ids: Option<Box<dyn IdRead>> = match (self.has_ids, spilled) {
            (false, _) => None,
            (true, false) => Some(Box::new(HeldIds(name.clone(), self.ids))),
            (true, true) => Some(ids_in_file(&self.ids, place)?),
        };
        let vectors = Vectors { name, rows };
        Ok(Opened {
            vectors,
            ids,
            origin: None,
        })
    }
}

/// Ids by way of a file, so that memory is the build's.
fn ids_in_file(ids: &[u64], place: &Place<'_>) -> Result<Box<dyn IdRead>> {
    let path = place.path("u64bin");
    let file = place.vfs.open(&path, OpenMode::CreateNew)?;
    let rows =
        u32::try_from(ids.len()).map_err(|_| Error::invalid("more rows than an index has"))?;
    let header: Vec<u8> = [rows, 1].into_iter().flat_map(u32::to_le_bytes).collect();
    let mut offset = header.len() as u64;
    let mut written = file.write_all_at(&header, 0);
    for run in ids.chunks(1 << 16) {
        let bytes: Vec<u8> = run.iter().flat_map(|id| id.to_le_bytes()).collect();
        written = written.and_then(|()| file.write_all_at(&bytes, offset));
        offset += bytes.len() as u64;
    }
    let opened = written.map_err(Error::from);
    let opened = opened.and_then(|()| open_ids(place.vfs, &path));
    place.vfs.remove_file(&path)?;
    opened
}
