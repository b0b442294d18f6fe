//! Engine errors as Python exceptions: the only place that maps them.
//!
//! The classes stand in `pageway/errors.py`; `ErrorKind::python_exception` names them.

use pyo3::prelude::*;

/// The exception of the class that the kind names, with the sentence as its message.
pub(crate) fn to_exception(error: pageway::Error) -> PyErr {
    Python::attach(|py| exception(py, &error).unwrap_or_else(|failed| failed))
}

fn exception(py: Python<'_>, error: &pageway::Error) -> PyResult<PyErr> {
    let class = py
        .import("pageway.errors")?
        .getattr(error.kind().python_exception())?;
    Ok(PyErr::from_value(class.call1((error.context(),))?))
}
