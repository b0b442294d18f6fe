//! What could be built: every preset, as it is and with a choice or two in place of its own, in
//! every size; and why what cannot be built cannot.
//!
//! Nothing here knows a preset by name: a new row of the table is one more candidate.

use pageway::choices::{find, name_of, schedules};
use pageway::spec::{IndexSpec, Shape};
use pageway::{BuildOptions, Error, Footprint, MemoryWish, Sizes, format_bytes};
use serde::Serialize;

use crate::design::{Design, designs};
use crate::wish::Pins;

/// Page sizes that are tried.
const PAGES: [u32; 3] = [4096, 8192, 16_384];
/// Longest lists that are tried.
const DEGREES: [u32; 3] = [48, 32, 64];

/// What is to be built an index of, and in how much memory it is to be searched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Space<'p> {
    /// Shape of the vectors.
    pub shape: Shape,
    /// Vectors.
    pub nodes: u32,
    /// Whether all components are below 2 in size.
    pub below_two: bool,
    /// Memory of a search.
    pub memory_bytes: u64,
    /// What is not open.
    pub pins: &'p Pins,
    /// Seed of the build.
    pub seed: u64,
}

/// A design in one size.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The preset, and what is chosen in place of its own.
    pub name: String,
    /// What builds it; memory and recall are left to the caller.
    pub options: BuildOptions,
    /// What it is.
    pub spec: IndexSpec,
    /// What it takes.
    pub footprint: Footprint,
}

/// A design that cannot be, in these sizes or this memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Refusal {
    /// As of a candidate.
    pub name: String,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Longest adjacency list (R).
    pub degree: u32,
    /// Why not.
    pub why: String,
    /// Bytes of memory that would do, where those are what is missing.
    pub needed_bytes: Option<u64>,
}

/// The same without its name.
#[derive(Debug)]
pub(crate) struct Unfit {
    why: String,
    needed_bytes: Option<u64>,
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        Self {
            why: error.context().to_owned(),
            needed_bytes: None,
        }
    }
}

/// Every candidate that is legal and fits the memory, none twice; and those that are not or do
/// not. Costs some microseconds each, and there are hundreds.
pub fn enumerate(space: &Space<'_>) -> (Vec<Candidate>, Vec<Refusal>) {
    let (mut legal, mut refused) = (Vec::new(), Vec::new());
    for design in designs(space.pins) {
        for options in space.options(&design) {
            match space.sized(&design.name, &options) {
                Ok(candidates) => legal.extend(candidates),
                Err(Unfit { why, needed_bytes }) => refused.push(Refusal {
                    name: design.name.clone(),
                    page_bytes: options.page_bytes,
                    degree: options.degree,
                    why,
                    needed_bytes,
                }),
            }
        }
    }
    let mut distinct: Vec<Candidate> = Vec::with_capacity(legal.len());
    for candidate in legal {
        if !distinct.iter().any(|other| other.spec == candidate.spec) {
            distinct.push(candidate);
        }
    }
    (distinct, refused)
}

/// Refuses a memory that holds nothing, with the refusal that asks for least.
pub(crate) fn refuse_nothing(
    candidates: &[Candidate],
    refused: &[Refusal],
    bytes: u64,
) -> pageway::Result<()> {
    if !candidates.is_empty() {
        return Ok(());
    }
    let needs = |one: &&Refusal| one.needed_bytes.is_some();
    let nearest = refused
        .iter()
        .filter(needs)
        .min_by_key(|one| one.needed_bytes);
    let words = nearest.or(refused.first()).map_or_else(String::new, |one| {
        let (name, why, pages) = (&one.name, &one.why, one.page_bytes / 1024);
        format!(
            ": {name} with {pages} KiB pages and R {}: {why}",
            one.degree
        )
    });
    Err(Error::invalid(format!(
        "no design can be searched in {} with what is pinned{words}",
        format_bytes(bytes)
    )))
}

impl Space<'_> {
    /// A design in all sizes that are open.
    fn options(&self, design: &Design) -> Vec<BuildOptions> {
        let pages = self.pins.page_bytes.map_or(PAGES.to_vec(), |one| vec![one]);
        let degrees = self.pins.degree.map_or(DEGREES.to_vec(), |one| vec![one]);
        let mut all = Vec::new();
        for degree in degrees {
            for page_bytes in &pages {
                all.push(
                    BuildOptions::default()
                        .with_metric(self.shape.metric)
                        .with_preset(design.preset)
                        .with_form(design.form.clone())
                        .with_degree(degree)
                        .with_build_list((2 * degree).max(BuildOptions::default().build_list))
                        .with_page_bytes(*page_bytes)
                        .with_beam(self.pins.beam)
                        .with_overrides(self.pins.overrides.or(&design.overrides))
                        .with_seed(self.seed),
                );
            }
        }
        all
    }

    /// The candidates of a design: one per length of the codes that is worth trying.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn sized(
        &self,
        name: &str,
        options: &BuildOptions,
    ) -> Result<Vec<Candidate>, Unfit> {
        let candidate = |code_bytes| self.candidate(name, options, code_bytes);
        if let Some(code_bytes) = self.pins.code_bytes(self.shape.dimension) {
            return candidate(code_bytes).map(|one| vec![one]);
        }
        let own = self.built(options, None).ok();
        let longest = own.map_or(1, |spec| spec.storage.quantizer.code_bytes());
        let first = candidate(longest)?;
        // Half of it leaves memory to caches, or room in pages to neighbours.
        let shorter = candidate((longest / 2).max(1)).ok();
        let shorter = shorter.filter(|shorter| shorter.spec != first.spec);
        Ok(std::iter::once(first).chain(shorter).collect())
    }

    /// What a build makes of it in this memory.
    fn built(&self, options: &BuildOptions, code_bytes: Option<u32>) -> pageway::Result<IndexSpec> {
        let options = options
            .clone()
            .with_code_bytes(code_bytes)
            .with_memory(MemoryWish::Bytes(self.memory_bytes));
        options.spec_for(self.shape, self.nodes)
    }

    /// The design for as much memory as it likes.
    fn spec(&self, options: &BuildOptions, code_bytes: u32) -> IndexSpec {
        let sizes = Sizes {
            code_bytes,
            ..options.sizes()
        };
        let form = options.form.as_deref();
        let named = form.and_then(|form| options.preset.spec_of(form, self.shape, &sizes));
        let spec = named.unwrap_or_else(|| options.preset.spec(self.shape, &sizes));
        let mut spec = options.overrides.apply(spec);
        let quantizer = &mut spec.storage.quantizer;
        *quantizer = quantizer.with_code_bytes(code_bytes);
        spec
    }

    /// A design in one size.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(crate) fn candidate(
        &self,
        name: &str,
        options: &BuildOptions,
        code_bytes: u32,
    ) -> Result<Candidate, Unfit> {
        let built = self.built(options, Some(code_bytes));
        let spec = match &built {
            Ok(spec) => spec.clone(),
            // What it would take is in its footprint.
            Err(_) => self.spec(options, code_bytes),
        };
        let footprint = Footprint::of_rows(&spec, self.nodes, self.below_two)?;
        let least = footprint.memory_bytes();
        if least > self.memory_bytes {
            let (granted, words) = (format_bytes(self.memory_bytes), format_bytes(least));
            return Err(Unfit {
                why: format!("it needs {words} of memory, and {granted} is there"),
                needed_bytes: Some(least),
            });
        }
        built?;
        let options = options.clone().with_code_bytes(code_bytes);
        Ok(Candidate {
            name: name.to_owned(),
            options,
            spec,
            footprint,
        })
    }
}

impl Candidate {
    /// The design without its sizes: what one trial of it tells about all its sizes. Designs with
    /// lists and designs with clusters are two.
    pub fn family(&self) -> String {
        self.of_form(&self.name)
    }

    /// Its preset, in its form.
    pub(crate) fn preset_form(&self) -> String {
        let preset = self.options.preset.name();
        if self.options.form.is_some() {
            self.name.clone()
        } else {
            self.of_form(preset)
        }
    }

    fn of_form(&self, name: &str) -> String {
        let has_lists = self.spec.graph.has_lists();
        let form = if has_lists { "" } else { ", clusters" };
        format!("{name}{form}")
    }

    /// Bytes per code.
    pub fn code_bytes(&self) -> u32 {
        self.spec.storage.quantizer.code_bytes()
    }

    /// Its sizes, in words.
    pub fn sizes(&self) -> String {
        format!(
            "{} KiB pages, R {}, {} B codes, W {}",
            self.options.page_bytes / 1024,
            self.options.degree,
            self.code_bytes(),
            self.spec.execution.schedule.beam()
        )
    }

    /// The same with another number of reads in flight.
    ///
    /// # Errors
    /// `InvalidInput` for a number that cannot be.
    pub fn with_beam(&self, beam: u32) -> pageway::Result<Self> {
        let mut other = self.clone();
        other.options.beam = Some(beam);
        let sizes = Sizes {
            beam: Some(beam),
            ..Sizes::default()
        };
        let name = name_of(&other.spec.execution.schedule);
        if let Some(schedule) = find(&schedules(&sizes), &name) {
            other.spec.execution.schedule = schedule;
            if other.options.overrides.schedule.is_some() {
                other.options.overrides.schedule = Some(schedule);
            }
        }
        other.footprint.memory = Footprint::of(&other.spec, self.footprint.nodes)?.memory;
        Ok(other)
    }

    /// The arguments of `pageway build` that make it, beside those for files, metric and wishes.
    pub fn arguments(&self) -> Vec<String> {
        let options = &self.options;
        let mut all = vec![format!("--preset {}", options.preset)];
        let mut add = |flag: &str, value: Option<String>| {
            all.extend(value.map(|value| format!("--{flag} {value}")));
        };
        add("form", options.form.clone());
        add("page-size", Some(options.page_bytes.to_string()));
        add("degree", Some(options.degree.to_string()));
        add("build-list", Some(options.build_list.to_string()));
        add("code-bytes", Some(self.code_bytes().to_string()));
        add("beam", options.beam.map(|beam| beam.to_string()));
        all.extend(options.overrides.arguments());
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pageway::Preset;
    use pageway::spec::CodeStorage;

    use super::*;
    use crate::fixture::SHAPE;

    fn space(memory_bytes: u64, pins: &Pins) -> Space<'_> {
        Space {
            shape: SHAPE,
            nodes: 1_000_000,
            below_two: false,
            memory_bytes,
            pins,
            seed: 42,
        }
    }

    #[test]
    fn all_that_is_legal_fits_and_is_there_once() {
        let pins = Pins::default();
        let (legal, _) = enumerate(&space(40_000_000, &pins));
        for (at, candidate) in legal.iter().enumerate() {
            candidate.spec.validate().unwrap();
            assert!(candidate.footprint.memory_bytes() <= 40_000_000);
            assert!(
                legal[at + 1..]
                    .iter()
                    .all(|other| other.spec != candidate.spec)
            );
        }
        let presets: BTreeSet<&str> = legal.iter().map(|one| one.options.preset.name()).collect();
        assert_eq!(presets.len(), Preset::ALL.len());
        let pages: BTreeSet<u32> = legal.iter().map(|one| one.options.page_bytes).collect();
        assert_eq!(pages, BTreeSet::from(PAGES));
    }

    #[test]
    fn what_does_not_fit_says_how_much_it_needs() {
        let pins = Pins::default();
        let (legal, refused) = enumerate(&space(1_000_000, &pins));
        let in_memory = |one: &Candidate| one.spec.storage.codes == CodeStorage::Memory;
        assert!(!legal.is_empty() && !legal.iter().any(in_memory));
        let of_memory = |one: &&Refusal| one.why.contains("of memory, and 1.0 MB is there");
        let found = refused.iter().find(of_memory).unwrap();
        assert!(found.why.contains("needs"), "{found:?}");
        let illegal = refused.iter().find(|one| one.why.contains("not possible"));
        assert!(illegal.is_some());
    }

    #[test]
    fn pins_leave_nothing_else_open() {
        let mut pins = Pins::default();
        for pin in ["page-size=8192", "degree=24", "code-bytes=20", "beam=3"] {
            pins.set(pin).unwrap();
        }
        let cache = pageway::CacheOverrides {
            pages: Some(pageway::spec::PageCacheSpec::Lru),
            page_share: Some(0.5),
            ..pageway::CacheOverrides::default()
        };
        pins.overrides.cache = cache;
        let (legal, _) = enumerate(&space(60_000_000, &pins));
        assert!(!legal.is_empty());
        for candidate in &legal {
            let spec = &candidate.spec;
            assert_eq!(spec.layout.page_bytes, 8192);
            // Clusters have no lists.
            assert!([0, 24].contains(&spec.graph.max_degree()), "{spec:?}");
            assert_eq!(candidate.code_bytes(), 20);
            assert_eq!(spec.execution.schedule.beam(), 3);
            assert_eq!(spec.cache.page_share, 0.5);
        }
    }

    #[test]
    fn arguments_name_what_differs_from_the_preset() {
        let pins = Pins::default();
        let (legal, _) = enumerate(&space(40_000_000, &pins));
        let plain = legal.iter().find(|one| one.name == "starling").unwrap();
        let line = plain.arguments().join(" ");
        assert!(
            line.starts_with("--preset starling --page-size 4096"),
            "{line}"
        );
        assert!(!line.contains("--placement"), "{line}");
        let changed = legal.iter().find(|one| one.name == "diskann +shuffled");
        let line = changed.unwrap().arguments().join(" ");
        assert!(
            line.contains("--placement bnf:gain=0.01,rounds=8"),
            "{line}"
        );
        assert!(line.ends_with("--harvest near:share=0.3"), "{line}");
    }

    #[test]
    fn codes_with_bounds_are_tried_where_a_design_has_others() {
        let mut pins = Pins::default();
        pins.overrides.ids_in_memory = Some(false);
        let (legal, _) = enumerate(&space(40_000_000, &pins));
        let with_bounds = |one: &&Candidate| one.name.ends_with("+rabitq");
        let lines = legal.iter().filter(with_bounds);
        let lines: Vec<String> = lines.map(|one| one.arguments().join(" ")).collect();
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("--preset starling"))
        );
        assert!(
            !lines
                .iter()
                .any(|line| line.starts_with("--preset pageway"))
        );
        for line in &lines {
            assert!(
                line.contains("--quantizer rabitq:rotation=principal"),
                "{line}"
            );
            assert!(line.contains("--ids-in-memory false"), "{line}");
        }
    }
}
