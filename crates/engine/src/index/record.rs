//! Searching while the reads are written down, to replay them on another disk.

use pageway_store::IoBackend;
use pageway_types::Progress;

use super::Index;
use super::watch::Notes;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::ReadTrace;
use crate::options::{Answers, Queries, SearchOptions};

impl Index {
    /// As [`Index::search_with`], and records the first `recorded` queries: what each computed and
    /// read, turn by turn, in the order of the queries.
    ///
    /// Record with one thread, and interleave 1, so that a turn holds no time of other queries.
    /// What is recorded begins no read early, so that each turn follows from the page before it. A
    /// trace takes 32 bytes per read of its query, beside the memory of the index. Recording costs
    /// about 50 ns per read.
    ///
    /// # Errors
    /// Those of a search; `Unsupported` where reads are neither by io_uring nor by threads.
    pub fn search_recorded(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        recorded: usize,
        progress: &dyn Progress,
    ) -> Result<(Answers, Vec<ReadTrace>)> {
        let version = self.version();
        let backend = version.probe.as_ref().map(|probe| probe.backend);
        if matches!(backend, None | Some(IoBackend::Blocking)) {
            let words = "reads are made one at a time here, and only reads in flight are recorded";
            return Err(Error::new(ErrorKind::Unsupported, words));
        }
        let notes = Notes {
            recorded,
            ..Notes::default()
        };
        let (answers, outcomes) = self.answer(queries, options, (notes, progress))?;
        let mut traces: Vec<ReadTrace> = outcomes.into_iter().flat_map(|o| o.traces).collect();
        traces.sort_unstable_by_key(|trace| trace.query);
        Ok((answers, traces))
    }
}
