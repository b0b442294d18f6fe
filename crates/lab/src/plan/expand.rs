//! Experiments to settings: the product of their axes, designs last so that they alternate.

use super::settings::{BuildSettings, Extrapolation, SearchSettings};
use super::{CutName, Settings};
use crate::model;
use crate::suite::{Axes, Experiment, Suite};

/// Where k varies, a list size beyond this many times k (or `LEAST_K`) tells nothing more.
const LONGEST_LIST: u32 = 40;
const LEAST_K: u32 = 10;
const ALL_DEVICES: &str = "all";

/// Every combination of an experiment that makes sense: lists are at least k long, and, where they
/// are to suit several k, not much longer.
pub(super) fn settings(suite: &Suite, experiment: &Experiment) -> Vec<Settings> {
    let axes = experiment.axes.or(&suite.axes);
    let names = axes.data.data.iter();
    let mut begin: Vec<Settings> = names.map(|name| blank(suite, name)).collect();
    for settings in &mut begin {
        settings.search.queries = experiment.queries.unwrap_or(suite.fixed.queries);
    }
    let cut = spread_data(begin, &axes);
    let built = spread_build(cut, &axes);
    let searched = spread_search(built, &axes);
    let mut all = spread(&searched, &axes.data.designs, |settings, design| {
        settings.design.clone_from(design);
    });
    let varies_k = axes.search.k.len() > 1;
    all.retain(|settings| {
        let SearchSettings { list_size, k, .. } = settings.search;
        let longest = k.max(LEAST_K) * LONGEST_LIST;
        list_size >= k && (list_size <= longest || !varies_k)
    });
    all
}

fn blank(suite: &Suite, data: &str) -> Settings {
    let memory = suite.memory_of(data).to_owned();
    Settings {
        cut: CutName {
            data: data.to_owned(),
            ..CutName::default()
        },
        design: String::new(),
        build: BuildSettings {
            page_size: 4096,
            memory: memory.clone(),
            code_bytes: suite.code_bytes_of(data),
            refine_share: None,
        },
        search: SearchSettings {
            memory,
            list_size: 30,
            threads: 1,
            interleave: 16,
            k: 10,
            ..SearchSettings::default()
        },
        tolerance: None,
    }
}

/// Each of `all` once with each of `values`; unchanged where there are none.
fn spread<T>(all: &[Settings], values: &[T], set: impl Fn(&mut Settings, &T)) -> Vec<Settings> {
    if values.is_empty() {
        return all.to_vec();
    }
    let each = |settings: &Settings| {
        let settings = settings.clone();
        values.iter().map(move |value| (settings.clone(), value))
    };
    all.iter()
        .flat_map(each)
        .map(|(mut settings, value)| {
            set(&mut settings, value);
            settings
        })
        .collect()
}

fn spread_data(all: Vec<Settings>, axes: &Axes) -> Vec<Settings> {
    let cuts = if axes.search.to_rows.is_empty() {
        axes.data.rows.as_slice()
    } else {
        &[]
    };
    let all = spread(&all, cuts, |s, v| s.cut.rows = Some(*v));
    let all = spread(&all, &axes.data.dimensions, |s, v| {
        s.cut.dimensions = Some(*v);
    });
    spread(&all, &axes.data.segments, |s, v| {
        s.search.segments = Some(*v);
    })
}

fn spread_build(all: Vec<Settings>, axes: &Axes) -> Vec<Settings> {
    let build = &axes.build;
    let all = spread(&all, &build.page_size, |s, v| s.build.page_size = *v);
    let all = spread(&all, &build.code_bytes, |s, v| {
        s.build.code_bytes = (*v > 0).then_some(*v);
    });
    let all = spread(&all, &build.memory, |s, v| {
        s.build.memory.clone_from(v);
        s.search.memory.clone_from(v);
    });
    let all = spread(&all, &build.built_for, |s, v| s.build.memory.clone_from(v));
    spread(&all, &build.refine_share, |s, v| {
        s.build.refine_share = Some(*v);
    })
}

/// Devices by name; `all` stands for every one.
fn devices(named: &[String]) -> Vec<String> {
    let every = |name: &String| {
        let mut names = vec![name.clone()];
        if name == ALL_DEVICES {
            names = model::device_names().unwrap_or_default();
            names.push(model::THIS_MACHINE.to_owned());
        }
        names
    };
    named.iter().flat_map(every).collect()
}

fn spread_search(all: Vec<Settings>, axes: &Axes) -> Vec<Settings> {
    let search = &axes.search;
    let all = spread(&all, &search.k, |s, v| s.search.k = *v);
    let all = spread(&all, &search.results, |s, v| s.search.results = Some(*v));
    let all = spread(&all, &search.processes, |s, v| {
        s.search.processes = Some(*v);
    });
    let all = spread(&all, &devices(&search.devices), |s, v| {
        s.search.device = Some(v.clone());
    });
    let all = spread(&all, &search.to_rows, |s, v| {
        let from_rows = axes.data.rows.clone();
        s.search.growth = Some(Extrapolation {
            to_rows: *v,
            from_rows,
        });
    });
    let all = spread(&all, &search.threads, |s, v| s.search.threads = *v);
    let all = spread(&all, &search.interleave, |s, v| s.search.interleave = *v);
    let all = spread(&all, &search.list_size, |s, v| s.search.list_size = *v);
    let all = spread(&all, &search.tolerance, |s, v| {
        s.tolerance = Some(v.clone());
    });
    spread(&all, &search.beam, |s, v| s.search.beam = Some(*v))
}
