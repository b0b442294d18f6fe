//! `pageway insert`: rows of a file go into an index, batch by batch.

use std::path::PathBuf;

use clap::Args;
use pageway::source::{BLOCK_BYTES, IdRead, RowBlocks, TextLines, TextPart, TextRead};
use pageway::{Acknowledged, Error, ErrorKind, Progress, Result, Rows, VectorRead, Writer};
use pageway_formats::Wish;
use serde::Serialize;

use super::writer::{Done, DurabilityWish, WriterArguments, add};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::{TableArguments, beside};
use crate::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway insert my.index --data new.fbin
  pageway insert my.index --data new.fbin --ids new-ids.txt --upsert
  pageway insert my.index --data new.fbin --names new-names.txt --attributes new.jsonl
  pageway insert my.index --data new.parquet --column emb --id-column id --upsert
  pageway insert my.index --data many.fbin --durability deferred --update-memory 512MB --json

Rows go in by batches of a megabyte. What a batch has written to the log is durable as --durability
says when the next one begins:
  synced         neither a kill nor a power cut loses it
  batched:10ms   a kill loses nothing, a power cut at most the last 10 ms
  deferred       a kill loses what is in memory, up to some hundred kilobytes: for bulk loads
Everything is durable when the command ends, also by Ctrl-C, which finishes the batch at hand.

When the memory for changes is full, its rows are flushed to a segment, and small segments are merged
into larger ones. Rows without ids or names get the next ids that were never given; an id that is there
already is an error without --upsert. After an error the batches before it are in, and of
its own as many rows as it says.";

/// Put the vectors of a file into an index.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InsertArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Vectors: .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin .bin .fvecs .bvecs .npy .parquet, or
    /// .jsonl and .ndjson, also with .gz; of the type of the index
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    #[command(flatten)]
    table: TableArguments,

    /// An id for each row: .u64bin, .ibin, .npy, or text with one number per line
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// A name for each row in place of ids, such as a UUID: text, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "ids")]
    names: Option<PathBuf>,

    /// Attributes of the rows: JSON lines, an object for each row, .csv or .tsv, also with .gz,
    /// .parquet, or .spmat
    #[arg(long, value_name = "FILE")]
    attributes: Option<PathBuf>,

    /// Replace rows whose ids or names are there already
    #[arg(long)]
    upsert: bool,

    /// When a batch counts as done: synced, batched:10ms or deferred
    #[arg(long, value_name = "LEVEL", default_value = "synced")]
    durability: DurabilityWish,

    #[command(flatten)]
    writer: WriterArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct InsertReport {
    inserted: u64,
    replaced: u64,
    rows_per_second: f64,
    /// Whether Ctrl-C ended it before all rows were in.
    cancelled: bool,
    #[serde(flatten)]
    done: Done,
}

/// What rows have beside their vectors.
struct Beside {
    ids: Option<Box<dyn IdRead>>,
    names: Option<TextLines>,
    attributes: Option<Box<dyn TextRead>>,
}

impl Beside {
    /// Opens the files; `ids` are those of the data.
    fn open(
        wish: &InsertArguments,
        (rows, ids): (u64, Option<Box<dyn IdRead>>),
        session: &Session,
    ) -> Result<Self> {
        let table = wish.table();
        let beside = (wish.data.as_path(), &table);
        let schema = pageway::describe(&wish.index)?.schema;
        let open = |path| system::open_attributes(path, beside, schema.as_ref(), &session.progress);
        let own = Self {
            ids: wish.ids_or(ids)?,
            names: wish.names.as_deref().map(system::open_names).transpose()?,
            attributes: wish.attributes.as_deref().map(open).transpose()?,
        };
        if wish.upsert && own.ids.is_none() && own.names.is_none() {
            return Err(Error::invalid(
                "--upsert needs --ids, --id-column or --names",
            ));
        }
        let check = |what: &str, name: &str, count: u64| {
            if count == rows {
                return Ok(());
            }
            Err(Error::invalid(format!(
                "{name}: {count} {what} for {rows} rows: give one for each"
            )))
        };
        if let Some(ids) = &own.ids {
            check("ids", ids.name(), ids.count())?;
        }
        if let Some(names) = &own.names {
            check("names", names.name(), names.count())?;
        }
        if let Some(attributes) = &own.attributes {
            check("documents", attributes.name(), attributes.count())?;
        }
        Ok(own)
    }
}

impl InsertArguments {
    /// Inserts.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let among = pageway::describe(&self.index)?.spec.shape.element;
        let (table, progress) = (self.table(), &session.progress);
        let data = system::open_table_among(among, &self.data, &table, progress)?;
        let vectors = data.vectors;
        let beside = Beside::open(self, (vectors.count(), data.ids), session)?;
        let writer = self.writer.open(&self.index)?;
        let started = system::now();
        let sum = self.put(&writer, &vectors, &beside, session)?;
        let rows = sum.inserted + sum.replaced;
        let seconds = started.elapsed().as_secs_f64();
        let inserted = InsertReport {
            inserted: sum.inserted,
            replaced: sum.replaced,
            rows_per_second: rows as f64 / seconds.max(1e-9),
            cancelled: rows < vectors.count(),
            done: Done::close(writer, seconds, &session.progress)?,
        };
        let outcome = Outcome::new(self.describe(&inserted), &inserted)?;
        Ok(outcome.failed_if(inserted.cancelled, ErrorKind::Cancelled))
    }

    /// What to read of the data; rows may wait beside the index.
    fn table(&self) -> Wish {
        self.table.wish(beside(&self.index))
    }

    /// Ids of a file of their own, or of the data unless there are names.
    fn ids_or(&self, own: Option<Box<dyn IdRead>>) -> Result<Option<Box<dyn IdRead>>> {
        let given = self.ids.as_deref().map(system::open_ids).transpose()?;
        Ok(given.or(own.filter(|_| self.names.is_none())))
    }

    /// All rows, or those before the wish to stop.
    fn put(
        &self,
        writer: &Writer,
        vectors: &dyn VectorRead,
        beside: &Beside,
        session: &Session,
    ) -> Result<Acknowledged> {
        let shape = vectors.shape();
        let mut blocks = RowBlocks::new(vectors, 0..vectors.count(), BLOCK_BYTES);
        let (mut sum, mut own) = (Acknowledged::default(), Vec::new());
        session.progress.stage("insert", vectors.count());
        while !session.progress.cancelled()
            && let Some(block) = blocks.next_block()?
        {
            let count = block.rows.len() / shape.row_bytes();
            if let Some(ids) = &beside.ids {
                own.resize(count, 0);
                ids.read(block.first, &mut own)?;
            }
            let place = (block.first, count as u64);
            let names = beside.names.as_ref();
            let names = names.map(|all| TextPart::new(all, place.0, place.1));
            let documents = beside.attributes.as_deref();
            let documents = documents.map(|all| TextPart::new(all, place.0, place.1));
            let rows = Rows::new(block.rows, shape)
                .with_attributes(documents.as_ref().map(|part| part as &dyn TextRead))
                .with_names(names.as_ref().map(|part| part as &dyn TextRead))
                .with_ids(beside.ids.is_some().then_some(own.as_slice()))
                .with_durability(self.durability.0);
            let put = if self.upsert {
                writer.upsert(&rows)
            } else {
                writer.insert(&rows)
            };
            let put = put.map_err(|error| {
                let (first, last) = (block.first, block.first + count as u64 - 1);
                let before = sum.inserted + sum.replaced;
                error.within(format!(
                    "rows {first} to {last}; the {before} before are in"
                ))
            })?;
            add(&mut sum, put);
            writer.keep_up()?;
            session.progress.advance(count as u64);
        }
        session.progress.clear();
        Ok(sum)
    }

    fn describe(&self, inserted: &InsertReport) -> String {
        let rows = inserted.inserted + inserted.replaced;
        let stopped = if inserted.cancelled {
            "Stopped on request: the first "
        } else {
            "Put "
        };
        let facts = Facts::new()
            .fact("inserted", text::count(inserted.inserted))
            .fact("replaced", text::count(inserted.replaced))
            .fact(
                "speed",
                format!("{} rows per second", text::figure(inserted.rows_per_second)),
            );
        format!(
            "{stopped}{} into {} in {}.\n\n{}",
            text::counted(rows, "row"),
            self.index.display(),
            text::seconds(inserted.done.seconds),
            inserted.done.add_to(facts).render()
        )
    }
}
