//! Pageway engine.
