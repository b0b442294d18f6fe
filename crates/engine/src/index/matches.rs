//! Searching among the rows that match a filter: how, and the way that finds them all.

use std::ops::Range;

use pageway_types::{NodeId, Progress};

use super::filter::Matched;
use super::search::Notes;
use super::{Index, Version};
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::execution::{
    CallLists, EXACT_COST, Gathering, NodeSet, PAGE_COST, QuerySizes, QueryStats, Segment,
    WalkAmong,
};
use crate::filter::{FilterReport, Strategy};
use crate::options::{Answers, Queries, SearchOptions};
use crate::source::kernels;

/// Neighbours of a node that are scored when it is expanded: about so many are new.
const NEW_NEIGHBORS: f64 = 20.0;
/// Vectors that are read for each answer where codes have error bounds, about.
const READ_EACH: f64 = 3.0;

/// Costs of a query, in scores of codes.
struct Costs {
    walk: f64,
    scan: f64,
    /// The cheaper scan.
    scans: Strategy,
    strategy: Strategy,
}

impl Costs {
    /// What a report says of them.
    fn report(&self, matched: &Matched, (answers, rescued): (&Answers, usize)) -> FilterReport {
        let spent: f64 = answers.stats.iter().map(QueryStats::cost).sum();
        FilterReport {
            matches: matched.living,
            documents: matched.documents,
            strategy: self.strategy,
            walk_cost: self.walk,
            scan_cost: self.scan,
            spent_cost: spent / answers.stats.len().max(1) as f64,
            rescued,
        }
    }

    const fn strategy(&self) -> Strategy {
        self.strategy
    }
}

impl Version {
    /// Estimates what finding the nearest of so many matches costs, and takes the cheaper way.
    fn costs(&self, matches: u64, (list_size, k): (u32, u32), queries: usize) -> Costs {
        let (nodes, matches) = (f64::from(self.node_count()), matches as f64);
        let list = f64::from(list_size);
        // A list that holds as many rows that match holds so many more that do not.
        let expanded = (list * nodes / matches.max(1.0)).min(nodes);
        let all = |test: fn(&Segment) -> bool| self.segments.iter().all(test);
        let reads = !all(|one| one.shape.gathering() != Gathering::Reading);
        let own = if reads { PAGE_COST } else { 0.0 };
        let coded = all(|one| one.parts.scans_codes());
        let wanted = if reads {
            list
        } else {
            READ_EACH * f64::from(k)
        };
        let read = matches.min(wanted) * PAGE_COST;
        let walk = expanded * (NEW_NEIGHBORS + own);
        // One pass reads the vectors for all queries.
        let vectors = matches * (PAGE_COST / queries.max(1) as f64 + EXACT_COST);
        let codes = matches + read;
        let clustered = all(|one| one.shape.gathering() == Gathering::Scanning);
        let (scan, scans) = if coded && codes < vectors {
            (codes, Strategy::ScanCodes)
        } else {
            (vectors, Strategy::ScanVectors)
        };
        // Clusters are scanned with the filter on, of which there are no more codes than nodes.
        let walk = if clustered { walk.min(nodes) } else { walk };
        let walk = if reads { walk } else { walk + read };
        let is_better = scan <= walk || matches <= MIN_MATCHES;
        Costs {
            walk,
            scan,
            scans,
            strategy: if is_better { scans } else { Strategy::Walk },
        }
    }
}

impl Version {
    /// How far a walk among so many rows goes: none within a radius.
    fn among(
        &self,
        options: &SearchOptions,
        list_size: u32,
        (matched, most): (&Matched, f64),
    ) -> Option<WalkAmong> {
        let share = matched.living as f64 / f64::from(self.node_count().max(1));
        let calibration = &self.manifest.calibration;
        options.radius.is_none().then(|| WalkAmong {
            share,
            list_size: calibration.list_size_among(options.k, list_size, share),
            most,
        })
    }
}

/// Lists that hold what matches, for queries of `sizes`.
fn listed(sizes: QuerySizes, matched: &Matched, version: &Version) -> CallLists<'static> {
    let deepens = version.manifest.spec.execution.refine.is_inline();
    CallLists {
        admitted: true,
        ..CallLists::fixed(sizes.of_list(matched.living, deepens))
    }
}

/// Queries with fewer than `least` results, and those whose walk fell short, in order.
fn short_walks(answers: &Answers, outcomes: &[Outcomes], least: usize) -> Vec<usize> {
    let all = outcomes.iter().flat_map(|outcomes| &outcomes.queries);
    let walked = all.filter(|(_, finished)| finished.falls_short);
    let mut short = answers.short_of(least);
    short.extend(walked.map(|(query, _)| *query));
    short.sort_unstable();
    short.dedup();
    short
}

/// Matches that are always scanned.
const MIN_MATCHES: f64 = 16.0;

/// A row that was found.
#[derive(Clone, Copy)]
struct MatchFound {
    id: u64,
    row: u32,
    node: u32,
    distance: f32,
    /// How far off the distance may be.
    error: f32,
}

impl Index {
    /// Searches among the rows of segments that match, and the deltas: the cheaper way, and where a
    /// walk meets fewer than there are, or costs more than the other way, that one.
    pub(super) fn search_matching(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (list_size, matched): (u32, &Matched),
        (notes, progress): (Notes, &dyn Progress),
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let count = queries.rows.len() / self.shape().row_bytes();
        let mut costs = version.costs(matched.living, (list_size, options.k), count);
        if options.exact {
            costs.strategy = Strategy::ScanVectors;
        }
        let among = Queries {
            admitted: Some(&matched.set),
            ..*queries
        };
        let place = (version, &among);
        let sizes = version.sizes_for(options, list_size, among.admitted)?;
        let lists = match costs.strategy() {
            Strategy::ScanVectors => None,
            Strategy::ScanCodes => Some(listed(sizes, matched, version)),
            Strategy::Walk => Some(CallLists {
                among: version.among(options, list_size, (matched, costs.scan)),
                ..CallLists::fixed(sizes)
            }),
        };
        let (mut answers, outcomes) = match lists {
            None => (no_answers(version, options, count), Vec::new()),
            Some(lists) => self.search_sized(place, options, lists, (notes, progress))?,
        };
        let least = matched.living.min(options.k.into()) as usize;
        let mut short = match (costs.strategy(), options.radius) {
            (Strategy::ScanVectors, _) => (0..count).collect(),
            // How many lie within is not known.
            (_, Some(_)) => Vec::new(),
            (_, None) => short_walks(&answers, &outcomes, least),
        };
        let mut rescued = short.len();
        if costs.strategy() == Strategy::Walk && costs.scans == Strategy::ScanCodes {
            let lists = listed(sizes, matched, version);
            self.scan_codes(place, options, (lists, progress), &short, &mut answers)?;
            short = answers.short_of(least);
            rescued = rescued.max(short.len());
        }
        if !short.is_empty() {
            let chosen = (&matched.set, short.as_slice());
            self.scan_vectors(version, (&among, options), chosen, &mut answers)?;
        }
        if costs.strategy() == Strategy::ScanVectors {
            rescued = 0;
        }
        answers.filter = Some(costs.report(matched, (&answers, rescued)));
        self.add_deltas(version, (queries, options), &mut answers)?;
        Ok((answers, outcomes))
    }

    /// Answers some of `queries` by the codes of all rows of segments that match.
    fn scan_codes(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (lists, progress): (CallLists<'_>, &dyn Progress),
        chosen: &[usize],
        answers: &mut Answers,
    ) -> Result<()> {
        if chosen.is_empty() {
            return Ok(());
        }
        let row_bytes = self.shape().row_bytes();
        let row_of = |query: &usize| queries.rows.get(query * row_bytes..(query + 1) * row_bytes);
        let rows: Vec<u8> = chosen
            .iter()
            .filter_map(row_of)
            .flatten()
            .copied()
            .collect();
        let own = Queries {
            rows: &rows,
            ..*queries
        };
        let notes = (Notes::default(), progress);
        let (found, _) = self.search_sized((version, &own), options, lists, notes)?;
        for (at, query) in chosen.iter().enumerate() {
            answers.replace(*query, &found.matches_of(at), false);
            if let Some((stats, more)) = answers.stats.get_mut(*query).zip(found.stats.get(at)) {
                stats.add(more);
            }
        }
        Ok(())
    }

    /// Answers some of `queries` by the vectors of all rows of segments that match, each read once.
    /// Holds twice k results for each query.
    fn scan_vectors(
        &self,
        version: &Version,
        (queries, options): (&Queries<'_>, &SearchOptions),
        (set, chosen): (&NodeSet, &[usize]),
        answers: &mut Answers,
    ) -> Result<()> {
        let row_bytes = self.shape().row_bytes();
        let row_of = |query: &usize| queries.rows.get(query * row_bytes..(query + 1) * row_bytes);
        let rows: Vec<&[u8]> = chosen.iter().filter_map(row_of).collect();
        let distance = kernels()?.distance(self.shape().element, self.metric());
        let radius = options.radius.unwrap_or(f32::INFINITY);
        let page_bytes = u64::from(version.manifest.spec.layout.page_bytes);
        let most = options.k as usize;
        let mut found: Vec<Vec<MatchFound>> = vec![Vec::new(); rows.len()];
        let mut spent = Spent::default();
        for segment in &version.segments {
            let matches = |node: u32| {
                let dead = segment.dead.as_ref();
                set.contains(NodeId(segment.base + node))
                    && dead.is_none_or(|dead| !dead.contains(NodeId(node)))
            };
            let page_of = |node: u32| segment.vector_place(node).0;
            for run in runs(segment.node_count(), matches, page_of) {
                let (first, span) = segment.vector_place(run.start);
                let own = page_of(run.end.saturating_sub(1)) + 1 - first;
                spent.reads += own;
                spent.pages += own * u64::from(span);
                segment.visit_vectors(run, &mut |node, vector| {
                    if !matches(node.0) {
                        return Ok(());
                    }
                    spent.scored += 1;
                    let first_id = segment.first_id;
                    let id = first_id.map_or(vector.user_id, |first| {
                        first.saturating_add(vector.row.into())
                    });
                    for (query, found) in rows.iter().zip(&mut found) {
                        let distance = distance(query, vector.bytes);
                        if distance <= radius {
                            found.push(MatchFound {
                                id,
                                row: segment.base + vector.row,
                                node: segment.base + node.0,
                                distance,
                                error: 0.0,
                            });
                        }
                        if found.len() >= 2 * most.max(32) {
                            keep_best(found, most);
                        }
                    }
                    Ok(())
                })?;
            }
        }
        for (number, (query, mut found)) in (0u64..).zip(chosen.iter().zip(found)) {
            keep_best(&mut found, most);
            answers.replace(*query, &found, options.radius.is_some());
            if let Some(stats) = answers.stats.get_mut(*query) {
                spent.charge(stats, (number, chosen.len() as u64), page_bytes);
            }
        }
        Ok(())
    }
}

/// What a scan of vectors for some queries took.
#[derive(Default)]
struct Spent {
    scored: u64,
    reads: u64,
    pages: u64,
}

impl Spent {
    /// Counts a query's part, that of number `number` of `count`: all of the distances, and its
    /// share of the reads, which are for all queries.
    fn charge(&self, stats: &mut QueryStats, (number, count): (u64, u64), page_bytes: u64) {
        let share = |all: u64| all / count.max(1) + u64::from(number < all % count.max(1));
        stats.exact_distances += self.scored;
        stats.reads += share(self.reads);
        stats.pages += share(self.pages);
        stats.bytes_read += share(self.pages) * page_bytes;
    }
}

/// Places for answers that are still to be found.
fn no_answers(version: &Version, options: &SearchOptions, count: usize) -> Answers {
    let k = if version.changes() {
        options.k as usize
    } else {
        (options.k as usize).min(version.node_count() as usize)
    };
    let each = if options.radius.is_none() { k } else { 0 };
    let all = each * count;
    Answers {
        k,
        lims: (0..=count).map(|query| query * each).collect(),
        ids: vec![u64::MAX; all],
        rows: vec![u32::MAX; all],
        nodes: vec![u32::MAX; all],
        distances: vec![f32::INFINITY; all],
        errors: vec![0.0; all],
        stats: vec![QueryStats::default(); count],
        ..Answers::default()
    }
}

fn keep_best(found: &mut Vec<MatchFound>, most: usize) {
    found.sort_unstable_by(|one, other| {
        let by_distance = one.distance.total_cmp(&other.distance);
        by_distance.then(one.node.cmp(&other.node))
    });
    found.truncate(most);
}

/// Runs of nodes that hold all that match, on adjacent pages.
fn runs(
    nodes: u32,
    matches: impl Fn(u32) -> bool,
    page_of: impl Fn(u32) -> u64,
) -> impl Iterator<Item = Range<u32>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = (next..nodes).find(|node| matches(*node))?;
        let (mut last, mut at) = (first, first + 1);
        while at < nodes && page_of(at) <= page_of(last) + 1 {
            if matches(at) {
                last = at;
            }
            at += 1;
        }
        next = last + 1;
        Some(first..last + 1)
    })
}

impl Answers {
    /// Queries that have fewer than `least` results.
    fn short_of(&self, least: usize) -> Vec<usize> {
        let ranges = self.lims.iter().zip(self.lims.iter().skip(1)).enumerate();
        let count = |start: usize, end: usize| {
            let own = self.nodes.get(start..end).unwrap_or_default();
            own.iter().filter(|node| **node != u32::MAX).count()
        };
        let short = ranges.filter(|(_, (start, end))| count(**start, **end) < least);
        short.map(|(query, _)| query).collect()
    }

    /// The results of a query.
    fn matches_of(&self, query: usize) -> Vec<MatchFound> {
        let bounds = self.lims.get(query).zip(self.lims.get(query + 1));
        let places = bounds.map_or(0..0, |(start, end)| *start..*end);
        let found = places.filter_map(|at| {
            Some(MatchFound {
                id: *self.ids.get(at)?,
                row: *self.rows.get(at)?,
                node: *self.nodes.get(at).filter(|node| **node != u32::MAX)?,
                distance: *self.distances.get(at)?,
                error: *self.errors.get(at)?,
            })
        });
        found.collect()
    }

    /// Puts other results in the place of those of a query.
    fn replace(&mut self, query: usize, found: &[MatchFound], is_range: bool) {
        let bounds = self.lims.get(query).zip(self.lims.get(query + 1));
        let Some((start, end)) = bounds.map(|(start, end)| (*start, *end)) else {
            return;
        };
        let places = if is_range { found.len() } else { end - start };
        let fill = |at: usize| found.get(at);
        let all = 0..places;
        let ids = all
            .clone()
            .map(|at| fill(at).map_or(u64::MAX, |one| one.id));
        self.ids.splice(start..end, ids);
        let rows = all
            .clone()
            .map(|at| fill(at).map_or(u32::MAX, |one| one.row));
        self.rows.splice(start..end, rows);
        let nodes = all
            .clone()
            .map(|at| fill(at).map_or(u32::MAX, |one| one.node));
        self.nodes.splice(start..end, nodes);
        let distance = |at| fill(at).map_or(f32::INFINITY, |one| one.distance);
        self.distances.splice(start..end, all.clone().map(distance));
        let errors = all.map(|at| fill(at).map_or(0.0, |one| one.error));
        self.errors.splice(start..end, errors);
        for lim in self.lims.iter_mut().skip(query + 1) {
            *lim = *lim + places - (end - start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_hold_all_that_matches() {
        let matches = [3u32, 4, 17, 40, 999];
        let page_of = |node| u64::from(node / 10);
        let found: Vec<_> = runs(1000, |node| matches.contains(&node), page_of).collect();
        assert_eq!(found, [3..18, 40..41, 999..1000]);
        assert_eq!(runs(10, |_| false, page_of).count(), 0);
    }

    #[test]
    fn results_of_a_query_are_replaced() {
        let mut answers = Answers {
            k: 2,
            lims: vec![0, 2, 4],
            ids: vec![1, u64::MAX, 3, 4],
            rows: vec![1, u32::MAX, 3, 4],
            nodes: vec![1, u32::MAX, 3, 4],
            distances: vec![1.0, f32::INFINITY, 3.0, 4.0],
            errors: vec![0.0; 4],
            ..Answers::default()
        };
        assert_eq!(answers.short_of(2), [0]);
        let one = MatchFound {
            id: 9,
            row: 9,
            node: 9,
            distance: 0.5,
            error: 0.0,
        };
        answers.replace(0, &[one, one], false);
        assert_eq!(answers.ids, [9, 9, 3, 4]);
        answers.replace(0, &[one], true);
        assert_eq!(
            (answers.ids.as_slice(), answers.lims.as_slice()),
            (&[9, 3, 4][..], &[0, 1, 3][..])
        );
    }
}
