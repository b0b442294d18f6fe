//! The rows that are in no segment yet, added to what segments answered.

use std::cell::Cell;
use std::sync::Arc;

use pageway_types::NodeId;

use super::collect::Answer;
use super::{Index, Version};
use crate::delta::{Delta, DeltaView, Hit};
use crate::error::Result;
use crate::filter::Filter;
use crate::options::{Answers, Queries, SearchOptions};
use crate::source::kernels;

impl Index {
    /// Scans the deltas of a version, older ones first, and those that took rows since, and merges
    /// what is found with the answers of the segments, which were found before.
    ///
    /// The order is what lets an id be seen once: a row that replaces another can be seen before
    /// the other dies, so whoever finds that one dead finds the new one later; who finds both takes
    /// the newer.
    pub(super) fn add_deltas(
        &self,
        version: &Version,
        (queries, options): (&Queries<'_>, &SearchOptions),
        answers: &mut Answers,
    ) -> Result<()> {
        if version.deltas.is_empty() {
            return Ok(());
        }
        let rows: Vec<&[u8]> = queries
            .rows
            .chunks_exact(self.shape().row_bytes())
            .collect();
        let distance = kernels()?.distance(self.shape().element, self.metric());
        let mut hits: Vec<Vec<Answer>> = vec![Vec::new(); rows.len()];
        let mut scanned = Vec::new();
        let mut first = version.node_count();
        for delta in version.chain() {
            let view = delta.view();
            let matches = RowMatches::new(queries.filter, &view);
            let query_hits = rows.iter().enumerate().zip(&mut hits);
            for ((number, query), hits) in query_hits {
                let admits =
                    |row, id| admits(queries, number, first + row) && matches.has(&view, row, id);
                let farthest = options.radius.unwrap_or(f32::INFINITY);
                let most = (options.k as usize, farthest);
                let found = view.nearest((query, distance), most, admits);
                hits.extend(found.into_iter().map(|hit| Answer::of_delta(hit, first)));
                if let Some(stats) = answers.stats.get_mut(number) {
                    stats.exact_distances += u64::from(view.len());
                }
            }
            let next = first.saturating_add(view.len());
            scanned.push((first, view));
            first = next;
        }
        if hits.iter().any(|hits| !hits.is_empty()) {
            answers.merge(&hits, options);
        }
        answers.attributes = documents(queries, answers, &scanned);
        Ok(())
    }
}

/// The documents that are wanted of answers that are rows of deltas, whose first nodes are given;
/// empty where none is wanted.
fn documents(
    queries: &Queries<'_>,
    answers: &Answers,
    deltas: &[(u32, DeltaView)],
) -> Vec<Option<String>> {
    if !answers.ids.iter().any(|id| queries.want_document_of(*id)) {
        return Vec::new();
    }
    let of = |(node, id): (&u32, &u64)| {
        let mut deltas = queries.want_document_of(*id).then(|| deltas.iter().rev())?;
        let (first, view) = deltas.find(|(first, _)| first <= node)?;
        let json = view.document(node - first)?;
        Some(String::from_utf8_lossy(json).into_owned())
    };
    answers.nodes.iter().zip(&answers.ids).map(of).collect()
}

/// Which rows of a delta match a filter: told when it is asked, and once for each row.
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
    among && hidden.is_none_or(|hidden| hidden.0 != node)
}

impl Answer {
    /// A row of a delta whose first node is given.
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
    /// Its deltas, and those that were closed later take rows from.
    pub(super) fn chain(&self) -> impl Iterator<Item = Arc<Delta>> {
        let own = self.deltas.iter().cloned();
        let last = self.deltas.last().and_then(|last| last.next()).cloned();
        own.chain(std::iter::successors(last, |delta| delta.next().cloned()))
    }
}

impl Answers {
    /// Adds what was found in deltas, newer rows last.
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
    all.sort_unstable_by(|one, other| {
        let by_distance = one.distance.total_cmp(&other.distance);
        by_distance.then(one.node.cmp(&other.node))
    });
    all
}
