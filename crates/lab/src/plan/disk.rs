//! Bytes on disk of what a run makes, before there is any of it.

use pageway::choices::{
    CODES, ENTRIES, HARVESTS, NODE_CACHES, PAGE_CACHES, PLACEMENTS, REFINES, SELECTIONS, VECTORS,
    codecs, graphs, parse, schedules,
};
use pageway::spec::{CodeStorage, IndexSpec, QuantizerSpec, Shape};
use pageway::{Footprint, MemoryWish, Overrides, Preset, Result, Sizes};

use super::IndexPlan;

/// Bytes that other libraries keep, as a multiple of vectors and lists in four bytes each: copies
/// that their builds need for a while, and files that are aligned to pages.
const LIBRARY_SHARE: f64 = 1.5;

/// Bytes of an index over `rows` vectors; 0 for one that will be refused.
pub(super) fn index_bytes(index: &IndexPlan, rows: u64, (shape, degree): (Shape, u32)) -> u64 {
    let footprint = || {
        let spec = spec(index, rows, (shape, degree))?;
        Footprint::of(&spec, u32::try_from(rows).unwrap_or(u32::MAX))
    };
    footprint().map_or(0, |footprint| footprint.disk_bytes)
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
    let of = |code_bytes: u32| {
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
    match (index.settings.code_bytes, spec.storage.codes) {
        (_, CodeStorage::Memory) | (Some(_), CodeStorage::InPage) => Ok(spec),
        (None, CodeStorage::InPage) => of(code_bytes_in_page(dimension)),
        (given, CodeStorage::Split { .. }) => {
            let code_bytes = given.unwrap_or_else(|| code_bytes_in_page(dimension));
            let mut spec = of(code_bytes)?;
            let raw_bytes = rows * shape.vectors().row_bytes() as u64;
            let memory = index.settings.memory.parse::<MemoryWish>()?;
            let held = (memory.resolve(raw_bytes) / u64::from(code_bytes.max(1))).min(rows);
            let memory_nodes = u32::try_from(held).unwrap_or(u32::MAX);
            spec.storage.codes = CodeStorage::Split { memory_nodes };
            Ok(spec)
        }
    }
}

/// Bytes that the engine gives a code beside every list that names it.
fn code_bytes_in_page(dimension: u32) -> u32 {
    (dimension / 8).max((dimension / 4).min(32))
}

/// The choices among arguments of `pageway build`; others change no bytes on disk.
fn overrides(flags: &[String], sizes: &Sizes) -> Result<Overrides> {
    let mut chosen = Overrides::default();
    for pair in flags.windows(2) {
        let [flag, text] = pair else { continue };
        match flag.as_str() {
            "--graph" => chosen.graph = Some(parse(flag, text, &graphs(sizes))?),
            "--vectors" => chosen.vectors = Some(parse(flag, text, &VECTORS)?),
            "--codes" => chosen.codes = Some(parse(flag, text, &CODES)?),
            "--codec" => chosen.codec = Some(parse(flag, text, &codecs(sizes))?),
            "--placement" => chosen.placement = Some(parse(flag, text, &PLACEMENTS)?),
            "--cache-nodes" => chosen.cache.nodes = Some(parse(flag, text, &NODE_CACHES)?),
            "--cache-pages" => chosen.cache.pages = Some(parse(flag, text, &PAGE_CACHES)?),
            "--cache-selection" => chosen.cache.selection = Some(parse(flag, text, &SELECTIONS)?),
            "--page-share" => chosen.cache.page_share = text.parse().ok(),
            "--entry" => chosen.entry = Some(parse(flag, text, &ENTRIES)?),
            "--schedule" => chosen.schedule = Some(parse(flag, text, &schedules(sizes))?),
            "--harvest" => chosen.harvest = Some(parse(flag, text, &HARVESTS)?),
            "--refine" => chosen.refine = Some(parse(flag, text, &REFINES)?),
            "--second-code-bytes" => {
                let code_bytes = text.parse::<u32>().ok().filter(|bytes| *bytes > 0);
                let second = code_bytes.map(|code_bytes| QuantizerSpec::Pq { code_bytes });
                chosen.second_quantizer = Some(second);
            }
            _ => {}
        }
    }
    Ok(chosen)
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
            index_bytes(index, 100_000, (SHAPE, 48))
        };
        let raw = 100_000 * (128 + 4 * 48);
        for index in &plan.indexes {
            let bytes = index_bytes(index, 100_000, (SHAPE, 48));
            assert!(bytes > 100_000 * 128, "{}: {bytes}", index.key);
        }
        assert!(bytes("diskann") < raw * 3 / 2);
        assert!(bytes("aisaq") > 4 * raw);
        assert!(bytes("decoupled") < 2 * raw);
        assert!(bytes("gorgeous") > 2 * bytes("diskann"));
    }

    #[test]
    fn what_will_be_refused_takes_nothing() {
        let plan = Plan::of(&Suite::builtin("recall").unwrap()).unwrap();
        let mut index = plan.indexes[0].clone();
        index.settings.page_size = 5000;
        assert_eq!(index_bytes(&index, 1000, (SHAPE, 48)), 0);
        index.flags.flags = ["--codec", "wrong"].map(str::to_owned).to_vec();
        assert_eq!(index_bytes(&index, 1000, (SHAPE, 48)), 0);
    }
}
