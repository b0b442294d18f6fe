//! Searching among the rows that match a filter: how, and the way that finds them all.

use super::collect::Answer;
use super::filter::Matched;
use super::watch::{Notes, Watch};
use super::{Index, Version};
use crate::error::Result;
use crate::execution::driver::Outcomes;
use crate::execution::{
    CallLists, EXACT_COST, Gathering, PAGE_COST, QuerySizes, QueryStats, Segment, WalkAmong,
};
use crate::filter::{FilterReport, Strategy};
use crate::options::{Answers, Queries, SearchOptions};

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

impl Index {
    /// Searches among the rows of segments that match, and the deltas: the cheaper way, and where a
    /// walk meets fewer than there are, or costs more than the other way, that one.
    pub(super) fn search_matching(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (list_size, matched): (u32, &Matched),
        watch: Watch<'_>,
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
            None => {
                let none = Answers::none(count, version.places(options));
                (none, Vec::new())
            }
            Some(lists) => self.search_sized(place, options, lists, watch)?,
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
            self.scan_codes(place, options, (lists, watch), &short, &mut answers)?;
            short = answers.short_of(least);
            rescued = rescued.max(short.len());
        }
        if !short.is_empty() {
            self.scan_vectors(place, options, (&short, watch), &mut answers)?;
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
        (lists, watch): (CallLists<'_>, Watch<'_>),
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
        let watch = watch.noting(Notes::default());
        let (found, _) = self.search_sized((version, &own), options, lists, watch)?;
        for (at, query) in chosen.iter().enumerate() {
            let found_own: Vec<Answer> = found.of_query(at).collect();
            answers.replace(*query, &found_own, true);
            if let Some((stats, more)) = answers.stats.get_mut(*query).zip(found.stats.get(at)) {
                stats.add(more);
            }
        }
        Ok(())
    }
}
