//! `POST /v1/completions`, the legacy endpoint: text choices, no role chunk.

use std::{fmt::Write as _, ops::Range};

use super::{Answer, Wire, chat::usage};

pub(super) struct Completions;

impl Wire for Completions {
    fn prelude(&self, _: &Answer) -> String {
        String::new()
    }

    fn tokens(&self, a: &Answer, range: Range<u32>) -> String {
        let none = if a.include_usage { r#","usage":null"# } else { "" };
        format!("data: {{{},\"choices\":[{}]{none}}}\n\n", head(a), choice(&a.text(range), "null"))
    }

    fn epilogue(&self, a: &Answer) -> String {
        let none = if a.include_usage { r#","usage":null"# } else { "" };
        let mut frames = format!("data: {{{},\"choices\":[{}]{none}}}\n\n", head(a), choice("", finish(a)));
        if a.include_usage {
            let _ = write!(frames, "data: {{{},\"choices\":[],\"usage\":{}}}\n\n", head(a), usage(a));
        }
        frames + "data: [DONE]\n\n"
    }

    fn whole(&self, a: &Answer) -> String {
        let choice = choice(&a.text(0..a.tokens), finish(a));
        format!(r#"{{{},"choices":[{choice}],"usage":{}}}"#, head(a), usage(a))
    }
}

fn head(a: &Answer) -> String {
    let id = a.id("cmpl-");
    format!(r#""id":"{id}","object":"text_completion","created":{},"model":{}"#, a.created, a.model)
}

fn choice(text: &str, finish: &str) -> String {
    format!(r#"{{"text":"{text}","index":0,"logprobs":null,"finish_reason":{finish}}}"#)
}

fn finish(a: &Answer) -> &'static str {
    if a.capped { r#""length""# } else { r#""stop""# }
}
