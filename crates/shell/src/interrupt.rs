//! Ctrl-C: the first asks the work to stop cleanly, the second stops the process at once.
//!
//! Either way no half index stays: an index becomes visible only when its build commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pageway::ErrorKind;

use crate::output;

/// Set by the first Ctrl-C (or SIGTERM), never cleared.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> Self {
        let interrupt = Self::default();
        let flag = interrupt.clone();
        let listening = ctrlc::set_handler(move || {
            if flag.0.swap(true, Ordering::Relaxed) {
                std::process::exit(ErrorKind::Cancelled.exit_code().into());
            }
            output::note("\npageway: stopping; press Ctrl-C again to stop at once");
        });
        if let Err(error) = listening {
            output::note(format_args!(
                "pageway: warning: Ctrl-C will not stop cleanly: {error}"
            ));
        }
        interrupt
    }

    /// True once the user wants the work to stop.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
