//! The spec of a build: the preset's row, sized by the memory and the disk that it may take.

use super::cut::Cut;
use super::thrift::Thrift;
use crate::error::{Error, Result};
use crate::memory::{Ledger, MemoryPart, MemoryWish, format_budget, format_bytes, largest};
use crate::options::BuildOptions;
use crate::plan::{Extent, index_bytes, least_memory, least_with_lists, more_queries};
use crate::presets::{Form, Sizes};
use crate::resolve;
use crate::spec::{IndexSpec, QuantizerSpec, Shape, SpecError};

/// Memory of searches by default: a share of the raw vectors, and at least so many bytes.
const DEFAULT_MEMORY: (f64, u64) = (0.2, 16_000_000);

/// Designs without a cache leave one in so many bytes of memory to further queries in flight.
const QUERY_SHARE: u64 = 16;

/// The budgets that a form is checked against, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Budget {
    Searches,
    Disk,
    Build,
}

/// A refusal of a form by a budget.
pub(super) struct Refused {
    budget: Budget,
    /// The smallest budget that works.
    least: u64,
    error: Error,
}

impl Refused {
    /// A refusal by the memory of a build.
    pub(super) fn while_building(error: Error, least: u64) -> Self {
        Self {
            budget: Budget::Build,
            least,
            error,
        }
    }

    /// The error for the caller.
    pub(super) fn into_error(self) -> Error {
        self.error
    }

    /// Says why another form is taken, if the build of this one lacks memory.
    fn passes_over(&self, form: &Form) -> Option<String> {
        let is_told = self.budget == Budget::Build && !form.name.is_empty();
        is_told.then(|| {
            format!(
                "form '{}' was passed over, which searches have memory for: {}",
                form.name,
                self.error.context()
            )
        })
    }

    /// The refusal by the later budget; of the same budget, the one that asks for less.
    pub(super) fn or(self, other: Self) -> Self {
        let further = |one: &Self| (one.budget, std::cmp::Reverse(one.least));
        if further(&other) > further(&self) {
            other
        } else {
            self
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self {
            budget: Budget::Searches,
            least: u64::MAX,
            error,
        }
    }
}

impl From<SpecError> for Refused {
    fn from(error: SpecError) -> Self {
        Error::from(error).into()
    }
}

pub(super) type OrRefused<T> = std::result::Result<T, Refused>;

/// The inputs that a spec is chosen by.
#[derive(Clone, Copy)]
pub(super) struct SpecChoice<'c> {
    pub(super) shape: Shape,
    pub(super) options: &'c BuildOptions,
    pub(super) sizes: Sizes,
    /// Bytes per code, if given.
    pub(super) code_bytes: Option<u32>,
    pub(super) cut: Cut,
    /// Bytes of a row as given; shares of memory and disk refer to these.
    pub(super) row_bytes: u64,
    /// Memory of filters; 0 without attributes.
    pub(super) filters: u64,
    /// Savings of disk that the spec makes.
    pub(super) thrift: Thrift,
}

impl SpecChoice<'_> {
    /// Calls `make` with the spec of each form until one succeeds, and returns its result, with the
    /// reason why an earlier form was passed over that searches have memory for.
    ///
    /// A spec makes the most of `memory_bytes` for the longest run: with the longest codes that
    /// memory holds, up to a useful length; or, if codes may lie in pages, with as many of them in
    /// memory as it holds.
    pub(super) fn first<T>(
        &self,
        memory_bytes: u64,
        make: impl Fn(IndexSpec) -> OrRefused<T>,
    ) -> Result<(T, Option<String>)> {
        let (mut passed_over, mut refused) = (None, None::<Refused>);
        for form in self.forms() {
            match self.spec_of(form, memory_bytes).and_then(&make) {
                Ok(made) => return Ok((made, passed_over)),
                Err(other) => {
                    passed_over = passed_over.or_else(|| other.passes_over(form));
                    refused = Some(match refused {
                        Some(refused) => refused.or(other),
                        None => other,
                    });
                }
            }
        }
        Err(refused.map_or_else(|| self.no_such_form(), Refused::into_error))
    }

    /// Forms that may be taken.
    pub(super) fn forms(&self) -> impl Iterator<Item = &'static Form> {
        let wanted = self.options.form.as_deref();
        let all = self.options.preset.forms();
        all.filter(move |form| wanted.is_none_or(|name| name == form.name))
    }

    pub(super) fn no_such_form(&self) -> Error {
        let (preset, wanted) = (self.options.preset, self.options.form.as_deref());
        let names = preset.form_names();
        let there = if names.is_empty() {
            "it has one".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        let wanted = wanted.unwrap_or_default();
        Error::invalid(format!("preset {preset} has no form '{wanted}': {there}"))
    }

    /// The spec of a form, with the savings that the granted disk asks for.
    fn spec_of(&self, form: &Form, memory_bytes: u64) -> OrRefused<IndexSpec> {
        let spec = self.within_memory(form, memory_bytes)?;
        let Some(limit) = self.options.disk.map(|wish| wish.resolve(self.raw_bytes())) else {
            return Ok(spec);
        };
        let mut choice = self.within_disk(spec, limit);
        for thrift in Thrift::steps() {
            let thrifty = Self { thrift, ..*self };
            choice = choice.or_else(|refused| {
                let spec = thrifty.within_memory(form, memory_bytes);
                // A saving may take memory, or clash with another choice.
                let Ok(spec) = spec else {
                    return Err(refused);
                };
                let fitted = thrifty.within_disk(spec, limit);
                fitted.map_err(|other| refused.or(other))
            });
        }
        choice
    }

    /// The spec of a form, with as long codes as memory holds.
    fn within_memory(&self, form: &Form, memory_bytes: u64) -> OrRefused<IndexSpec> {
        let extent = self.cut.extent();
        let lists = |spec: &IndexSpec| {
            if form.lists_first {
                let of_run = resolve::list_memory_bytes(spec, extent.longest, None);
                of_run.saturating_mul(extent.segments.into())
            } else {
                0
            }
        };
        let filters = self.filters;
        let fits = |spec: &IndexSpec| settle((spec, extent), (lists(spec), filters), memory_bytes);
        let storage = self.with_codes(form, 1)?.storage;
        let codes = storage.codes;
        let code_bytes = match (self.code_bytes, codes.is_memory()) {
            (Some(code_bytes), _) => code_bytes,
            (None, true) => {
                let (least, useful) = self.code_range(form, storage.quantizer);
                fits(&self.checked(form, least)?)?;
                let fits_with_queries = |code_bytes| {
                    let Ok(spec) = self.with_codes(form, code_bytes) else {
                        return false;
                    };
                    // With a cache, queries can take their memory from that later.
                    let now = form.lists_first || spec.cache.is_none();
                    let more = match more_queries(&spec, extent) {
                        Ok(more) if now => {
                            more.min(memory_bytes.saturating_sub(filters) / QUERY_SHARE)
                        }
                        Ok(_) | Err(_) => 0,
                    };
                    let beside = (lists(&spec) + more, filters);
                    settle((&spec, extent), beside, memory_bytes).is_ok()
                };
                largest(least, useful, fits_with_queries)
            }
            (None, false) => self
                .thrift
                .code_bytes(in_page_code_bytes(self.shape.dimension)),
        };
        let mut spec = self.checked(form, code_bytes)?;
        if codes.is_split() {
            let split = |memory_nodes| {
                let mut spec = spec.clone();
                spec.storage.codes = codes.with_memory_nodes(memory_nodes);
                spec
            };
            let most = largest(0, self.cut.longest(), |nodes| fits(&split(nodes)).is_ok());
            spec = split(most);
        }
        fits(&spec)?;
        Ok(spec)
    }

    /// Shortest and longest code to choose from.
    fn code_range(&self, form: &Form, quantizer: QuantizerSpec) -> (u32, u32) {
        let dimension = self.shape.dimension;
        if !quantizer.has_bounds() {
            return (1, useful_code_bytes(dimension));
        }
        let (smallest, largest) = resolve::code_range(quantizer, dimension);
        let least = (dimension as f32 * form.least_bits / 8.0) as u32;
        let useful = smallest + useful_bounded_bytes(self.shape);
        ((smallest + least).min(largest), useful.min(largest))
    }

    fn with_codes(&self, form: &Form, code_bytes: u32) -> Result<IndexSpec> {
        let sizes = Sizes {
            code_bytes,
            ..self.sizes
        };
        let mut spec = (form.spec)(self.shape, &sizes);
        self.thrift.apply(&mut spec);
        if self.has_too_few_for_axes() {
            spec.storage.rotate_codes_at_random();
        }
        let mut spec = self.options.overrides.patch(&spec)?;
        let quantizer = &mut spec.storage.quantizer;
        // A code with factors takes some bytes before its first bit.
        let (least, _) = resolve::code_range(*quantizer, self.shape.dimension);
        *quantizer = quantizer.with_code_bytes(code_bytes.max(least));
        if let Some(second) = &mut spec.storage.second_quantizer {
            let (least, most) = resolve::code_range(*second, self.shape.dimension);
            *second = second.with_code_bytes(second.code_bytes().clamp(least, most));
        }
        Ok(spec)
    }

    /// Whether there are too few vectors to find principal axes by, which would cost time and
    /// memory for nothing.
    fn has_too_few_for_axes(&self) -> bool {
        self.cut.longest() <= self.shape.dimension && self.options.codebook_from.is_none()
    }

    fn checked(&self, form: &Form, code_bytes: u32) -> Result<IndexSpec> {
        let spec = self.with_codes(form, code_bytes)?;
        spec.validate()?;
        Ok(spec)
    }

    /// Packs fewer lists beside a record if the granted disk is too small for all.
    fn within_disk(&self, spec: IndexSpec, limit: u64) -> OrRefused<IndexSpec> {
        let packed = |lists| {
            let mut spec = spec.clone();
            spec.layout.codec = spec.layout.codec.with_packed_lists(lists);
            spec
        };
        let bytes = |spec: &IndexSpec| {
            let of_run = index_bytes(spec, self.cut.longest())?;
            Ok::<u64, Error>(of_run * u64::from(self.cut.runs()))
        };
        let most = spec.layout.codec.packed_lists();
        let fits = |lists| bytes(&packed(lists)).is_ok_and(|bytes| bytes <= limit);
        let chosen = packed(largest(0, most, fits));
        let needed = bytes(&chosen)?;
        if needed <= limit {
            return Ok(chosen);
        }
        Err(Refused {
            budget: Budget::Disk,
            least: needed,
            error: Error::invalid(format!(
                "a disk limit of {} is too small for this index; the smallest that works is \
                 {needed} B ({})",
                format_budget(limit),
                format_bytes(needed)
            )),
        })
    }

    /// Bytes of all raw vectors.
    pub(super) fn raw_bytes(&self) -> u64 {
        u64::from(self.cut.rows()) * self.row_bytes
    }

    /// Memory of searches over all rows: as wished, or the default, but always enough to search
    /// with.
    pub(super) fn search_memory(&self) -> u64 {
        let raw_bytes = self.raw_bytes();
        if let Some(wish) = self.options.memory {
            return wish.resolve(raw_bytes);
        }
        let (share, least) = DEFAULT_MEMORY;
        let wished = MemoryWish::Share(share).resolve(raw_bytes);
        wished.max(least).max(self.least_of_forms() + self.filters)
    }

    /// The least memory that one of the forms works with; 0 if none is legal.
    fn least_of_forms(&self) -> u64 {
        let least = self.forms().filter_map(|form| {
            let spec = self.checked(form, self.code_bytes.unwrap_or(1)).ok()?;
            Some(least_memory(&spec, self.cut.extent()).ok()?.reserved())
        });
        least.min().unwrap_or(0)
    }
}

fn settle(
    (spec, extent): (&IndexSpec, Extent),
    (lists, filters): (u64, u64),
    memory_bytes: u64,
) -> OrRefused<()> {
    let least = if lists > 0 {
        least_with_lists(spec, extent)?
    } else {
        least_memory(spec, extent)?
    };
    let mut ledger = Ledger::new(memory_bytes);
    least
        .entries()
        .iter()
        .for_each(|(part, bytes)| ledger.reserve(*part, *bytes));
    for (part, bytes) in [(MemoryPart::Lists, lists), (MemoryPart::Filters, filters)] {
        if bytes > 0 {
            ledger.reserve(part, bytes);
        }
    }
    ledger
        .settle("searching this index")
        .map_err(|error| Refused {
            budget: Budget::Searches,
            least: ledger.reserved(),
            error,
        })
}

/// Memory of searches of an index that holds all lists, with `nodes` nodes in one segment.
pub(crate) fn memory_with_lists(spec: &IndexSpec, nodes: u32) -> Result<u64> {
    let least = least_with_lists(spec, nodes.into())?.reserved();
    Ok(least + resolve::list_memory_bytes(spec, nodes, None))
}

/// Longest code worth its bytes: beyond it, memory serves better as a cache of records.
fn useful_code_bytes(dimension: u32) -> u32 {
    (dimension / 3).max(dimension.min(32)).clamp(1, 384)
}

/// Bits per component by which most distances of near vectors are known to a hundredth.
const USEFUL_BITS: u32 = 6;

/// Longest code with error bounds worth its bytes: six bits per component of floats, and else four
/// up to 256 bytes and two where those are more. Memory that longer ones would take saves more
/// reads as a cache of vectors.
fn useful_bounded_bytes(shape: Shape) -> u32 {
    let dimension = shape.dimension;
    if shape.element.is_float() {
        return dimension * USEFUL_BITS / 8;
    }
    (dimension / 2).min(256).max(dimension / 4)
}

/// Code length where codes lie in pages, many times over: a quarter of the dimension for short
/// vectors, an eighth for long ones.
fn in_page_code_bytes(dimension: u32) -> u32 {
    (dimension / 8)
        .max(dimension.div_ceil(4).min(32))
        .clamp(1, 96)
}
