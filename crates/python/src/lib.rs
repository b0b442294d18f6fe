//! Native half of the Python package `pageway`: converts types and errors, and holds no logic.
//!
//! ```text
//! build.rs      build, a step of one, presets    index.rs     Index: open, search, stored vectors
//! overrides.rs  a dict as choices                answers.rs   what searches found
//! convert.rs    arrays, paths and reports        truth.rs     ground_truth
//! error.rs      engine errors to exceptions      progress.rs  callbacks, Ctrl-C, the worker thread
//! writer.rs     create, insert, upsert, delete
//! ```
//!
//! Invariants: the GIL is released around all work of the engine; long work runs on a thread of
//! its own, so that the calling thread sees signals; rows of numpy are borrowed, never copied.
//! Callers are the pure-Python modules beside it, which check arguments and document them.

mod answers;
mod build;
mod convert;
mod error;
mod index;
mod overrides;
mod progress;
mod rows;
mod rows_to_store;
mod truth;
mod writer;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<index::Index>()?;
    module.add_class::<answers::Answers>()?;
    module.add_function(wrap_pyfunction!(build::build, module)?)?;
    module.add_function(wrap_pyfunction!(build::build_step, module)?)?;
    module.add_function(wrap_pyfunction!(build::defaults, module)?)?;
    module.add_function(wrap_pyfunction!(writer::create, module)?)?;
    module.add_function(wrap_pyfunction!(build::presets, module)?)?;
    module.add_function(wrap_pyfunction!(build::verify, module)?)?;
    module.add_function(wrap_pyfunction!(build::publish, module)?)?;
    module.add_function(wrap_pyfunction!(truth::ground_truth, module)?)
}
