//! Exact neighbours of the queries: published ones where they will do, computed ones elsewhere.

use std::path::{Path, PathBuf};

use pageway::source::{VectorFile, VectorSlice};
use pageway::truth::{
    ExactOptions, ExactQuestion, Truth, TruthFile, exact, exact_bytes_min, write_truth,
};
use pageway::{Error, Metric, Progress, Result, VectorRead};

use super::fit;
use crate::data::place::Place;
use crate::files;

/// A truth that is wanted.
pub(super) struct Want<'a> {
    pub(super) base: &'a VectorFile,
    pub(super) queries: &'a VectorFile,
    pub(super) metric: Metric,
    /// Neighbours that it must have, where the base has as many rows.
    pub(super) depth: u32,
    /// Where it goes when it has to be written.
    pub(super) to: &'a Path,
}

impl Want<'_> {
    fn depth(&self) -> usize {
        u64::from(self.depth).min(self.base.count()) as usize
    }

    /// A truth of these queries and perhaps more behind them; none when it is not deep enough.
    fn open(&self, path: &Path) -> Result<Option<TruthFile>> {
        let truth = TruthFile::open(&files::vfs(), path, Some(self.base.count()))?;
        let queries = self.queries.count();
        if truth.query_count() < queries {
            return Err(Error::invalid(format!(
                "{}: has {} queries, the queries are {queries}",
                path.display(),
                truth.query_count()
            )));
        }
        Ok((truth.k() >= self.depth()).then_some(truth))
    }

    /// Takes what was prepared for these queries and perhaps more: as it is, or a copy of their
    /// part. `None` when it is not deep enough.
    pub(super) fn take(&self, path: &Path) -> Result<Option<PathBuf>> {
        let Some(prepared) = self.open(path)? else {
            return Ok(None);
        };
        let queries = self.queries.count();
        if prepared.query_count() == queries {
            return Ok(Some(path.to_owned()));
        }
        self.write(&prepared.read(0, queries as usize)?).map(Some)
    }

    /// Takes a published truth for the queries that are used, with distances as this engine has
    /// them: as it is, or a copy with `queries * k` distances computed. `None` when it is not deep
    /// enough.
    pub(super) fn adopt(&self, path: &Path, progress: &dyn Progress) -> Result<Option<PathBuf>> {
        let Some(published) = self.open(path)? else {
            return Ok(None);
        };
        let queries = self.queries.count();
        let fitting = fit::check(self, &published).map_err(|error| error.within(path.display()))?;
        if fitting.distances && published.query_count() == queries {
            return Ok(Some(path.to_owned()));
        }
        let mut kept = published.read(0, queries as usize)?;
        if !fitting.distances {
            self.measure(&mut kept, progress)?;
        }
        self.write(&kept).map(Some)
    }

    /// Gives neighbours the distances of this engine, and the order that follows.
    fn measure(&self, truth: &mut Truth, progress: &dyn Progress) -> Result<()> {
        progress.stage("distances of the truth", self.queries.count());
        truth.distances = Vec::with_capacity(truth.ids.len());
        for (number, ids) in (0..).zip(truth.ids.chunks_mut(truth.k.max(1))) {
            progress.check()?;
            let rows: Vec<u64> = ids.iter().map(|id| u64::from(*id)).collect();
            let query = Held::gather(self.queries, &[number])?;
            let distances = Held::gather(self.base, &rows)?.distances(&query, self.metric)?;
            let mut list: Vec<(f32, u32)> =
                distances.into_iter().zip(ids.iter().copied()).collect();
            list.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (place, (distance, id)) in ids.iter_mut().zip(list) {
                *place = id;
                truth.distances.push(distance);
            }
            progress.advance(1);
        }
        Ok(())
    }

    /// Computes it by looking at every row.
    pub(super) fn compute(&self, place: &Place, progress: &dyn Progress) -> Result<PathBuf> {
        let held = Held::read(self.queries)?;
        let question = ExactQuestion {
            queries: held.slice()?,
            metric: self.metric,
            k: self.depth(),
            exclude: None,
        };
        let pool = pageway::lab::thread_pool(place.threads)?;
        let options = ExactOptions {
            memory_bytes: place.memory_bytes.max(exact_bytes_min(&question)),
            pool: &pool,
        };
        self.write(&exact(self.base, &question, &options, progress)?)
    }

    fn write(&self, truth: &Truth) -> Result<PathBuf> {
        write_truth(&files::vfs(), self.to, truth)?;
        Ok(self.to.to_owned())
    }
}

/// Vectors in memory.
pub(in crate::data) struct Held {
    bytes: Vec<u8>,
    shape: pageway::VectorShape,
}

impl Held {
    /// All vectors of a file.
    pub(in crate::data) fn read(vectors: &VectorFile) -> Result<Self> {
        let all: Vec<u64> = (0..vectors.count()).collect();
        Self::gather(vectors, &all)
    }

    /// Some rows of a file, in the order that is asked for. Runs of rows are read at once.
    pub(in crate::data) fn gather(vectors: &VectorFile, rows: &[u64]) -> Result<Self> {
        let shape = vectors.shape();
        let row_bytes = shape.row_bytes();
        let mut bytes = vec![0; rows.len() * row_bytes];
        let mut rest = bytes.as_mut_slice();
        for run in rows.chunk_by(|row, next| row + 1 == *next) {
            let (out, behind) = rest.split_at_mut(run.len() * row_bytes);
            vectors.read(run.first().copied().unwrap_or(0), out)?;
            rest = behind;
        }
        Ok(Self { bytes, shape })
    }

    pub(in crate::data) fn slice(&self) -> Result<VectorSlice<'_>> {
        VectorSlice::new(&self.bytes, self.shape)
    }

    /// Distances of a query to these vectors, in their order.
    pub(in crate::data) fn distances(&self, query: &Self, metric: Metric) -> Result<Vec<f32>> {
        let base = self.slice()?;
        let count = base.count() as usize;
        let question = ExactQuestion {
            queries: query.slice()?,
            metric,
            k: count,
            exclude: None,
        };
        let pool = pageway::lab::thread_pool(1)?;
        let options = ExactOptions {
            memory_bytes: exact_bytes_min(&question),
            pool: &pool,
        };
        let found = exact(&base, &question, &options, &pageway::NoProgress)?;
        let mut distances = vec![f32::NAN; count];
        for (id, distance) in found.ids.iter().zip(&found.distances) {
            if let Some(place) = distances.get_mut(*id as usize) {
                *place = *distance;
            }
        }
        Ok(distances)
    }
}
