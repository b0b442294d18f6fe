//! A call of many queries: the index is opened, the queries searched, the answers shown, written
//! and compared with what is known.

use pageway::{Effort, ErrorKind, Index, OpenOptions, Result, SearchOptions, VectorRead};

use super::QueryArguments;
use super::report::{Report, Shown};
use crate::output::Outcome;
use crate::place::{Place, Requests};
use crate::resources::ResourceArguments;
use crate::results::ResultsFile;
use crate::session::Session;
use crate::system;
use crate::workload::{Searched, Workload};

/// What was asked for.
pub(crate) struct Call<'c> {
    pub(crate) files: &'c QueryArguments,
    pub(crate) resources: &'c ResourceArguments,
    /// Threads and interleave are those of the resources.
    pub(crate) options: SearchOptions,
    /// Whether fewer results per query will do where memory has no room for as many.
    pub(crate) yields: bool,
    /// Whether to compare with a scan of the index.
    pub(crate) scans: bool,
    /// First queries whose answers are shown.
    pub(crate) show: u64,
    /// First queries whose reads are recorded.
    pub(crate) recorded: u64,
}

/// How it went.
pub(crate) struct Answered {
    pub(crate) index: Index,
    pub(crate) searched: Searched,
    /// What was searched with.
    options: SearchOptions,
    shown: Vec<Shown>,
    open_ms: f64,
    /// Until it was open, and until now; of an index in object storage.
    requests: Option<(Requests, Requests)>,
}

impl Call<'_> {
    /// Searches all queries.
    pub(crate) fn run(&self, session: &Session) -> Result<Answered> {
        self.files.check_out()?;
        let started = system::now();
        let place = self.files.cache.place(self.files.index())?;
        let (index, options) = self.open(&place)?;
        let open_ms = started.elapsed().as_secs_f64() * 1e3;
        let at_open = place.requests();
        let among = index.shape().element;
        let queries = self.files.open_queries(among, &session.progress)?;
        let filter = self.files.filter.read()?;
        let reference = self.reference(&index, &queries, session)?;
        let out = self.files.out.as_deref();
        let mut out = out
            .map(|path| ResultsFile::create(path, queries.count(), &options))
            .transpose()?;
        let workload = Workload {
            index: &index,
            queries: &queries,
            reference: &reference,
            options: options
                .with_strategy(self.files.filter_strategy)
                .with_threads(self.resources.threads)
                .with_interleave(self.resources.interleave),
            recorded: self.recorded,
            filter: filter.as_ref(),
            wants_attributes: self.files.with_attributes,
            wants_names: self.show > 0 || out.is_some(),
        };
        let mut shown = Vec::new();
        let searched = workload.run(&session.progress, &mut |first, answers| {
            shown.extend(Shown::of(answers, first, self.show));
            out.as_mut().map_or(Ok(()), |out| out.put(first, answers))
        })?;
        out.map_or(Ok(()), ResultsFile::finish)?;
        Ok(Answered {
            index,
            searched,
            options,
            shown,
            open_ms,
            requests: at_open.zip(place.requests()),
        })
    }

    /// Opens the index, with room for as many results as are wanted or, where fewer will do, as
    /// memory has room for: half as many, and half of that, no fewer than the list begins with.
    fn open(&self, place: &Place) -> Result<(Index, SearchOptions)> {
        let mut options = self.options;
        let least = match (self.yields, options.effort) {
            (true, Effort::ListSize(size)) => size.max(1).min(options.k),
            _ => options.k,
        };
        loop {
            match self.open_for(place, &options) {
                Err(error) if error.kind() == ErrorKind::InvalidInput && options.k > least => {
                    options.k = (options.k / 2).max(least);
                }
                opened => return Ok((opened?, options)),
            }
        }
    }

    /// Memory is divided at open. Within a radius it is for as many results, and as long a list, as
    /// there may be.
    fn open_for(&self, place: &Place, search: &SearchOptions) -> Result<Index> {
        let resources = self.resources;
        let effort = match (search.radius, search.effort) {
            (Some(_), Effort::ListSize(size)) => Effort::ListSize(size.max(search.k)),
            (_, effort) => effort,
        };
        let options = OpenOptions::default()
            .with_memory(resources.memory)
            .with_threads(resources.threads)
            .with_interleave(resources.interleave)
            .with_effort(effort)
            .with_beam(search.beam)
            .with_k(search.k);
        place.open(&options).map_err(|error| match search.radius {
            Some(_) if error.kind() == ErrorKind::InvalidInput => {
                error.within(format!("with room for --limit {} per query", search.k))
            }
            _ => error,
        })
    }
}

impl Answered {
    /// What there is to say.
    pub(crate) fn report(&self, call: &Call<'_>) -> Result<Outcome> {
        let report = Report::new(&self.index, &self.searched, &self.options, self.open_ms)
            .with_wanted(call.options.k)
            .with_requests(self.requests);
        let mut text: String = self.shown.iter().map(|one| one.line() + "\n").collect();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&report.describe(call.files.index()));
        Outcome::new(text, &report.with_answers(self.shown.clone()))
    }
}
