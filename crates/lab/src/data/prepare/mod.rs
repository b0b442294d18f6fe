//! From a data set and a cut to files that can be measured with: base, queries, exact truth.
//!
//! ```text
//! parts    rows and dimensions of vectors -> a file     truth   published or computed neighbours
//! record   what was made, and from what                 fit     is a truth of these vectors
//! first    the first queries alone, or a deeper truth
//! ```
//!
//! Files that are right as they are stay where they are; others are made in the directory of the
//! cut. The record is written last: without it, or when a file it came from changed, all is made
//! again.

mod first;
mod fit;
mod parts;
mod record;
mod truth;

use std::path::PathBuf;

use pageway::source::VectorFile;
use pageway::{Error, ErrorKind, Metric, Progress, Result, VectorRead};
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::entry::{DataSet, QuerySource};
use super::header::header;
use super::obtain::{Obtain, Role};
use super::place::Place;
use crate::files;
use parts::FilePart;

pub use first::{Workload, first_queries};
pub(super) use truth::Held;

/// Neighbours that a truth has at least, where the base has as many rows.
const DEPTH: u32 = 100;

/// Files that are ready to be measured with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Prepared {
    /// Name of the set and, behind `@`, the cut: `photo@300000x64d`. Names no two parts alike.
    pub name: String,
    /// Vectors.
    pub base: PathBuf,
    /// Queries, of the same shape.
    pub queries: PathBuf,
    /// Exact neighbours of the queries in `base` and their distances, at least 100 each where there
    /// are as many.
    pub truth: PathBuf,
    /// Distance.
    pub metric: Metric,
    /// Rows of `base`.
    pub rows: u64,
    /// Dimensions.
    pub dimensions: u32,
    /// Bytes of the raw vectors.
    pub raw_bytes: u64,
}

/// Gives the files of a part of a data set, from the cache of `place` when they are there.
///
/// Else fetches what is missing, copies the part, and computes neighbours where none are published
/// for it: `rows * queries` distances. Holds the queries and `place.memory_bytes`.
///
/// # Errors
/// As [`super::fetch()`]; `InvalidInput` for a cut that is more than the set, for files that are
/// not as the entry says, queries of another dimension, and a truth of other vectors; `NoSpace`.
pub fn prepare(
    set: &DataSet,
    cut: Cut,
    place: &Place,
    progress: &dyn Progress,
) -> Result<Prepared> {
    let cut = proper(set, cut);
    let name = format!("{}{}", set.name, cut.suffix());
    let work = Work {
        obtain: Obtain {
            set,
            place,
            progress,
        },
        cut,
        directory: place.ready(&name),
        name,
    };
    let stamp = record::stamp(set, cut)?;
    if let Some(ready) = record::read(&work.directory, &stamp)? {
        return Ok(ready);
    }
    files::create_directory(&work.directory)?;
    let _lock = files::lock(&work.directory.join("lock"), "preparing this set")?;
    let made = work.make()?;
    record::write(&work.directory, &stamp, &made)?;
    Ok(made)
}

/// A cut without what is no cut of this set.
fn proper(set: &DataSet, cut: Cut) -> Cut {
    Cut {
        rows: cut.rows.filter(|rows| Some(*rows) != set.rows),
        dimensions: cut.dimensions.filter(|part| Some(*part) != set.dimension),
    }
}

/// Bytes of vectors that preparing a part of a data set would still write, about: what is fetched,
/// and the copy of a part.
///
/// # Errors
/// As a file of the set cannot be read.
pub fn missing_bytes(set: &DataSet, cut: Cut, place: &Place) -> Result<u64> {
    let cut = proper(set, cut);
    let directory = place.ready(&format!("{}{}", set.name, cut.suffix()));
    let ready = record::read(&directory, &record::stamp(set, cut)?)?.is_some();
    let Some(header) = header(set, cut)?.filter(|_| !ready) else {
        return Ok(0);
    };
    let copied = cut != Cut::default() || set.held_out() > 0;
    let copies = u64::from(!set.is_local()) + u64::from(copied);
    Ok(copies * header.rows * header.shape.row_bytes() as u64)
}

/// A cut on its way.
struct Work<'a> {
    obtain: Obtain<'a>,
    cut: Cut,
    name: String,
    directory: PathBuf,
}

impl Work<'_> {
    fn make(&self) -> Result<Prepared> {
        let set = self.obtain.set;
        let base_path = self.base()?;
        let base = files::open_vectors(&base_path, set.element)?;
        let queries_path = self.queries(&base)?;
        let queries = files::open_vectors(&queries_path, set.element)?;
        let truth = self.truth(&base, &queries)?;
        Ok(Prepared {
            name: self.name.clone(),
            base: base_path,
            queries: queries_path,
            truth,
            metric: set.metric,
            rows: base.count(),
            dimensions: base.shape().dimension,
            raw_bytes: base.count() * base.shape().row_bytes() as u64,
        })
    }

    /// The file of the base as it is published, or its first rows.
    fn whole_base(&self) -> Result<PathBuf> {
        let held = self.obtain.set.held_out();
        let rows = self.cut.rows.map(|rows| rows + held);
        (self.obtain).plain(&self.obtain.set.base, Role::Base, rows)
    }

    fn base(&self) -> Result<PathBuf> {
        let set = self.obtain.set;
        let path = self.whole_base()?;
        let whole = files::open_vectors(&path, set.element)?;
        self.check(&whole)?;
        let held = set.held_out();
        let rows = self.cut.rows.unwrap_or(whole.count() - held);
        let dimensions = self.cut.dimensions.unwrap_or(whole.shape().dimension);
        let part = FilePart {
            from: &path,
            vectors: &whole,
            rows: held..held + rows,
            dimensions,
            element: whole.shape().element,
        };
        part.write(&self.directory, &self.name, self.obtain.progress)
    }

    /// Compares the file with the entry and with the cut.
    fn check(&self, whole: &VectorFile) -> Result<()> {
        let set = self.obtain.set;
        let (shape, count) = (whole.shape(), whole.count());
        let wrong = |what: String| Err(Error::invalid(format!("{}: {what}", whole.name())));
        if let Some(stated) = set.dimension.filter(|stated| *stated != shape.dimension) {
            return wrong(format!(
                "has dimension {}, the entry says {stated}",
                shape.dimension
            ));
        }
        if let Some(stated) = set.element.filter(|stated| *stated != shape.element) {
            return wrong(format!(
                "has elements {}, the entry says {stated}",
                shape.element
            ));
        }
        let available = count.saturating_sub(set.held_out());
        let rows = self.cut.rows.or(set.rows).unwrap_or(available);
        if available == 0 || rows > available || rows == 0 {
            let held = set.held_out();
            return wrong(format!("has {count} rows, {held} + {rows} were asked for"));
        }
        if self.cut.rows.is_none() && rows < available {
            return wrong(format!(
                "has {available} rows of base, the entry says {rows}"
            ));
        }
        match self.cut.dimensions {
            Some(part) if part == 0 || part > shape.dimension => {
                wrong(format!("has dimension {}, not {part}", shape.dimension))
            }
            _ => Ok(()),
        }
    }

    fn queries(&self, base: &VectorFile) -> Result<PathBuf> {
        let set = self.obtain.set;
        let (path, limit) = match &set.queries {
            QuerySource::HeldOut { held_out } => (self.whole_base()?, Some(*held_out)),
            QuerySource::File(file) => (self.obtain.plain(file, Role::Queries, None)?, file.rows),
        };
        let whole = files::open_vectors(&path, set.element)?;
        let dimension = whole.shape().dimension;
        let fits = match self.cut.dimensions {
            Some(part) => set.dimension.is_none_or(|all| all == dimension) && part <= dimension,
            None => dimension == base.shape().dimension,
        };
        if !fits {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "{}: queries of another dimension than the base",
                    path.display()
                ),
            ));
        }
        let part = FilePart {
            from: &path,
            vectors: &whole,
            rows: 0..limit.map_or(whole.count(), |limit| limit.min(whole.count())),
            dimensions: base.shape().dimension,
            element: base.shape().element,
        };
        let name = format!("{}.queries", self.name);
        part.write(&self.directory, &name, self.obtain.progress)
    }

    /// Published neighbours that will do, or computed ones.
    fn truth(&self, base: &VectorFile, queries: &VectorFile) -> Result<PathBuf> {
        let want = truth::Want {
            base,
            queries,
            metric: self.obtain.set.metric,
            depth: DEPTH,
            to: &self.directory.join(format!("{}.truth.ibin", self.name)),
        };
        if let Some(file) = super::obtain::published_truth(self.obtain.set, self.cut) {
            let path = self.obtain.plain(file, Role::Truth, None)?;
            if let Some(path) = want.adopt(&path, self.obtain.progress)? {
                return Ok(path);
            }
        }
        want.compute(self.obtain.place, self.obtain.progress)
    }
}
