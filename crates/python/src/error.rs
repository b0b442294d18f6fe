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
    let exception = match system_number(error) {
        Some(number) if class.hasattr("_errno")? => class.call1((error.context(), number))?,
        _ => class.call1((error.context(),))?,
    };
    Ok(PyErr::from_value(exception))
}

/// The number that the operating system gave, where it is what went wrong.
fn system_number(error: &pageway::Error) -> Option<i32> {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(system) = cause.downcast_ref::<std::io::Error>() {
            return system.raw_os_error();
        }
        source = cause.source();
    }
    None
}
