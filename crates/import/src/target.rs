//! An index that points go into.

use std::path::{Path, PathBuf};

use pageway::source::{TextRead, TextSlice};
use pageway::{CreateOptions, Error, OsVfs, Progress, Result, Rows, Vfs, Writer};

use crate::arguments::IndexArguments;
use crate::collection::Dense;
use crate::point::{Key, Page};

/// An index of the vectors of one name.
pub(crate) struct Target {
    pub(crate) dense: Dense,
    pub(crate) dir: PathBuf,
    pub(crate) writer: Writer,
}

/// Rows that are known by ids, or by names.
#[derive(Default)]
struct Group {
    ids: Vec<u64>,
    names: Vec<String>,
    rows: Vec<u8>,
    documents: Vec<String>,
}

impl Target {
    /// Opens the index that an import before this made, or makes it for so many points.
    pub(crate) fn open(
        dense: Dense,
        dir: PathBuf,
        points: u64,
        arguments: &IndexArguments,
    ) -> Result<Self> {
        if !OsVfs.exists(&dir.join("MANIFEST"))? {
            let options = CreateOptions::new(dense.shape, dense.metric)
                .with_memory(arguments.memory_bytes()?)
                .with_expected(points.max(1));
            Writer::create(&dir, &options)?;
        }
        let (open, update) = arguments.opening();
        let writer = Writer::open(&dir, &open, &update)?;
        let own = (writer.index().shape(), writer.index().metric());
        if own != (dense.shape, dense.metric) {
            return Err(Error::invalid(format!(
                "{}: holds {}, {}; the vectors '{}' of the collection are others now: {}, {}",
                dir.display(),
                own.0,
                own.1,
                dense.name,
                dense.shape,
                dense.metric
            )));
        }
        Ok(Self { dense, dir, writer })
    }

    /// Puts the vectors of a page in, durably, and tells how many points have none.
    pub(crate) fn put(&self, page: &Page) -> Result<u64> {
        let (mut numbered, mut named) = (Group::default(), Group::default());
        let mut without = 0;
        for point in &page.points {
            let key = point.key()?;
            let group = match key {
                Key::Id(_) => &mut numbered,
                Key::Name(_) => &mut named,
            };
            if !point.append(&self.dense.name, self.dense.shape, &mut group.rows)? {
                without += 1;
                continue;
            }
            group.documents.push(point.document());
            match key {
                Key::Id(id) => group.ids.push(id),
                Key::Name(name) => group.names.push(name),
            }
        }
        for group in [numbered, named] {
            self.put_group(&group)?;
        }
        self.writer.keep_up()?;
        Ok(without)
    }

    fn put_group(&self, group: &Group) -> Result<()> {
        if group.documents.is_empty() {
            return Ok(());
        }
        let documents = TextSlice::attributes(&group.documents);
        let names = TextSlice::names(&group.names);
        let by_ids = group.names.is_empty();
        let rows = Rows::new(&group.rows, self.dense.shape)
            .with_attributes(Some(&documents as &dyn TextRead))
            .with_ids(by_ids.then_some(group.ids.as_slice()))
            .with_names((!by_ids).then_some(&names as &dyn TextRead));
        self.writer.upsert(&rows)?;
        Ok(())
    }

    /// Makes one segment of all rows, with a design for as many as there are.
    pub(crate) fn finish(&self, progress: &dyn Progress) -> Result<()> {
        if self.writer.changes()?.rows == 0 {
            return Ok(());
        }
        self.writer.merge(true, progress)?;
        Ok(())
    }
}

/// Where the index of each vector goes.
///
/// # Errors
/// A name that is no name of a directory.
pub(crate) fn places(out: &Path, vectors: &[Dense]) -> Result<Vec<PathBuf>> {
    let [_] = vectors else {
        let place = |own: &Dense| {
            let is_plain = !own.name.is_empty()
                && Path::new(&own.name)
                    .file_name()
                    .is_some_and(|file| file == own.name.as_str());
            if is_plain {
                return Ok(out.join(&own.name));
            }
            Err(Error::invalid(format!(
                "the vector '{0}' names no directory: import it alone, with --vector '{0}'",
                own.name
            )))
        };
        return vectors.iter().map(place).collect();
    };
    Ok(vec![out.to_owned()])
}
