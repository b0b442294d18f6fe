//! Queries: the nearest points of a vector, of a point, and points in an order.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pageway::server::clock;
use pageway::{Answers, Effort, ErrorKind, Index, Queries, QueryStats, SearchOptions};
use serde_json::Value;

use super::document::PointDocument;
use super::known::{KnownPoints, ReadPoints};
use super::open::OpenCollection;
use super::output::{DOCUMENT_TIMES, OutputWish, PointOutput};
use super::point::Point;
use super::schema::DenseField;
use super::trace::{SampledSearch, SearchPlan, SearchTrace};
use crate::failure::{Failure, Outcome};
use crate::room::AnswerRoom;
use crate::wire::{
    PayloadParts, PointId, Query, QueryKind, QueryParams, VectorParts, without_vector,
};

/// Candidates for each answer, and at least, where an index does not know what a recall takes.
const CANDIDATES_EACH: u32 = 4;
const CANDIDATES_LEAST: u32 = 256;

/// What a server sets for its searches.
#[derive(Clone, Copy)]
pub(crate) struct SearchSettings<'s> {
    /// Recall where a query asks for none.
    pub(crate) recall: f32,
    /// When the time of the request is up.
    pub(crate) deadline: Instant,
    /// Where searches are noted.
    pub(crate) trace: &'s SearchTrace,
    /// Memory of the answer.
    pub(crate) room: &'s AnswerRoom,
    /// Points that are found as they were read.
    pub(crate) known: Option<KnownPoints<'s>>,
}

/// Searches since a collection was opened, and the pages that they read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SearchCounts {
    pub(crate) searches: u64,
    pub(crate) pages: u64,
}

/// A point that was found.
pub(super) struct Hit {
    pub(super) id: PointId,
    pub(super) score: f32,
    pub(super) document: Option<PointDocument>,
}

/// The number and the field of a vector, and one of that field.
pub(super) type Using<'u> = (usize, &'u DenseField, &'u [f32]);

/// A search for the nearest of a vector.
pub(super) struct Nearest<'n> {
    pub(super) number: usize,
    pub(super) field: &'n DenseField,
    pub(super) vector: &'n [f32],
    pub(super) filter: Option<&'n Value>,
    pub(super) params: &'n QueryParams,
    pub(super) settings: SearchSettings<'n>,
    /// Whether documents are wanted.
    pub(super) documents: bool,
}

impl OpenCollection {
    /// Answers a query.
    pub(crate) fn query(
        &self,
        query: &Query,
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let (limit, offset) = query.range()?;
        self.query_range(query, (limit, offset), settings)
    }

    /// Answers a query with so many points behind so many others.
    pub(super) fn query_range(
        &self,
        query: &Query,
        (limit, offset): (usize, usize),
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let none = (PayloadParts::All(false), VectorParts::All(false));
        let wish = OutputWish {
            payload: query.with_payload.as_ref().unwrap_or(&none.0),
            vector: query.with_vector.as_ref().unwrap_or(&none.1),
            room: settings.room,
        };
        wish.payload.check()?;
        let filter = query.filter.as_ref();
        let kind = query.kind()?;
        if let QueryKind::Fusion(fusion) = &kind {
            return self.fused((query, fusion), (limit, offset), settings);
        }
        if !query.prefetch.is_empty() {
            return self.merged(query, (limit, offset), settings);
        }
        match kind {
            QueryKind::Nearest(examples) => {
                let (number, field) = self.schema.using(query.using.as_deref())?;
                let vector = examples.vector(|id| {
                    in_time(settings.deadline)?;
                    self.vector_of(id, (number, field))
                })?;
                field.check(&vector, "query")?;
                let own = examples.points();
                let hits = (query, (number, field, vector.as_slice()), own.as_slice());
                self.nearest_output(hits, (limit, offset), (settings, wish))
            }
            QueryKind::Scroll => {
                let changes = self.changes.load(Ordering::Acquire);
                let first = (PointId::Number(0), limit + offset);
                let ids = self.next_ids(filter, first, settings.deadline)?;
                let ids = ids.get(offset..).unwrap_or_default();
                self.unscored(ids, (filter, changes), wish)
            }
            QueryKind::OrderBy(order) => {
                let range = (limit, offset);
                let mut points =
                    self.ordered((&order, filter), (range, settings.deadline), wish)?;
                points.iter_mut().for_each(without_score);
                Ok(points)
            }
            QueryKind::Sample => {
                let changes = self.changes.load(Ordering::Acquire);
                // What others of an order by chance are passed over makes no difference.
                let ids = match settings.known {
                    Some(known) => known.points.keys().copied().take(limit).collect(),
                    None => self.sample(filter, (limit, settings.deadline))?,
                };
                self.unscored(&ids, (filter, changes), wish)
            }
            // It was answered above.
            QueryKind::Fusion(_) => Ok(Vec::new()),
        }
    }

    /// The nearest of a vector, but for the points that it is of.
    fn hits(
        &self,
        (query, using, own): (&Query, Using<'_>, &[PointId]),
        (limit, offset): (usize, usize),
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<Hit>> {
        let wanted = limit + offset;
        let diversity = query.diversity()?;
        let candidates = diversity.map_or(wanted, |own| own.candidates(wanted));
        let nearest = self.nearest_of(query, using, settings)?;
        let found = nearest(candidates + own.len())?;
        let mut hits = among(query, (using.1, own), found);
        if let Some(diversity) = diversity {
            hits.truncate(candidates);
            hits = self.diverse(hits, using, ((diversity.share(), wanted), settings.room))?;
        }
        Ok(hits.into_iter().skip(offset).take(limit).collect())
    }

    fn unscored(
        &self,
        ids: &[PointId],
        found: (Option<&Value>, u64),
        wish: OutputWish<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let mut points = self.points_of(ids, found, wish)?;
        points.iter_mut().for_each(without_score);
        Ok(points)
    }

    /// A search that can be run for any number of points.
    fn nearest_of<'q>(
        &'q self,
        query: &'q Query,
        (number, field, vector): Using<'q>,
        settings: SearchSettings<'q>,
    ) -> Outcome<impl Fn(usize) -> Outcome<Vec<Hit>> + 'q> {
        let wants = |payload: &PayloadParts| payload.is_wanted();
        let documents = query.with_payload.as_ref().is_some_and(wants);
        let params = query.params.clone().unwrap_or_default();
        // Refuses a filter that is none before anything is searched.
        self.filter(query.filter.as_ref())?;
        Ok(move |k| {
            self.nearest(
                &Nearest {
                    number,
                    field,
                    vector,
                    filter: query.filter.as_ref().filter(|filter| !filter.is_null()),
                    params: &params,
                    settings,
                    documents,
                },
                k,
            )
        })
    }

    /// A vector of a point, by its name, for the queries of another collection.
    pub(crate) fn vector_named(&self, id: PointId, name: Option<&str>) -> Outcome<Vec<f32>> {
        let using = self.schema.using(name);
        if using.is_err() && self.load(&[id], &|_| false)?.is_empty() {
            return Err(no_point(id));
        }
        self.vector_of(id, using?)
    }

    /// The vector of a point.
    fn vector_of(&self, id: PointId, (number, field): (usize, &DenseField)) -> Outcome<Vec<f32>> {
        let mut found = self.load(&[id], &|wanted| wanted == number)?;
        let point: Point = found.pop().ok_or_else(|| no_point(id))?;
        let vector = point.vectors.into_iter().nth(number).flatten();
        vector.ok_or_else(|| {
            let name = &field.name;
            Failure::not_found(format_args!("Point {id} does not have vector {name:?}"))
        })
    }

    pub(super) fn nearest(&self, search: &Nearest<'_>, k: usize) -> Outcome<Vec<Hit>> {
        let Some(known) = search.settings.known else {
            return self.searched(search, k);
        };
        let mut hits = Vec::new();
        if known.has_others {
            hits = self.searched(search, k + known.points.len())?;
        }
        self.put_known(&mut hits, (search, known.points))?;
        sort_hits(&mut hits, search.field);
        hits.truncate(k);
        Ok(hits)
    }

    /// The nearest as the index has them.
    fn searched(&self, search: &Nearest<'_>, k: usize) -> Outcome<Vec<Hit>> {
        let Some(index) = self.index(search.number).filter(|index| !index.is_empty()) else {
            return Ok(Vec::new());
        };
        let has_gaps = search.number == 0 && self.has_gaps.load(Ordering::Acquire);
        let whole = has_gaps.then(|| without_vector(search.filter, &search.field.name));
        let filter = self.filter(whole.as_ref().or(search.filter))?;
        let bytes = super::commit::bytes_of(search.vector);
        let changes = self.changes.load(Ordering::Acquire);
        let queries = Queries::new(&bytes, index.shape())
            .with_filter(filter.as_ref())
            .with_wants_names(true)
            .with_wants_attributes(search.documents)
            .with_attribute_bytes(search.settings.room.left() / DOCUMENT_TIMES);
        let answers = run(index, &queries, search, k)?;
        self.count_search(answers.stats.first());
        let documents = answers.attributes.iter().flatten();
        let bytes: usize = documents.map(String::len).sum();
        search.settings.room.take(DOCUMENT_TIMES * bytes as u64)?;
        let found = answers
            .ids
            .iter()
            .enumerate()
            .filter(|(_, id)| **id != u64::MAX);
        let mut hits = Vec::with_capacity(k);
        for (at, id) in found {
            let name = answers.names.get(at).and_then(Option::as_deref);
            let Some(id) = PointId::of(*id, name) else {
                continue;
            };
            let distance = answers.distances.get(at).copied().unwrap_or_default();
            let json = answers.attributes.get(at).map(Option::as_deref);
            hits.push(Hit {
                id,
                score: search.field.distance.score(distance),
                document: json.map(PointDocument::decode).transpose()?,
            });
        }
        sort_hits(&mut hits, search.field);
        if search.params.exact != Some(true) {
            search.settings.trace.offer(|| SampledSearch {
                number: search.number,
                vector: search.vector.to_vec(),
                filter: search.filter.cloned(),
                found: hits.iter().map(|hit| (hit.id, hit.score)).collect(),
                k,
                changes,
            });
        }
        Ok(hits)
    }

    fn count_search(&self, stats: Option<&QueryStats>) {
        let pages = stats.map_or(0, |stats| stats.pages);
        self.searches.fetch_add(1, Ordering::Relaxed);
        self.pages.fetch_add(pages, Ordering::Relaxed);
    }

    /// Searches so far.
    pub(crate) fn search_counts(&self) -> SearchCounts {
        SearchCounts {
            searches: self.searches.load(Ordering::Relaxed),
            pages: self.pages.load(Ordering::Relaxed),
        }
    }

    /// The nearest and what is wanted of them, of each of one version of it.
    fn nearest_output(
        &self,
        wanted: (&Query, Using<'_>, &[PointId]),
        range: (usize, usize),
        (settings, wish): (SearchSettings<'_>, OutputWish<'_>),
    ) -> Outcome<Vec<PointOutput>> {
        let changes = self.changes.load(Ordering::Acquire);
        let mut hits = self.hits(wanted, range, settings)?;
        if !wish.vector.is_wanted() {
            return Ok(hits.into_iter().map(|hit| hit.into_output(wish)).collect());
        }
        // Payloads have taken their room.
        let vectors = OutputWish {
            payload: &PayloadParts::All(false),
            ..wish
        };
        let ids: Vec<PointId> = hits.iter().map(|hit| hit.id).collect();
        let (wants, number) = (self.wanted_vectors(wish.vector)?, wanted.1.0);
        let mut points = ReadPoints::new();
        let uses = |own: usize| own == number || wants(own);
        self.read(&ids, &uses, (vectors, &mut points))?;
        if !self.rests_since(changes) {
            let known = Some(KnownPoints {
                points: &points,
                has_others: false,
            });
            let settings = SearchSettings { known, ..settings };
            hits = self.hits(wanted, (range.0, 0), settings)?;
        }
        let output = hits.into_iter().filter_map(|hit| {
            let point = points.remove(&hit.id).flatten()?;
            let vector = PointOutput::new(&self.schema, point, vectors).vector;
            let output = hit.into_output(wish);
            Some(PointOutput { vector, ..output })
        });
        Ok(output.collect())
    }
}

impl Hit {
    /// What is wanted of it, but for vectors.
    fn into_output(self, wish: OutputWish<'_>) -> PointOutput {
        let document = self.document.unwrap_or_default();
        let payload = wish.payload;
        PointOutput {
            id: self.id,
            version: Some(document.version),
            score: Some(self.score),
            payload: payload.is_wanted().then(|| payload.of(document.payload)),
            vector: None,
            order_value: None,
        }
    }
}

/// Puts the best first. Equal ones stay in the order of the index, in which the best are the first
/// of any more.
fn sort_hits(hits: &mut [Hit], field: &DenseField) {
    let rank = |hit: &Hit| field.distance.rank(hit.score);
    hits.sort_by(|one, next| rank(one).total_cmp(&rank(next)));
}

/// Searches as hard as a query says, or as its recall asks for.
fn run(index: &Index, queries: &Queries<'_>, search: &Nearest<'_>, k: usize) -> Outcome<Answers> {
    let k = k.max(1) as u32;
    let params = search.params;
    let own = params.pageway.and_then(|own| own.recall);
    let recall = own.unwrap_or(search.settings.recall);
    let effort = match params.hnsw_ef {
        Some(0) => {
            return Err(Failure::invalid(
                "params.hnsw_ef",
                "value 0 invalid, must be 1 or larger",
            ));
        }
        Some(list) if own.is_none() => Effort::ListSize(list.clamp(k, pageway::MAX_LIST_SIZE)),
        _ => Effort::Recall(recall),
    };
    let now = clock::now();
    let left = search.settings.deadline.saturating_duration_since(now);
    let options = SearchOptions::nearest(k)
        .with_effort(effort)
        .with_exact(params.exact.unwrap_or(false))
        .with_threads(1)
        .with_timeout(left.max(Duration::from_millis(1)));
    let answers = match index.search(queries, &options) {
        // Too few rows were there to measure what the recall takes.
        Err(error) if error.kind() == ErrorKind::Unsupported && own.is_none() => {
            let list = (CANDIDATES_EACH * k).max(CANDIDATES_LEAST);
            index.search(queries, &options.with_effort(Effort::ListSize(list)))?
        }
        answers => answers?,
    };
    search.settings.trace.note(SearchPlan {
        vector: search.field.name.clone(),
        k,
        list_size: answers.settings.list_size,
        recall: matches!(effort, Effort::Recall(_)).then_some(recall),
        exact: params.exact.unwrap_or(false),
        expected_recall: answers.expected_recall,
        filter: answers.filter,
        stats: answers.stats.first().copied().unwrap_or_default(),
    });
    Ok(answers)
}

/// Refuses to go on when the time of a request is up.
pub(crate) fn in_time(deadline: Instant) -> Outcome<()> {
    if clock::now() < deadline {
        return Ok(());
    }
    Err(Failure::timeout())
}

fn no_point(id: PointId) -> Failure {
    Failure::not_found(format_args!("No point with id {id} found"))
}

/// Points that were not searched for have the score 1.
fn without_score(point: &mut PointOutput) {
    point.score = Some(1.0);
    point.version = Some(0);
}

/// Hits that a query lets through, but for its own points.
fn among(query: &Query, (field, own): (&DenseField, &[PointId]), mut hits: Vec<Hit>) -> Vec<Hit> {
    let passes = |hit: &Hit| {
        let threshold = query.score_threshold;
        threshold.is_none_or(|threshold| field.distance.passes(hit.score, threshold))
    };
    hits.retain(|hit| !own.contains(&hit.id) && passes(hit));
    hits
}
