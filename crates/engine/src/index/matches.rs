//! Searching among the rows that match a filter: how, and the way that finds them all.

use pageway_quant::BLOCK_CODES;

use super::filter::Matched;
use super::subset::QuerySubset;
use super::watch::{Notes, Watch};
use super::{Index, Version};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::Outcomes;
use crate::execution::{
    CallLists, EXACT_COST, Gathering, PAGE_COST, QuerySizes, Segment, WalkAmong,
};
use crate::filter::{FilterReport, Strategy};
use crate::options::{Answers, Effort, Queries, SearchOptions};

/// Neighbours of a node that are scored when it is expanded: about so many are new.
const NEW_NEIGHBORS: f64 = 20.0;
/// Clusters that are looked into for a place of a list, about.
const CLUSTERS_EACH: f64 = 2.0;
/// Vectors that are read for each answer where codes have error bounds, about.
const READ_EACH: f64 = 3.0;

/// Pages that a way reads at most, as a multiple of those of a search without a filter, where there
/// is one that reads fewer.
const MOST_PAGES: f64 = 2.0;

/// Times the list of a search without a filter that a walk which reads may still lack, where codes
/// can be scanned in its place.
const MOST_WALKED: f64 = 1.75;

/// Part of the misses that are allowed which error bounds may have after a walk among few rows,
/// which misses the rest; among all rows calibration has tried both.
const WALK_PART: f64 = 0.5;

/// Costs of a query, in scores of codes.
struct Costs {
    walk: f64,
    scan: f64,
    /// Of the scan what a walk is compared with before it is given up: without the reads that end
    /// both, where those of a walk come last.
    most: f64,
    /// Places that the list of a walk may lack before it is given up for the scan.
    longest: f64,
    /// An expansion, beside codes and pages.
    expansion: f64,
    /// The cheaper scan.
    scans: Strategy,
    strategy: Strategy,
}

impl Costs {
    /// What a report says of them.
    fn report(&self, matched: &Matched, (answers, rescued): (&Answers, usize)) -> FilterReport {
        let costs = answers.stats.iter().map(|own| own.cost(self.expansion));
        let spent: f64 = costs.sum();
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
    /// The way that was asked for, or the cheaper one.
    ///
    /// # Errors
    /// `Unsupported` for a scan of codes where memory does not hold those of all rows.
    fn chosen(
        &self,
        options: &SearchOptions,
        (list_size, matches): (u32, u64),
        queries: usize,
    ) -> Result<Costs> {
        let mut costs = self.costs(matches, (list_size, options.k), queries);
        match (options.exact, options.strategy) {
            (true, None | Some(Strategy::ScanVectors)) => costs.strategy = Strategy::ScanVectors,
            (true, Some(other)) => {
                let words = format!(
                    "an exact search compares every row: no {} does",
                    other.name()
                );
                return Err(Error::invalid(words));
            }
            (false, Some(Strategy::ScanCodes)) if !self.all(|one| one.parts.scans_codes()) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "filter strategy scan-codes: memory does not hold the code of every row of this \
                     index; walk and scan-vectors are possible",
                ));
            }
            (false, Some(own)) => costs.strategy = own,
            (false, None) => {}
        }
        Ok(costs)
    }

    /// Nodes of a cluster, mean, where all segments have clusters in memory.
    fn cluster_nodes(&self) -> Option<f64> {
        let scans = |one: &Segment| one.shape.gathering() == Gathering::Scanning;
        let own = self.segments.iter().map(|one| {
            let clusters = one.parts.entry().clusters().filter(|_| scans(one))?;
            Some(clusters.mean_nodes())
        });
        own.reduce(|one, next| Some(one?.max(next?)))?
    }

    /// Whether walks read a page for each candidate that they expand.
    fn reads(&self) -> bool {
        !self.all(|one| one.shape.gathering() != Gathering::Reading)
    }

    /// Whether a test holds of all segments.
    fn all(&self, test: fn(&Segment) -> bool) -> bool {
        self.segments.iter().all(test)
    }

    /// Estimates what finding the nearest of so many matches costs, and takes the cheaper way of
    /// those that read few pages, if there is any.
    fn costs(&self, matches: u64, (list_size, k): (u32, u32), queries: usize) -> Costs {
        let share = matches as f64 / f64::from(self.node_count().max(1));
        let (nodes, matches) = (f64::from(self.node_count()), matches as f64);
        let list = f64::from(list_size);
        let calibration = &self.manifest.calibration;
        // A list that holds as many rows that match holds so many more that do not.
        let expanded = calibration.list_size_among(k, list_size, share).min(nodes);
        let reads = self.reads();
        let own = if reads { PAGE_COST } else { 0.0 };
        let wanted = if reads {
            list
        } else {
            READ_EACH * f64::from(k)
        };
        let read = matches.min(wanted) * PAGE_COST;
        // One pass reads the vectors for all queries.
        let each = matches / queries.max(1) as f64;
        let vectors = each * PAGE_COST + matches * EXACT_COST;
        // Clusters are scored a block at a time, whoever matches in it.
        let clustered = self.cluster_nodes().is_some();
        let scored = if clustered {
            (matches * BLOCK_CODES as f64).min(nodes)
        } else {
            matches
        };
        let codes = self
            .all(|one| one.parts.scans_codes())
            .then_some(scored + read);
        let gathering = if clustered {
            Gathering::Scanning
        } else {
            Gathering::InMemory
        };
        let expansion = gathering.expansion_cost();
        let place = self
            .cluster_nodes()
            .map_or(NEW_NEIGHBORS, |own| CLUSTERS_EACH * own);
        let walk = expanded * (place + expansion + own);
        let walk = if clustered { walk.min(nodes) } else { walk };
        let walk = if reads { walk } else { walk + read };
        // A search without a filter reads its list, or little more than its answers.
        let usual = if reads { list } else { f64::from(k) };
        let most = MOST_PAGES * usual;
        let scans_few = |codes: f64| each > most || codes < vectors;
        let (scan, scans) = match codes {
            Some(codes) if scans_few(codes) => (codes, Strategy::ScanCodes),
            Some(_) | None => (vectors, Strategy::ScanVectors),
        };
        let longest = match scans {
            Strategy::ScanCodes if reads => MOST_WALKED * list,
            Strategy::ScanCodes | Strategy::ScanVectors | Strategy::Walk => f64::INFINITY,
        };
        let walks_far = reads && expanded > most && scans == Strategy::ScanCodes;
        let is_better = scan <= walk || walks_far || matches <= MIN_MATCHES;
        Costs {
            walk,
            scan,
            most: if reads { scan } else { (scan - read).max(0.0) },
            longest,
            expansion,
            scans,
            strategy: if is_better { scans } else { Strategy::Walk },
        }
    }
}

impl Version {
    /// Share of all rows that match.
    fn share_of(&self, matched: &Matched) -> f64 {
        matched.living as f64 / f64::from(self.node_count().max(1))
    }

    /// Sizes that a walk among some rows begins with.
    fn walking(&self, options: &SearchOptions, sizes: QuerySizes) -> QuerySizes {
        let is_told = self.reads() && options.radius.is_none();
        if is_told { sizes.halved() } else { sizes }
    }

    /// How far a walk among so many rows goes: none within a radius.
    fn among(
        &self,
        options: &SearchOptions,
        list_size: u32,
        (matched, costs): (&Matched, &Costs),
    ) -> Option<WalkAmong> {
        let share = self.share_of(matched);
        let alone = f64::from(list_size);
        let (manifest, k) = (&self.manifest, options.k);
        options.radius.is_none().then(|| WalkAmong {
            share,
            alone,
            // Where pages are scored whole, the list lacks what was near.
            list_size: if manifest.spec.execution.harvest.scores_pages() {
                alone / share.max(f64::MIN_POSITIVE)
            } else {
                manifest.calibration.list_size_among(k, list_size, share)
            },
            most: costs.most,
            longest: costs.longest,
        })
    }
}

/// Share of the answers that error bounds may leave out of what a search has found.
fn left_out(effort: Effort, part: f64) -> Option<f32> {
    match effort {
        Effort::Recall(recall) => Some(part as f32 * (1.0 - recall).max(0.0)),
        Effort::ListSize(_) => None,
    }
}

/// Lists that hold what matches, for queries of `sizes`.
fn listed(
    sizes: QuerySizes,
    (matched, effort): (&Matched, Effort),
    version: &Version,
) -> CallLists<'static> {
    let deepens = version.manifest.spec.execution.refine.is_inline();
    CallLists {
        admitted: true,
        left_out: left_out(effort, 1.0),
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
        let costs = version.chosen(options, (list_size, matched.living), count)?;
        let among = Queries {
            admitted: Some(&matched.set),
            ..*queries
        };
        let place = (version, &among);
        let sizes = version.sizes_for(options, list_size, among.admitted)?;
        let lists = match costs.strategy() {
            Strategy::ScanVectors => None,
            Strategy::ScanCodes => Some(listed(sizes, (matched, options.effort), version)),
            Strategy::Walk => Some(CallLists {
                among: version.among(options, list_size, (matched, &costs)),
                left_out: left_out(options.effort, version.share_of(matched).max(WALK_PART)),
                ..CallLists::fixed(version.walking(options, sizes))
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
            let lists = listed(sizes, (matched, options.effort), version);
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
        self.add_deltas(version, (queries, options), (&mut answers, &[]));
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
        let subset = QuerySubset::of(queries, chosen);
        let watch = watch.noting(Notes::default());
        let place = (version, &subset.queries(queries));
        let (found, _) = self.search_sized(place, options, lists, watch)?;
        subset.put_into(answers, &found);
        Ok(())
    }
}
