//! Reading the file of a recorded search, see [`pageway_shell::trace`].

use std::path::Path;

use pageway::Result;
pub(super) use pageway_shell::trace::Trace;

use crate::files;

/// Reads a file whole.
///
/// # Errors
/// As of files; `InvalidInput` for what no search can have recorded.
pub fn read_trace(path: &Path) -> Result<Trace> {
    Trace::parse(&files::read_text(path)?).map_err(|error| error.within(path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::scenario::{beam, trace_of};
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_was_written() {
        let trace = trace_of(vec![beam(3, 2, 1000), beam(1, 1, 10), beam(0, 0, 5)]);
        let text = trace.to_text().unwrap();
        assert_eq!(text.lines().count(), 4);
        assert_eq!(Trace::parse(&text).unwrap(), trace);
    }

    #[test]
    fn what_cannot_have_happened_is_refused_with_its_line() {
        let header = trace_of(vec![beam(1, 1, 1)]).to_text().unwrap();
        let header = header.lines().next().unwrap();
        for (line, words) in [
            ("[[-1,5,1,0],[0,5,1,0]]", "1 reads are out after turn 1"),
            ("[[-1,5,1,0],[1,5,0,0]]", "read 1 came back"),
            ("[[0,5,1,0],[0,5,0,0]]", "turn 0"),
            ("[[-1,5,0,0],[0,5,0,0]]", "0 reads are out after turn 0"),
            ("[[-1,5,9,0]]", "more reads"),
            ("[]", "without a turn"),
            ("{}", "invalid type"),
        ] {
            let error = Trace::parse(&format!("{header}\n{line}\n")).unwrap_err();
            let error = error.to_string();
            assert!(error.contains("line 2") && error.contains(words), "{error}");
        }
        assert!(
            Trace::parse(header)
                .unwrap_err()
                .to_string()
                .contains("no query")
        );
        assert!(
            Trace::parse("{}")
                .unwrap_err()
                .to_string()
                .contains("line 1")
        );
        let newer = header.replace("\"version\":1", "\"version\":2");
        assert!(
            Trace::parse(&newer)
                .unwrap_err()
                .to_string()
                .contains("version 2")
        );
    }
}
