//! Which rows a command changes: those of a file of ids or names, or those that match a filter.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use pageway::source::{IdRead, TextLines, TextRead, visit_names};
use pageway::{Acknowledged, Error, Filter, Progress, Result, Which, Writer};

use super::super::query::FilterArguments;
use super::writer::{Done, DurabilityWish, WriterArguments, add};
use crate::session::Session;
use crate::system;

/// Ids that are changed by one call.
const BATCH: u64 = 8192;

/// Rows, and how their change is to be done.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["ids", "names", "filter", "filter_json"]).required(true))]
pub(super) struct ChosenRows {
    /// Ids: .u64bin, .ibin, .npy, or text with one number per line
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// Names of rows: text, one per line
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArguments,

    /// When a batch counts as done: synced, batched:10ms or deferred
    #[arg(long, value_name = "LEVEL", default_value = "synced")]
    pub(super) durability: DurabilityWish,

    #[command(flatten)]
    writer: WriterArguments,
}

/// The rows, opened.
enum OpenRows {
    Ids(Box<dyn IdRead>),
    Names(TextLines),
    Matching(Filter),
}

impl ChosenRows {
    /// Changes the rows of an index, those before the wish to stop where there is one: then true.
    pub(super) fn change(
        &self,
        index: &Path,
        session: &Session,
        act: &dyn Fn(&Writer, Which<'_>) -> Result<Acknowledged>,
    ) -> Result<(Acknowledged, bool, Done)> {
        let rows = self.open()?;
        let writer = self.writer.open(index)?;
        let started = system::now();
        let (sum, cancelled) = rows.change(&writer, session, &|which| act(&writer, which))?;
        let seconds = started.elapsed().as_secs_f64();
        let done = Done::close(writer, seconds, &session.progress)?;
        Ok((sum, cancelled, done))
    }

    /// Opens the files that tell which.
    fn open(&self) -> Result<OpenRows> {
        if let Some(path) = &self.ids {
            return system::open_ids(path).map(OpenRows::Ids);
        }
        if let Some(path) = &self.names {
            return system::open_names(path).map(OpenRows::Names);
        }
        let filter = self.filter.read()?.map(OpenRows::Matching);
        filter.ok_or_else(|| Error::invalid("give --ids, --names or a filter"))
    }
}

impl OpenRows {
    /// Changes the rows, batch by batch, or those before the wish to stop: then true.
    fn change(
        &self,
        writer: &Writer,
        session: &Session,
        act: &dyn Fn(Which<'_>) -> Result<Acknowledged>,
    ) -> Result<(Acknowledged, bool)> {
        let count = match self {
            Self::Matching(filter) => return Ok((act(Which::Matching(filter))?, false)),
            Self::Ids(ids) => ids.count(),
            Self::Names(names) => names.count(),
        };
        let (mut sum, mut first) = (Acknowledged::default(), 0);
        session.progress.stage("change", count);
        while !session.progress.cancelled() && first < count {
            let here = BATCH.min(count - first);
            add(&mut sum, self.act_on((first, here), act)?);
            writer.keep_up()?;
            first += here;
            session.progress.advance(here);
        }
        session.progress.clear();
        Ok((sum, first < count))
    }

    fn act_on(
        &self,
        (first, count): (u64, u64),
        act: &dyn Fn(Which<'_>) -> Result<Acknowledged>,
    ) -> Result<Acknowledged> {
        match self {
            Self::Ids(ids) => {
                let mut own = vec![0; count as usize];
                ids.read(first, &mut own)?;
                act(Which::Ids(&own))
            }
            Self::Names(names) => act(Which::Names(&read_names(names, (first, count))?)),
            Self::Matching(filter) => act(Which::Matching(filter)),
        }
    }
}

/// Some names of a file.
pub(crate) fn read_names(names: &dyn TextRead, (first, count): (u64, u64)) -> Result<Vec<String>> {
    let mut own = Vec::new();
    visit_names(names, (first, count), &mut |name| {
        own.push(name.to_owned());
        Ok(())
    })?;
    Ok(own)
}
