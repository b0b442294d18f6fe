//! Native half of the Python package.
