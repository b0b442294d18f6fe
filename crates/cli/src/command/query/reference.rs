//! What the answers of a call are compared with: a file, a scan of the index, or nothing.

use std::path::Path;

use pageway::source::VectorSlice;
use pageway::truth::{RangeQuestion, TruthFile};
use pageway::{Error, Index, Result, VectorRead};
use pageway_formats::Vectors;

use super::Call;
use crate::exact;
use crate::session::Session;
use crate::system;
use crate::workload::Reference;

/// Memory of a scan: the queries, the results and a block of vectors.
const SCAN_BYTES: u64 = 256 << 20;

impl Call<'_> {
    /// What answers are compared with.
    pub(super) fn reference(
        &self,
        index: &Index,
        queries: &Vectors,
        session: &Session,
    ) -> Result<Reference> {
        match (&self.files.truth, self.options.radius) {
            (_, Some(radius)) if self.scans => self.scan(index, radius, queries, session),
            (None, _) => Ok(Reference::Unknown),
            (Some(path), Some(_)) if is_range(path) => {
                let file = system::open_range_truth(path)?;
                check_count(path, file.query_count(), queries)?;
                Ok(Reference::Ranges(file))
            }
            (Some(path), radius) => {
                let file = system::open_truth(path, None)?;
                check_count(path, file.query_count(), queries)?;
                if radius.is_none() {
                    self.check_k(path, &file)?;
                }
                Ok(Reference::Nearest(file))
            }
        }
    }

    /// Computes the truth from the vectors of the index.
    fn scan(
        &self,
        index: &Index,
        radius: f32,
        queries: &Vectors,
        session: &Session,
    ) -> Result<Reference> {
        let rows = exact::held_queries(queries, &self.files.queries, SCAN_BYTES)?;
        let question = RangeQuestion {
            queries: VectorSlice::new(&rows.rows, queries.shape())?,
            metric: index.metric(),
            radius,
        };
        let threads = self.resources.threads;
        let progress = &session.progress;
        let truth = system::exact_range(index, &question, rows.left_bytes, threads, progress)?;
        Ok(Reference::Scanned(truth))
    }

    fn check_k(&self, path: &Path, truth: &TruthFile) -> Result<()> {
        let (place, k) = (path.display(), self.options.k);
        if truth.k() as u64 >= u64::from(k) {
            return Ok(());
        }
        let words = format!("{place}: {} neighbours per query, but k is {k}", truth.k());
        Err(Error::invalid(words))
    }
}

fn is_range(path: &Path) -> bool {
    let extension = path.extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("rangeres"))
}

fn check_count(path: &Path, found: u64, queries: &Vectors) -> Result<()> {
    let (place, expected) = (path.display(), queries.count());
    if found == expected {
        return Ok(());
    }
    let words = format!("{place}: truth of {found} queries, but there are {expected}");
    Err(Error::invalid(words))
}
