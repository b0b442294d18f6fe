//! Adds rows of deltas to the answers of segments. Compares all of these rows, or only those whose
//! known neighbours are near the query.

use std::cell::Cell;
use std::sync::Arc;

use pageway_types::NodeId;

use super::collect::Answer;
use super::{Index, Version};
use crate::delta::{Delta, DeltaQuery, DeltaView, Hit};
use crate::execution::driver::Outcomes;
use crate::filter::Filter;
use crate::options::{Answers, Queries, SearchOptions};

impl Index {
    /// Scans the deltas of a version, older ones first, and those opened since, and merges their
    /// rows with the answers of the segments, which were found before.
    ///
    /// All deltas are seen as they were at one moment, so each id is found once: a row that
    /// replaces another is visible before the other dies, and of both the newer counts.
    pub(super) fn add_deltas(
        &self,
        version: &Version,
        (queries, options): (&Queries<'_>, &SearchOptions),
        (answers, outcomes): (&mut Answers, &[Outcomes]),
    ) {
        let Some(form) = version.deltas.first().map(|delta| delta.form()) else {
            return;
        };
        let mut first = version.node_count();
        let mut scanned = Vec::new();
        let chain: Vec<Arc<Delta>> = version.chain().collect();
        for (delta, view) in chain.iter().zip(Delta::views(&chain)) {
            let next = first.saturating_add(view.len());
            let matches = RowMatches::new(queries.filter, &view);
            let delta = &**delta;
            scanned.push(Scanned {
                first,
                view,
                delta,
                matches,
            });
            first = next;
        }
        let row_bytes = self.shape().row_bytes();
        let near = NearNodes::of(outcomes, queries.rows.len() / row_bytes.max(1));
        let all = vec![None; scanned.len()];
        let rows = queries.rows.chunks_exact(row_bytes).enumerate();
        let each = rows.map(|(number, row)| {
            let query = DeltaQuery::new(row, form);
            let admits = |node| admits(queries, number, node);
            let beside = near.of_query(number);
            let rows = scanned.iter().map(|own| {
                let nodes = (beside?, version.numbering());
                own.delta.rows_beside(nodes, own.view.len())
            });
            let rows: Vec<Option<Vec<u32>>> = rows.collect();
            let scan = |rows: &[_], farthest| {
                scan((&scanned, rows), &query, (options.k, farthest), admits)
            };
            let own: Vec<Answer> = answers.of_query(number).collect();
            let (mut hits, mut scored) = scan(&rows, farthest(&own, options));
            let replaces = |hit: &Answer| own.iter().any(|own| own.id == hit.id);
            if hits.iter().any(replaces) {
                // Rows that others replace leave their places to rows farther away.
                (hits, scored) = scan(&rows, farthest(&[], options));
            }
            let found = || newest(own.iter().chain(&hits).copied().collect()).len();
            if rows.iter().any(Option::is_some) && found() < options.k as usize {
                return scan(&all, farthest(&[], options));
            }
            (hits, scored)
        });
        let (hits, scored): (Vec<Vec<Answer>>, Vec<u64>) = each.unzip();
        for (stats, scored) in answers.stats.iter_mut().zip(scored) {
            stats.exact_distances += scored;
        }
        if hits.iter().any(|hits| !hits.is_empty()) {
            answers.merge(&hits, options);
        }
        answers.attributes = documents(queries, answers, &scanned);
    }
}

/// Rows of deltas are searched for beside so many nodes, the nearest to the query by their codes.
const NEAR: usize = 64;

/// The nodes that were noted for each query.
struct NearNodes<'o>(Vec<&'o [NodeId]>);

impl<'o> NearNodes<'o> {
    /// From the outcomes of all threads, by query; empty if none were noted.
    fn of(outcomes: &'o [Outcomes], count: usize) -> Self {
        let mut of = vec![&[][..]; count];
        for outcome in outcomes {
            let mut rest = outcome.near.as_slice();
            for (query, finished) in &outcome.queries {
                let (own, others) = rest.split_at(finished.near.min(rest.len()));
                rest = others;
                if let Some(place) = of.get_mut(*query) {
                    *place = own;
                }
            }
        }
        Self(of)
    }

    fn of_query(&self, number: usize) -> Option<&'o [NodeId]> {
        self.0.get(number).copied().filter(|own| !own.is_empty())
    }
}

impl Version {
    /// How many nodes near each query are noted; 0 if all rows of deltas are compared.
    pub(super) fn near_nodes(&self, queries: &Queries<'_>, options: &SearchOptions) -> usize {
        let is_plain = queries.filter.is_none() && queries.admitted.is_none();
        let is_linked = || self.chain().any(|delta| delta.is_linked(self.numbering()));
        if is_plain && options.radius.is_none() && is_linked() {
            NEAR
        } else {
            0
        }
    }
}

/// A delta that is searched.
struct Scanned<'f> {
    /// The node number of its first row.
    first: u32,
    view: DeltaView,
    delta: &'f Delta,
    matches: RowMatches<'f>,
}

/// The rows of deltas that are at most `farthest` away, at most `k` of each delta, and how many
/// distances that took.
fn scan(
    (deltas, rows): (&[Scanned<'_>], &[Option<Vec<u32>>]),
    query: &DeltaQuery<'_>,
    (k, farthest): (u32, f32),
    admits: impl Fn(u32) -> bool,
) -> (Vec<Answer>, u64) {
    let (mut hits, mut scored) = (Vec::new(), 0);
    for (delta, rows) in deltas.iter().zip(rows) {
        let Scanned {
            first,
            view,
            matches,
            ..
        } = delta;
        let admits = |row, id| admits(first + row) && matches.has(view, row, id);
        let rows = (query, rows.as_deref());
        let (found, own) = view.nearest(rows, (k as usize, farthest), admits);
        hits.extend(found.into_iter().map(|hit| Answer::of_delta(hit, *first)));
        scored += own;
    }
    (hits, scored)
}

/// The largest distance of a row that is an answer beside those of segments.
fn farthest(own: &[Answer], options: &SearchOptions) -> f32 {
    let is_full = own.len() >= options.k as usize;
    match (options.radius, own.last()) {
        (Some(radius), _) => radius,
        (None, Some(last)) if is_full => last.distance + last.error,
        (None, _) => f32::INFINITY,
    }
}

/// The wanted documents of answers that are rows of deltas; empty if none is wanted.
fn documents(
    queries: &Queries<'_>,
    answers: &Answers,
    deltas: &[Scanned<'_>],
) -> Vec<Option<String>> {
    if !answers.ids.iter().any(|id| queries.want_document_of(*id)) {
        return Vec::new();
    }
    let of = |(node, id): (&u32, &u64)| {
        let mut deltas = queries.want_document_of(*id).then(|| deltas.iter().rev())?;
        let delta = deltas.find(|delta| delta.first <= *node)?;
        let json = delta.view.document(node - delta.first)?;
        Some(String::from_utf8_lossy(json).into_owned())
    };
    answers.nodes.iter().zip(&answers.ids).map(of).collect()
}

/// Which rows of a delta match a filter; each row is evaluated once, when it is asked for.
struct RowMatches<'f> {
    filter: Option<&'f Filter>,
    known: Vec<Cell<Option<bool>>>,
}

impl<'f> RowMatches<'f> {
    fn new(filter: Option<&'f Filter>, view: &DeltaView) -> Self {
        let rows = filter.map_or(0, |_| view.len() as usize);
        Self {
            filter,
            known: vec![Cell::new(None); rows],
        }
    }

    fn has(&self, view: &DeltaView, row: u32, id: u64) -> bool {
        let Some(filter) = self.filter else {
            return true;
        };
        let known = self.known.get(row as usize);
        known.and_then(Cell::get).unwrap_or_else(|| {
            let matches = filter.matches_row(id, view.document(row));
            known.inspect(|known| known.set(Some(matches)));
            matches
        })
    }
}

fn admits(queries: &Queries<'_>, query: usize, node: u32) -> bool {
    let hidden = queries.held_out.and_then(|nodes| nodes.get(query));
    let among = queries
        .admitted
        .is_none_or(|set| set.contains(NodeId(node)));
    among && hidden.is_none_or(|hidden| !hidden.contains(NodeId(node)))
}

impl Answer {
    /// A row of a delta with this first node.
    fn of_delta(hit: Hit, first: u32) -> Self {
        Self {
            id: hit.id,
            row: first + hit.row,
            node: first + hit.row,
            distance: hit.distance,
            error: 0.0,
        }
    }
}

impl Version {
    /// Views of its deltas and of later ones, at one moment.
    pub(super) fn views(&self) -> Vec<DeltaView> {
        Delta::views(&self.chain().collect::<Vec<_>>())
    }

    /// Its deltas, and those that were opened after them.
    pub(super) fn chain(&self) -> impl Iterator<Item = Arc<Delta>> {
        let own = self.deltas.iter().cloned();
        let last = self.deltas.last().and_then(|last| last.next()).cloned();
        own.chain(std::iter::successors(last, |delta| delta.next().cloned()))
    }
}

impl Answers {
    /// Adds the rows found in deltas, newer ones last.
    fn merge(&mut self, hits: &[Vec<Answer>], options: &SearchOptions) {
        let mut merged = Self {
            k: self.k,
            lims: vec![0],
            stats: std::mem::take(&mut self.stats),
            settings: self.settings,
            filter: self.filter,
            ..Self::default()
        };
        let places = if options.radius.is_none() { self.k } else { 0 };
        for (query, hits) in hits.iter().enumerate() {
            let own = self.of_query(query);
            let mut best = newest(own.chain(hits.iter().copied()).collect());
            best.truncate(options.k as usize);
            merged.truncated +=
                usize::from(options.radius.is_some() && best.len() >= options.k as usize);
            merged.put(best.into_iter(), places);
        }
        *self = merged;
    }
}

/// One row for each id, the newest of `all`, nearest first.
fn newest(mut all: Vec<Answer>) -> Vec<Answer> {
    // Newer rows have higher numbers.
    all.sort_unstable_by_key(|one| (one.id, std::cmp::Reverse(one.node)));
    all.dedup_by_key(|one| one.id);
    all.sort_unstable_by_key(Answer::order);
    all
}
