//! Words of a text: runs of letters and digits, in lower case.

/// The tokens of a text, in order.
pub fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_what_is_no_letter_or_digit() {
        let of = |text| tokens(text).collect::<Vec<_>>();
        assert_eq!(
            of("Some_food, 2 kinds: ÄPFEL!"),
            ["some", "food", "2", "kinds", "äpfel"]
        );
        assert!(of(" -_").is_empty());
    }
}
