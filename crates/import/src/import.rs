//! An import: page after page into the indexes, then a merge of each, and a comparison.

use pageway::lab::clock;
use pageway::{Error, ErrorKind, Progress, Result};
use pageway_shell::output::{self, Outcome};
use pageway_shell::session::Session;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::client::Client;
use crate::collection::{Collection, count};
use crate::compare::Comparison;
use crate::point::Page;
use crate::report::{IndexReport, Report};
use crate::snapshot::Snapshot;
use crate::source::{Source, ask};
use crate::state::{State, StateFile};
use crate::target::{Target, places};

/// Imports a collection, or goes on with it.
///
/// # Errors
/// Where server, disk or memory fail, or the user wants to stop; another run goes on then.
pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Outcome> {
    let started = clock::now();
    let source = source(arguments, &session.progress)?;
    let source = source.as_ref();
    let collection = Collection::describe(source, arguments.vector.as_deref())?;
    let dirs = places(&arguments.out, &collection.vectors)?;
    let file = StateFile::beside(&arguments.out);
    let mut state = file.begin(first(arguments.name(), &collection), &arguments.out)?;
    let resumed = state.points;
    let points = count(source)?;
    let targets = collection.vectors.iter().zip(dirs);
    let targets =
        targets.map(|(dense, dir)| Target::open(dense.clone(), dir, points, &arguments.index));
    let targets = targets.collect::<Result<Vec<_>>>()?;
    let import = Import {
        arguments,
        source,
        targets,
        progress: &session.progress,
    };
    let done = import.scroll(&mut state, &file, points);
    let done = done.and_then(|()| import.finish(&state));
    let indexes = done.map_err(|error| goes_on(error, &state))?;
    let report = Report {
        collection: arguments.name(),
        points: state.points,
        resumed,
        counted: count(source)?,
        indexes,
        left_out: collection.left_out,
        seconds: started.elapsed().as_secs_f64(),
    };
    for target in import.targets {
        target.writer.close()?;
    }
    file.remove()?;
    session.progress.clear();
    report.outcome()
}

struct Import<'i> {
    arguments: &'i Arguments,
    source: &'i dyn Source,
    targets: Vec<Target>,
    progress: &'i dyn Progress,
}

impl Import<'_> {
    /// Reads page after page, from where the state says on.
    fn scroll(&self, state: &mut State, file: &StateFile, points: u64) -> Result<()> {
        self.progress
            .stage("import points", points.max(state.points));
        self.progress.advance(state.points);
        while !state.read {
            self.progress.check()?;
            let page = self.page(state.next.as_ref())?;
            for (target, without) in self.targets.iter().zip(&mut state.without) {
                *without += target.put(&page)?;
            }
            state.points += page.points.len() as u64;
            self.progress.advance(page.points.len() as u64);
            state.read = page.next_page_offset.is_none();
            state.next = page.next_page_offset;
            file.write(state)?;
        }
        Ok(())
    }

    fn page(&self, offset: Option<&Value>) -> Result<Page> {
        let names = self.targets.iter().map(|target| target.dense.name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        let vectors = if names.len() == self.targets.len() {
            json!(names)
        } else {
            json!(true)
        };
        let mut body = json!({
            "limit": self.arguments.batch,
            "with_payload": true,
            "with_vector": vectors,
        });
        if let (Some(offset), Some(fields)) = (offset, body.as_object_mut()) {
            fields.insert("offset".to_owned(), offset.clone());
        }
        ask(self.source, "/points/scroll", Some(&body))
    }

    /// Merges and compares each index.
    fn finish(&self, state: &State) -> Result<Vec<IndexReport>> {
        let mut reports = Vec::new();
        for (target, without) in self.targets.iter().zip(&state.without) {
            target.finish(self.progress)?;
            let queries = self.arguments.compare;
            let comparison = Comparison::of(target, queries, self.source, self.progress)?;
            let index = target.writer.index();
            reports.push(IndexReport {
                vector: target.dense.name.clone(),
                index: target.dir.display().to_string(),
                rows: index.len(),
                without: *without,
                dimension: target.dense.shape.dimension,
                element: target.dense.shape.element,
                metric: target.dense.metric,
                comparison,
            });
        }
        Ok(reports)
    }
}

/// The collection of a server, or of a snapshot.
fn source<'p>(arguments: &Arguments, progress: &'p dyn Progress) -> Result<Box<dyn Source + 'p>> {
    let own = &arguments.source;
    if let Some(archive) = &own.snapshot {
        let snapshot = Snapshot::open(archive, &own.python, &arguments.out, progress)?;
        return Ok(Box::new(snapshot));
    }
    let (Some(url), Some(collection)) = (&own.url, &own.collection) else {
        return Err(Error::invalid("--url and --collection, or --snapshot"));
    };
    let client = Client::new((url, collection), &arguments.server, progress)?;
    if client.shows_key() {
        output::note("pageway: the key goes to the server unencrypted: https:// would hide it");
    }
    Ok(Box::new(client))
}

/// The state of an import that begins.
fn first(name: String, collection: &Collection) -> State {
    let names = collection.vectors.iter().map(|own| own.name.clone());
    State {
        collection: name,
        vectors: names.collect(),
        next: None,
        points: 0,
        without: vec![0; collection.vectors.len()],
        read: false,
    }
}

/// An error, with what becomes of what was imported.
fn goes_on(error: Error, state: &State) -> Error {
    if error.kind() == ErrorKind::Internal {
        return error;
    }
    error.within(format!(
        "{} points are imported; the same command goes on from there",
        state.points
    ))
}
