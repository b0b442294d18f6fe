//! Finds the functions of a Rust source and measures them.
//!
//! Reads the code layer only, so braces in strings and comments do not count. A nested function is
//! measured on its own and also counts towards the length of the one around it.

use super::word;

/// One function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Offset of the `fn`.
    pub(crate) start: usize,
    /// Lines from `fn` to the closing brace.
    pub(crate) line_count: usize,
    /// Parameters without `self`.
    pub(crate) parameter_count: usize,
    /// The same with the elements of tuples in place of these.
    pub(crate) element_count: usize,
    /// Depth of the deepest block below the body; an arm's braces belong to their `match`.
    pub(crate) nesting: usize,
}

/// Every function with a body in `code`, in order.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let starts = code.match_indices("fn ").map(|(start, _)| start);
    let starts = starts.filter(|&start| !ends_in_word(code.get(..start).unwrap_or("")));
    starts
        .filter_map(|start| function_at(code, start))
        .collect()
}

fn ends_in_word(before: &str) -> bool {
    before.chars().next_back().is_some_and(word::is_word_char)
}

fn function_at(code: &str, start: usize) -> Option<Function> {
    let text = code.get(start..)?;
    let name = word::words(text).nth(1)?.to_owned();
    let open = parameters_open(text)?;
    let close = group_end(text, open)?;
    let tail = text.get(close..)?;
    let body = close
        + tail
            .find(['{', ';'])
            .filter(|&at| tail.as_bytes().get(at) == Some(&b'{'))?;
    let end = group_end(text, body)?;
    Some(Function {
        name,
        start,
        line_count: text.get(..=end)?.matches('\n').count() + 1,
        parameter_count: parameters(text.get(open + 1..close)?).count(),
        element_count: parameters(text.get(open + 1..close)?)
            .map(element_count)
            .sum(),
        nesting: nesting(text.get(body + 1..end)?),
    })
}

/// The parenthesis after the name and the generics, which may hold `Fn(A) -> B`.
fn parameters_open(text: &str) -> Option<usize> {
    let mut angles = 0_usize;
    let mut previous = b' ';
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => angles += 1,
            b'>' if previous != b'-' => angles = angles.saturating_sub(1),
            b'(' if angles == 0 => return Some(offset),
            b'{' | b';' => return None,
            _ => {}
        }
        previous = byte;
    }
    None
}

/// The offset of the bracket that closes the one at `open`.
pub(crate) fn group_end(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => continue,
        }
        if depth == 0 {
            return Some(offset);
        }
    }
    None
}

/// The parameters of a list without `self`.
fn parameters(list: &str) -> impl Iterator<Item = &str> {
    let is_self = |parameter: &&str| {
        let name = parameter.split(':').next().unwrap_or("");
        word::has_word(name, "self")
    };
    top_level(list).into_iter().filter(move |one| !is_self(one))
}

/// The values that a parameter stands for: those of its type, where that is a tuple.
fn element_count(parameter: &str) -> usize {
    let Some((_, kind)) = parameter.rsplit_once("): ").or(parameter.split_once(": ")) else {
        return 1;
    };
    let kind = kind.trim_start_matches('&');
    let tuple = kind
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    tuple.map_or(1, |elements| top_level(elements).len().max(1))
}

/// Splits a comma list outside every bracket; `->` does not close an angle bracket.
pub(crate) fn top_level(list: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut depth, mut from, mut previous) = (0_usize, 0, b' ');
    for (offset, byte) in list.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b'>' if matches!(previous, b'-' | b'=') => {}
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                pieces.push(list.get(from..offset).unwrap_or(""));
                from = offset + 1;
            }
            _ => {}
        }
        previous = byte;
    }
    pieces.push(list.get(from..).unwrap_or(""));
    pieces
        .into_iter()
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect()
}

fn nesting(body: &str) -> usize {
    let mut blocks = Blocks {
        body,
        open: Vec::new(),
        depth: 0,
        deepest: 0,
        header: 0,
        after_arrow: false,
    };
    for (offset, byte) in body.bytes().enumerate() {
        blocks.read(offset, byte);
    }
    blocks.deepest
}

/// What an open bracket turned out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// A block of its own: it counts.
    Block,
    /// The braces of a match arm: they belong to the `match`.
    Arm,
    /// A literal, a pattern or a list: the expression around it goes on afterwards.
    Group,
}

/// Walks a body and tells blocks from literals, patterns and arms by what stands before a brace.
struct Blocks<'b> {
    body: &'b str,
    /// For each open bracket, what it is and where the header around it began.
    open: Vec<(Bracket, usize)>,
    depth: usize,
    deepest: usize,
    /// Where the statement or expression that is being read began.
    header: usize,
    /// Whether that expression is the right side of a match arm.
    after_arrow: bool,
}

impl Blocks<'_> {
    fn read(&mut self, offset: usize, byte: u8) {
        match byte {
            b'{' => self.enter(self.bracket(offset), offset),
            b'(' | b'[' => self.enter(Bracket::Group, offset),
            b'}' | b')' | b']' => self.leave(offset),
            b';' | b',' => self.restart(offset, false),
            b'>' if self
                .body
                .get(..offset)
                .is_some_and(|before| before.ends_with('=')) =>
            {
                self.restart(offset, true);
            }
            _ => {}
        }
    }

    fn enter(&mut self, bracket: Bracket, offset: usize) {
        self.open.push((bracket, self.header));
        self.depth += usize::from(bracket == Bracket::Block);
        self.deepest = self.deepest.max(self.depth);
        self.restart(offset, false);
    }

    fn leave(&mut self, offset: usize) {
        let Some((bracket, header)) = self.open.pop() else {
            return;
        };
        self.depth -= usize::from(bracket == Bracket::Block);
        self.restart(offset, false);
        if bracket == Bracket::Group {
            self.header = header;
        }
    }

    fn restart(&mut self, offset: usize, after_arrow: bool) {
        self.header = offset + 1;
        self.after_arrow = after_arrow;
    }

    /// What the brace at `offset` opens.
    fn bracket(&self, offset: usize) -> Bracket {
        const KEYWORDS: [&str; 7] = ["if", "else", "for", "while", "loop", "match", "unsafe"];
        let header = self.body.get(self.header..offset).unwrap_or("").trim();
        let is_closure = header.ends_with('|') || header.contains("| ->");
        if header.is_empty() && self.after_arrow {
            Bracket::Arm
        } else if header.is_empty()
            || is_closure
            || word::words(header).any(|found| KEYWORDS.contains(&found))
        {
            Bracket::Block
        } else {
            Bracket::Group
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{functions, top_level};

    fn nesting_of(body: &str) -> usize {
        let code = format!("fn f() {{ {body} }}");
        functions(&code)
            .first()
            .map_or(0, |function| function.nesting)
    }

    #[test]
    fn a_function_is_measured_from_its_keyword_to_its_brace() {
        let code = "impl X {\n    pub fn a<F: Fn(u8) -> u8>(&self, f: F, (b, c): (u8, u8)) -> u8\n    where\n        F: Copy,\n    {\n        1\n    }\n}\n";
        let found = functions(code);
        let function = found.first().expect("one function");
        assert_eq!((function.name.as_str(), function.line_count), ("a", 6));
        assert_eq!(function.parameter_count, 2);
    }

    #[test]
    fn a_tuple_counts_as_what_it_holds() {
        let counts = |list: &str| {
            let found = functions(&format!("fn f({list}) {{}}"));
            let function = found.first().expect("one function");
            (function.parameter_count, function.element_count)
        };
        assert_eq!(counts("&self, a: A, b: fn(B) -> (C, D)"), (2, 2));
        assert_eq!(counts("(a, b): (A, B), c: (C, D, E), d: &(F, G)"), (3, 7));
        assert_eq!(counts("a: (), b: Option<(A, B)>"), (2, 2));
    }

    #[test]
    fn declarations_and_function_types_have_no_body() {
        assert!(functions("trait T { fn a(&self) -> u8; }\ntype F = fn(u8) -> u8;\n").is_empty());
    }

    #[test]
    fn a_nested_function_is_found_too() {
        let names: Vec<String> = functions("fn a() { fn b() {} }")
            .into_iter()
            .map(|function| function.name)
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn commas_inside_brackets_do_not_split() {
        assert_eq!(
            top_level("a: Map<K, V>, b: fn(A, B) -> C, [c, d]: [u8; 2],").len(),
            3
        );
    }

    #[test]
    fn blocks_count_and_arms_do_not() {
        assert_eq!(nesting_of("x"), 0);
        assert_eq!(nesting_of("if a { b } else { c }"), 1);
        assert_eq!(nesting_of("for a in b { while c { loop { d } } }"), 3);
        assert_eq!(
            nesting_of("match a { B => { if c { d } } E { f } => g, }"),
            2
        );
        assert_eq!(
            nesting_of("match a { B => { if c { d } } E { f } => { if g { h } } }"),
            2
        );
        assert_eq!(
            nesting_of("match a { B => { if c { d } } E { f: G { h } } => i, }"),
            2
        );
        assert_eq!(nesting_of("a.map(|b| { if c { d } })"), 2);
        assert_eq!(nesting_of("{ unsafe { a } }"), 2);
    }

    #[test]
    fn literals_and_patterns_are_not_blocks() {
        assert_eq!(nesting_of("let a = B { c: D { e } };"), 0);
        assert_eq!(nesting_of("if let Some(B { c, d }) = e { f }"), 1);
        assert_eq!(nesting_of("while let Some(a) = b(c, d) { e }"), 1);
    }

    #[test]
    fn a_block_after_another_starts_anew() {
        assert_eq!(nesting_of("if a { b } if c { d } e(); { f }"), 1);
    }
}
