//! Lets `cargo build` link the extension where the interpreter's symbols are found at load time.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
