use super::super::scan::scan;
use super::*;

use Class::{ClientTools, Costly, Pinned, Pure, ServerEffects, Stateful};
use Operation::{ChatCompletions, Completions, CountTokens, Embeddings, Messages, Responses};

fn classified(operation: Operation, body: &str) -> Eligibility {
    let scan = scan(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
    classify(operation, &scan, body.as_bytes(), "m", false)
}

#[rustfmt::skip]
const CLASSES: &[(Operation, &str, Class, &str)] = &[
    (ChatCompletions, r#"{"messages":[]}"#, Pure, ""),
    (ChatCompletions, r#"{"n":1,"store":false,"tools":[]}"#, Pure, ""),
    (ChatCompletions, r#"{"tools":[{"type":"function"},{"type":"custom"}]}"#, ClientTools, ""),
    (ChatCompletions, r#"{"functions":[{"name":"f"}]}"#, ClientTools, ""),
    (ChatCompletions, r#"{"tools":[{"type":"function"},{"type":"web_search"}]}"#, ServerEffects, "tool run by the provider"),
    (ChatCompletions, r#"{"tools":[{"function":{}}]}"#, ServerEffects, "tool run by the provider"),
    (ChatCompletions, r#"{"tools":{"type":"function"}}"#, ServerEffects, "tools of unknown shape"),
    (ChatCompletions, r#"{"tools":["function"]}"#, ServerEffects, "tool run by the provider"),
    (ChatCompletions, r#"{"web_search_options":{}}"#, ServerEffects, "web_search_options"),
    (ChatCompletions, r#"{"plugins":[{"id":"web"}]}"#, ServerEffects, "plugins"),
    (ChatCompletions, r#"{"n":3}"#, Costly, "n"),
    (ChatCompletions, r#"{"modalities":["text","audio"]}"#, Costly, "modalities"),
    (ChatCompletions, r#"{"modalities":["text"]}"#, Pure, ""),
    (ChatCompletions, r#"{"service_tier":"flex"}"#, Costly, "service_tier"),
    (ChatCompletions, r#"{"store":true}"#, Stateful, "store"),
    (ChatCompletions, r#"{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}"#, Pinned, "reference in the prompt"),
    (Completions, r#"{"prompt":"x","best_of":4}"#, Costly, "best_of"),
    (Embeddings, r#"{"input":[[1,2],[3]]}"#, Pure, ""),
    // Responses store by default
    (Responses, r#"{"input":"x"}"#, Stateful, "store"),
    (Responses, r#"{"input":"x","store":null}"#, Stateful, "store"),
    (Responses, r#"{"input":"x","store":false}"#, Pure, ""),
    (Responses, r#"{"input":"x","store":false,"include":["reasoning.encrypted_content"]}"#, Pure, ""),
    (Responses, r#"{"store":false,"background":true}"#, Stateful, "background"),
    (Responses, r#"{"store":false,"previous_response_id":"r"}"#, Pinned, "previous_response_id"),
    (Responses, r#"{"store":false,"previous_response_id":null}"#, Pure, ""),
    (Responses, r#"{"store":false,"conversation":{"id":"c"}}"#, Pinned, "conversation"),
    (Responses, r#"{"store":false,"prompt":{"id":"p"}}"#, Pinned, "prompt"),
    (Responses, r#"{"store":false,"input":[{"type":"reasoning","encrypted_content":"x"}]}"#, Pinned, "reference in the prompt"),
    (Responses, r#"{"store":false,"input":[{"type":"reasoning","encrypted_content":null}]}"#, Pure, ""),
    (Responses, r#"{"store":false,"input":[{"type":"item_reference","id":"i"}]}"#, Pinned, "reference in the prompt"),
    (Responses, r#"{"store":false,"input":[{"type":"mcp_approval_response"}]}"#, ServerEffects, "server tool in the prompt"),
    (Responses, r#"{"store":false,"input":[{"content":"encrypted_content"}]}"#, Pure, ""),
    (Responses, r#"{"store":false,"tools":[{"type":"local_shell"},{"type":"apply_patch"}]}"#, ClientTools, ""),
    (Responses, r#"{"store":false,"tools":[{"type":"shell","environment":{"type":"local"}}]}"#, ClientTools, ""),
    (Responses, r#"{"store":false,"tools":[{"type":"shell","environment":{"type":"container_auto"}}]}"#, ServerEffects, "tool run by the provider"),
    (Responses, r#"{"store":false,"tools":[{"type":"tool_search","execution":"client"}]}"#, ClientTools, ""),
    (Responses, r#"{"store":false,"tools":[{"type":"tool_search"}]}"#, ServerEffects, "tool run by the provider"),
    (Responses, r#"{"store":false,"tools":[{"type":"namespace","tools":[{"type":"function"}]}]}"#, ClientTools, ""),
    (Responses, r#"{"store":false,"tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]}"#, ServerEffects, "tool run by the provider"),
    (Responses, r#"{"store":false,"tools":[{"type":"web_search_preview_2025_03_11"}]}"#, ServerEffects, "tool run by the provider"),
    (Messages, r#"{"max_tokens":10,"messages":[]}"#, Pure, ""),
    (Messages, r#"{"max_tokens":10,"tools":[{"name":"f"},{"type":"custom","name":"g"},{"type":"bash_20250124"}]}"#, ClientTools, ""),
    (Messages, r#"{"max_tokens":10,"tools":[{"type":"web_search_20250305"}]}"#, ServerEffects, "tool run by the provider"),
    (Messages, r#"{"max_tokens":10,"tools":[{"type":"invented_20270101"}]}"#, ServerEffects, "tool run by the provider"),
    (Messages, r#"{"max_tokens":10,"mcp_servers":[{"url":"u"}]}"#, ServerEffects, "mcp_servers"),
    (Messages, r#"{"max_tokens":10,"mcp_servers":[]}"#, Pure, ""),
    (Messages, r#"{"max_tokens":0}"#, Stateful, "max_tokens:0"),
    (Messages, r#"{"max_tokens":10,"container":"c"}"#, Pinned, "container"),
    (Messages, r#"{"messages":[{"content":[{"type":"server_tool_use"}]}]}"#, ServerEffects, "server tool in the prompt"),
    (Messages, r#"{"messages":[{"content":[{"type":"tool_use","input":{"file_id":"x","signature":"y"}}]}]}"#, Pure, ""),
    (Messages, r#"{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}]}]}"#, Pinned, "reference in the prompt"),
    (CountTokens, r#"{"tools":[{"type":"web_search_20250305"}]}"#, Pure, ""),
];

#[test]
fn every_request_gets_its_class() {
    for &(operation, body, class, because) in CLASSES {
        let found = classified(operation, body);
        assert_eq!((found.class, found.because), (class, because), "{operation:?} {body}");
    }
}

#[test]
fn the_class_decides_what_may_be_repeated() {
    for &(operation, body, class, _) in CLASSES {
        let found = classified(operation, body);
        let (hedge, retry) = match class {
            Pure | ClientTools | Costly => (true, RetryRule::BeforeFirstToken),
            Stateful | ServerEffects => (false, RetryRule::OnlyIfNothingRan),
            Pinned => (false, RetryRule::SameRouteOnly),
        };
        assert_eq!((found.hedge, found.retry), (hedge, retry), "{body}");
        assert!(!found.hedge || !found.home_route && found.tools != Tools::Server, "{body}");
        assert!(!matches!(class, Stateful | Pinned) || found.home_route, "{body}");
    }
}

#[test]
fn signed_thinking_stays_with_its_provider_and_may_be_hedged() {
    for body in [
        r#"{"max_tokens":9,"messages":[{"content":[{"type":"thinking","thinking":"x","signature":"s"}]}]}"#,
        r#"{"max_tokens":9,"messages":[{"content":[{"type":"redacted_thinking","data":"x"}]}]}"#,
    ] {
        let found = classified(Messages, body);
        assert!(found.provider_pinned && found.hedge, "{body}");
    }
    let unsigned =
        r#"{"max_tokens":9,"messages":[{"content":[{"type":"thinking","thinking":"x","signature":""}]}]}"#;
    assert!(!classified(Messages, unsigned).provider_pinned);
    let gemini = r#"{"messages":[{"tool_calls":[{"extra_content":{"google":{"thought_signature":"s"}}}]}]}"#;
    assert!(classified(ChatCompletions, gemini).provider_pinned);
}

#[test]
fn a_passed_through_key_pins_and_a_searching_model_acts() {
    let body = br#"{"messages":[]}"#;
    let scan = scan(body).unwrap();
    let passed = classify(ChatCompletions, &scan, body, "m", true);
    assert_eq!((passed.class, passed.because, passed.home_route), (Pinned, "passthrough", true));
    for model in ["gpt-4o-search-preview", "x/y:online"] {
        assert_eq!(classify(ChatCompletions, &scan, body, model, false).class, ServerEffects, "{model}");
    }
}
