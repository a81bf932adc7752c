//! Proves that an answer is one answer: every token says who generated it and where it stands.
//!
//! In: the generated text in any pieces. Out: whose it is, how many tokens, whether two answers were mixed or a
//! token is missing or doubled.

/// What the tokens of one answer say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Integrity {
    /// `provider#number` of the first token; absent where there was none.
    pub source: Option<String>,
    /// Tokens seen.
    pub tokens: u32,
    /// Tokens of two answers, or text that is no token.
    pub mixed: bool,
    /// A token is missing, doubled or out of order, or the last one is incomplete.
    pub gap: bool,
}

impl Integrity {
    /// Whether all tokens belong to one answer, in order.
    pub fn holds(&self) -> bool {
        !self.mixed && !self.gap
    }
}

/// Reads the text of an answer as it comes.
#[derive(Debug, Default)]
pub(super) struct Checker {
    found: Integrity,
    carry: String,
}

impl Checker {
    pub(super) fn read(&mut self, text: &str) {
        let mut text = text;
        while let Some((token, rest)) = text.split_once(' ') {
            self.carry.push_str(token);
            let token = std::mem::take(&mut self.carry);
            self.token(&token);
            text = rest;
        }
        self.carry.push_str(text);
        // Text without an end is not one of ours; keep no more of it than needed to say so.
        if self.carry.len() > 256 {
            self.found.mixed = true;
            self.carry.clear();
        }
    }

    fn token(&mut self, token: &str) {
        let parsed =
            token.rsplit_once(':').and_then(|(source, index)| Some((source, index.parse::<u32>().ok()?)));
        let Some((source, index)) = parsed.filter(|(source, _)| source.contains('#')) else {
            self.found.mixed = true;
            return;
        };
        match &self.found.source {
            None => self.found.source = Some(source.to_owned()),
            Some(first) if first != source => self.found.mixed = true,
            Some(_) => {}
        }
        self.found.gap |= index != self.found.tokens;
        self.found.tokens += 1;
    }

    pub(super) fn finish(mut self) -> Integrity {
        self.found.gap |= !self.carry.is_empty();
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str]) -> Integrity {
        let mut checker = Checker::default();
        for piece in pieces {
            checker.read(piece);
        }
        checker.finish()
    }

    #[test]
    fn one_answer_holds_however_it_is_split() {
        let text = "region-a#17:0 region-a#17:1 region-a#17:2 ";
        for at in 0..text.len() {
            let found = check(&[&text[..at], &text[at..]]);
            assert_eq!((found.tokens, found.holds()), (3, true), "split at {at}");
            assert_eq!(found.source.as_deref(), Some("region-a#17"));
        }
        assert!(check(&[]).holds());
    }

    #[test]
    fn two_answers_are_mixed_whoever_sent_them() {
        assert!(check(&["a#1:0 b#1:1 "]).mixed, "two providers");
        assert!(check(&["a#1:0 a#2:1 "]).mixed, "two attempts at one provider");
        assert!(check(&["hello world "]).mixed, "no token at all");
    }

    #[test]
    fn missing_doubled_and_torn_tokens_are_gaps() {
        for text in ["a#1:0 a#1:2 ", "a#1:0 a#1:0 ", "a#1:1 ", "a#1:0 a#1:"] {
            let found = check(&[text]);
            assert!(found.gap && !found.mixed, "{text}: {found:?}");
        }
    }
}
