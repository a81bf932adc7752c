//! Which cohort and which lane a request belongs to: the first match in configured order.
//!
//! An absent or empty part matches everything. Header names are lower case and values are compared exactly.

use hedgerow_config::{
    cohort::{CohortMatch, ToolUse},
    lane::LaneMatch,
};
use http::HeaderMap;

use crate::wire::{dialect::Operation, eligibility::Tools};

/// What is known of a request before it is planned.
#[derive(Clone, Copy, Debug)]
pub struct Traits<'a> {
    /// Public model name.
    pub model: &'a str,
    /// What it asks for.
    pub operation: Operation,
    /// Streaming.
    pub stream: bool,
    /// Who executes its tools.
    pub tools: Tools,
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// Requested output cap.
    pub max_output: Option<u64>,
    /// Client headers.
    pub headers: &'a HeaderMap,
    /// Who is asking.
    pub tenant: &'a str,
}

impl Traits<'_> {
    /// Whether the cohort rule takes it.
    pub fn in_cohort(&self, rule: &CohortMatch) -> bool {
        let tools = match rule.tools {
            None => true,
            Some(ToolUse::None) => matches!(self.tools, Tools::None),
            Some(ToolUse::ClientOnly) => !matches!(self.tools, Tools::Server),
        };
        tools
            && rule.stream.is_none_or(|stream| stream == self.stream)
            && listed(&rule.models, self.model)
            && self.does(&rule.operations)
            && rule.input_tokens_below.is_none_or(|end| self.input_tokens < end)
            && rule.max_output_tokens_below.is_none_or(|end| self.max_output.is_some_and(|cap| cap < end))
            && self.carries(&rule.headers)
            && listed(&rule.tenants, self.tenant)
    }

    /// Whether the lane rule takes it; a lane without a rule is the fallback.
    pub fn in_lane(&self, rule: Option<&LaneMatch>) -> bool {
        rule.is_none_or(|rule| {
            self.carries(&rule.headers)
                && listed(&rule.tenants, self.tenant)
                && listed(&rule.models, self.model)
                && self.does(&rule.operations)
        })
    }

    fn does(&self, operations: &[hedgerow_config::cohort::Operation]) -> bool {
        operations.is_empty() || operations.iter().any(|named| named_operation(*named) == self.operation)
    }

    fn carries(&self, headers: &std::collections::BTreeMap<String, String>) -> bool {
        headers.iter().all(|(name, value)| {
            self.headers.get_all(name.as_str()).iter().any(|found| found.as_bytes() == value.as_bytes())
        })
    }
}

fn listed(list: &[String], value: &str) -> bool {
    list.is_empty() || list.iter().any(|entry| entry == value)
}

fn named_operation(named: hedgerow_config::cohort::Operation) -> Operation {
    use hedgerow_config::cohort::Operation as Named;
    match named {
        Named::ChatCompletions => Operation::ChatCompletions,
        Named::Completions => Operation::Completions,
        Named::Responses => Operation::Responses,
        Named::Embeddings => Operation::Embeddings,
        Named::Messages => Operation::Messages,
        Named::CountTokens => Operation::CountTokens,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(headers: &HeaderMap) -> Traits<'_> {
        Traits {
            model: "chat",
            operation: Operation::ChatCompletions,
            stream: true,
            tools: Tools::ClientOnly,
            input_tokens: 100,
            max_output: None,
            headers,
            tenant: "team-a",
        }
    }

    #[test]
    fn every_named_part_must_match_and_an_empty_rule_matches_all() {
        let mut headers = HeaderMap::new();
        headers.insert("x-class", "interactive".parse().unwrap());
        let request = traits(&headers);
        let rule = |edit: fn(&mut CohortMatch)| {
            let mut rule = CohortMatch::default();
            edit(&mut rule);
            rule
        };
        let cases: [(CohortMatch, bool); 11] = [
            (rule(|_| {}), true),
            (rule(|rule| rule.models = vec!["other".into()]), false),
            (rule(|rule| rule.models = vec!["other".into(), "chat".into()]), true),
            (rule(|rule| rule.stream = Some(false)), false),
            (rule(|rule| rule.tools = Some(ToolUse::None)), false),
            (rule(|rule| rule.tools = Some(ToolUse::ClientOnly)), true),
            (rule(|rule| rule.input_tokens_below = Some(100)), false),
            (rule(|rule| rule.max_output_tokens_below = Some(1_000)), false),
            (rule(|rule| rule.headers = [("x-class".into(), "interactive".into())].into()), true),
            (rule(|rule| rule.headers = [("x-class".into(), "batch".into())].into()), false),
            (rule(|rule| rule.tenants = vec!["team-b".into()]), false),
        ];
        for (number, (rule, expected)) in cases.iter().enumerate() {
            assert_eq!(request.in_cohort(rule), *expected, "case {number}");
        }
        assert!(request.in_lane(None), "the fallback lane takes all");
    }
}
