//! Pageway testkit.
