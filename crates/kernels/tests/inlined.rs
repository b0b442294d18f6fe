//! Instructions of a kernel are instructions. An intrinsic that is called from code without its CPU
//! features, such as a closure in an inlined function, is compiled as a function of its own: with
//! the same answers, at fifty times the cost.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::indexing_slicing, reason = "a program that the linker made")]
#![expect(clippy::disallowed_methods, reason = "it reads its own program")]

use pageway_kernels::KernelSet;

/// Of a section header, of a symbol.
const HEADER_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const SYMBOL_TABLE: usize = 2;
const FUNCTION: u8 = 2;

/// A little-endian number of `width` bytes.
fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    let places = bytes[at..at + width].iter().rev();
    places.fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Names of the functions in a program (ELF, 64 bits).
fn functions(program: &[u8]) -> Vec<String> {
    let (first, count) = (number(program, 0x28, 8), number(program, 0x3c, 2));
    let section = |index: usize| {
        let header = &program[first + index * HEADER_BYTES..][..HEADER_BYTES];
        let (start, length) = (number(header, 0x18, 8), number(header, 0x20, 8));
        (header, &program[start..][..length])
    };
    let tables = (0..count).filter(|index| number(section(*index).0, 4, 4) == SYMBOL_TABLE);
    let names = tables.flat_map(|index| {
        let (header, symbols) = section(index);
        let (_, texts) = section(number(header, 0x28, 4));
        let functions = symbols
            .chunks_exact(SYMBOL_BYTES)
            .filter(|symbol| symbol[4] & 0xf == FUNCTION);
        functions.map(move |symbol| {
            let text = &texts[number(symbol, 0, 4)..];
            let end = text.iter().position(|byte| *byte == 0).expect("texts end");
            String::from_utf8_lossy(&text[..end]).into_owned()
        })
    });
    names.collect()
}

#[test]
fn no_instruction_of_a_kernel_is_called() {
    let program = std::env::current_exe().expect("a program");
    let names = functions(&std::fs::read(program).expect("it is readable"));
    // What makes the kernels a part of this program.
    KernelSet::detect().expect("an instruction set");
    let has = |parts: &[&str]| {
        let is_one = |name: &&String| parts.iter().all(|part| name.contains(part));
        names.iter().filter(is_one).collect::<Vec<_>>()
    };
    assert!(
        !has(&["avx2", "project_fixed"]).is_empty(),
        "symbols were stripped"
    );
    for width in ["mm256_", "mm512_"] {
        assert_eq!(has(&["core_arch", width]), Vec::<&String>::new());
    }
}
