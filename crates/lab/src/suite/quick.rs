//! A suite at a size for a first look: minutes on two cores, numbers that are indicative only.

use super::{Axes, Suite};

/// Most rows of a data set.
const ROWS: u64 = 20_000;
/// Most queries.
const QUERIES: u64 = 300;
/// Most queries that a build calibrates with.
const CALIBRATION_QUERIES: u32 = 20;
/// Values that an axis keeps, evenly chosen, the first and the last among them.
const LIST_SIZES: usize = 4;
const VALUES: usize = 2;

impl Suite {
    /// The same experiments over fewer rows, queries, repetitions and values. `at_most` names the
    /// cut of a data set that has at most so many rows.
    pub fn quick(&self, at_most: &dyn Fn(&str, u64) -> String) -> Self {
        let mut suite = self.clone();
        suite.name = format!("{} (quick)", self.name);
        suite.fixed.repeats = 1;
        suite.fixed.calibration_queries = CALIBRATION_QUERIES.min(suite.fixed.calibration_queries);
        suite.fixed.queries = match suite.fixed.queries {
            0 => QUERIES,
            queries => queries.min(QUERIES),
        };
        let small = |axes: &mut Axes| {
            for name in &mut axes.data.data {
                *name = at_most(name, ROWS);
            }
            shorten(axes);
        };
        small(&mut suite.axes);
        for experiment in &mut suite.experiments {
            experiment.repeats = None;
            experiment.queries = experiment.queries.map(|queries| queries.min(QUERIES));
            small(&mut experiment.axes);
        }
        suite
    }
}

fn shorten(axes: &mut Axes) {
    let Axes {
        data,
        build,
        search,
    } = axes;
    // Growth is still growth over tenths.
    let largest = data.rows.iter().copied().max().unwrap_or(0);
    if largest > ROWS {
        data.rows
            .iter_mut()
            .for_each(|rows| *rows = (*rows * ROWS / largest).max(1000));
        data.rows.dedup();
    }
    thin(&mut data.rows, VALUES + 1);
    thin(&mut data.dimensions, VALUES);
    thin(&mut data.segments, VALUES);
    thin(&mut build.page_size, VALUES);
    thin(&mut build.memory, VALUES + 1);
    thin(&mut build.code_bytes, VALUES);
    thin(&mut build.refine_share, VALUES);
    thin(&mut search.list_size, LIST_SIZES);
    thin(&mut search.beam, VALUES);
    thin(&mut search.tolerance, VALUES);
    thin(&mut search.threads, VALUES);
    thin(&mut search.k, VALUES);
    thin(&mut search.results, VALUES);
    thin(&mut search.processes, VALUES);
    thin(&mut search.to_rows, VALUES);
}

fn thin<T: Clone>(values: &mut Vec<T>, keep: usize) {
    let count = values.len();
    if count > keep {
        let chosen = (0..keep).filter_map(|at| values.get(at * (count - 1) / (keep - 1)).cloned());
        *values = chosen.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_an_axis_are_kept() {
        let mut values: Vec<u32> = (1..=32).collect();
        thin(&mut values, 3);
        assert_eq!(values, [1, 16, 32]);
        let mut few = vec![4, 8];
        thin(&mut few, 3);
        assert_eq!(few, [4, 8]);
    }

    #[test]
    fn every_builtin_suite_has_a_quick_form_that_can_be_read() {
        for suite in super::super::builtin_suites().unwrap() {
            let quick = suite.quick(&|name, rows| format!("{name}-{rows}"));
            assert_eq!(quick.axes.data.data, ["demo-20000"]);
            assert_eq!(
                Suite::parse(&quick.to_toml().unwrap(), "quick").unwrap(),
                quick
            );
            assert_eq!(quick.fixed.repeats, 1);
        }
    }
}
