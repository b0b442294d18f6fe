//! Bytes on disk of what a run makes, before there is any of it.

use pageway::choices::{Policy, choices};
use pageway::spec::{CodeStorage, IndexSpec, Shape};
use pageway::{Footprint, MemoryWish, Overrides, Preset, Result, Sizes};

use super::IndexPlan;

/// Bytes that other libraries keep, as a multiple of vectors and lists in four bytes each: copies
/// that their builds need for a while, and files that are aligned to pages.
const LIBRARY_SHARE: f64 = 1.5;

/// Bytes of an index over `rows` vectors.
///
/// # Errors
/// Why it will be refused.
pub(super) fn index_bytes(
    index: &IndexPlan,
    rows: u64,
    (shape, degree): (Shape, u32),
) -> Result<u64> {
    let spec = spec(index, rows, (shape, degree))?;
    let footprint = Footprint::of(&spec, u32::try_from(rows).unwrap_or(u32::MAX))?;
    Ok(footprint.disk_bytes)
}

/// Bytes of an index of another library.
pub(super) fn library_bytes(rows: u64, shape: Shape, degree: u32) -> u64 {
    let row_bytes = 4.0 * f64::from(shape.dimension + degree);
    (rows as f64 * row_bytes * LIBRARY_SHARE) as u64
}

/// The spec of a planned index, about: codes that the engine chooses are as long as it makes them
/// at most, and where they are divided, memory holds nothing else.
fn spec(index: &IndexPlan, rows: u64, (shape, degree): (Shape, u32)) -> Result<IndexSpec> {
    let preset: Preset = index.flags.preset.parse()?;
    let of = |code_bytes: u32| -> Result<IndexSpec> {
        let sizes = Sizes {
            max_degree: degree,
            page_bytes: index.settings.page_size,
            code_bytes: code_bytes.max(1),
            ..Sizes::default()
        };
        let overrides = overrides(&index.flags.flags, &sizes)?;
        Ok(overrides.apply(preset.spec(shape, &sizes)))
    };
    let dimension = shape.dimension;
    let spec = of(index.settings.code_bytes.unwrap_or(dimension / 3))?;
    if spec.storage.codes.is_memory() {
        return Ok(spec);
    }
    let given = index.settings.code_bytes;
    let code_bytes = given.unwrap_or_else(|| code_bytes_in_page(dimension));
    let mut spec = of(code_bytes)?;
    if spec.storage.codes.is_split() {
        let raw_bytes = rows * shape.vectors().row_bytes() as u64;
        let memory = index.settings.memory.parse::<MemoryWish>()?;
        let held = (memory.resolve(raw_bytes) / u64::from(code_bytes.max(1))).min(rows);
        let memory_nodes = u32::try_from(held).unwrap_or(u32::MAX);
        spec.storage.codes = CodeStorage::Split { memory_nodes };
    }
    Ok(spec)
}

/// Bytes that the engine gives a code beside every list that names it.
fn code_bytes_in_page(dimension: u32) -> u32 {
    (dimension / 8).max((dimension / 4).min(32))
}

/// The choices among arguments of `pageway build`; others change no bytes on disk.
fn overrides(flags: &[String], sizes: &Sizes) -> Result<Overrides> {
    let typed = |pair: &'_ [String]| {
        let [flag, text] = pair else { return None };
        let policy = choices().find(|policy| policy.flag == flag)?;
        Some((policy, text.clone()))
    };
    let typed: Vec<(&'static Policy, String)> = flags.windows(2).filter_map(typed).collect();
    let read = typed.iter().map(|(policy, text)| (*policy, text.as_str()));
    Overrides::read(read, sizes)
}

#[cfg(test)]
mod tests {
    use pageway::{ElementType, Metric};

    use super::*;
    use crate::plan::Plan;
    use crate::suite::Suite;

    const SHAPE: Shape = Shape {
        dimension: 128,
        element: ElementType::U8,
        metric: Metric::L2,
    };

    #[test]
    fn every_design_of_the_whole_evaluation_has_its_own_size() {
        let plan = Plan::of(&Suite::builtin("all").unwrap()).unwrap();
        let bytes = |design: &str| {
            let mut of = plan.indexes.iter().filter(|index| index.design == design);
            let index = of.find(|index| index.settings.page_size == 4096).unwrap();
            index_bytes(index, 100_000, (SHAPE, 48)).unwrap()
        };
        let raw = 100_000 * (128 + 4 * 48);
        for index in &plan.indexes {
            let bytes = index_bytes(index, 100_000, (SHAPE, 48)).unwrap();
            assert!(bytes > 100_000 * 128, "{}: {bytes}", index.key);
        }
        assert!(bytes("diskann") < raw * 3 / 2);
        assert!(bytes("aisaq") > 4 * raw);
        assert!(bytes("decoupled") < 2 * raw);
        assert!(bytes("gorgeous") > 2 * bytes("diskann"));
    }

    #[test]
    fn every_choice_counts() {
        let plan = Plan::of(&Suite::builtin("recall").unwrap()).unwrap();
        let diskann = plan.indexes.iter().find(|index| index.design == "diskann");
        let bytes = |flags: &[&str]| {
            let mut index = diskann.unwrap().clone();
            index.flags.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
            index_bytes(&index, 100_000, (SHAPE, 48)).unwrap()
        };
        assert!(bytes(&["--lists", "packed"]) < bytes(&[]));
        assert!(bytes(&["--codec", "inline_codes", "--codes", "in_page"]) > 2 * bytes(&[]));
    }

    #[test]
    fn what_will_be_refused_says_why() {
        let plan = Plan::of(&Suite::builtin("recall").unwrap()).unwrap();
        let mut index = plan.indexes[0].clone();
        index.settings.page_size = 5000;
        let refused = index_bytes(&index, 1000, (SHAPE, 48)).unwrap_err();
        assert!(refused.to_string().contains("5000"), "{refused}");
        index.flags.flags = ["--codec", "wrong"].map(str::to_owned).to_vec();
        let refused = index_bytes(&index, 1000, (SHAPE, 48)).unwrap_err();
        assert!(refused.to_string().contains("wrong"), "{refused}");
    }
}
