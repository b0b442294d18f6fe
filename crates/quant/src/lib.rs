//! Pageway quant.
