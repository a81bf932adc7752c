//! Text to node trees, with the parser that is also below `serde-saphyr`.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::{
    node::{Content, Entry, Node, Position},
    scalar::Scalar,
};
use crate::lint::finding::Problem;

/// Most nodes of one document after expansion of aliases: ten times what the largest valid object needs.
pub(crate) const MAX_NODES: usize = 50_000;
/// Deepest nesting; our kinds need 8.
pub(crate) const MAX_DEPTH: usize = 64;

const TAB: &str = "a tab is not indentation in YAML: use spaces";

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// Documents up to the end or to the first syntax error; empty ones are left out.
    pub(crate) documents: Vec<Node>,
    /// What stopped the reading, if anything did.
    pub(crate) stopped: Option<Problem>,
}

/// Reads all documents of a text.
pub(crate) fn parse(text: &str) -> Parsed {
    let mut options = granit_parser::options! { emit_comments: false };
    options.set_emit_comments(false);
    let mut reader = Reader {
        events: Parser::new_from_str_with_options(text, options),
        text,
        anchors: HashMap::new(),
        nodes: 0,
    };
    let mut parsed = Parsed::default();
    loop {
        match reader.document() {
            Ok(Some(Node {
                content: Content::Scalar(Scalar { value: serde_json::Value::Null, .. }),
                ..
            })) => {}
            Ok(Some(document)) => parsed.documents.push(document),
            Ok(None) => return parsed,
            Err(problem) => {
                parsed.stopped = Some(*problem);
                return parsed;
            }
        }
    }
}

struct Reader<'text> {
    events: Parser<'text, StrInput<'text>>,
    text: &'text str,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

type Stop = Box<Problem>;

impl<'text> Reader<'text> {
    fn next(&mut self) -> Result<Option<(Event<'text>, Span)>, Stop> {
        self.events.next_event().transpose().map_err(|error| Box::new(syntax(&error, self.text)))
    }

    /// The next document; `None` at the end.
    fn document(&mut self) -> Result<Option<Node>, Stop> {
        self.anchors.clear();
        self.nodes = 0;
        while let Some((event, span)) = self.next()? {
            match event {
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(None),
                event => return self.node(event, span, 0).map(Some),
            }
        }
        Ok(None)
    }

    fn node(&mut self, event: Event<'text>, span: Span, depth: usize) -> Result<Node, Stop> {
        let at = position(&span.start);
        self.count(1, at)?;
        if depth > MAX_DEPTH {
            return stop(at, "yaml/depth", format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let (content, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (Content::Scalar(scalar(&text, style, tag.as_deref(), at)?), anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                plain_tag(tag.as_deref(), "seq", at)?;
                (self.list(depth)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                plain_tag(tag.as_deref(), "map", at)?;
                (self.map(depth)?, anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, at),
            _ => return stop(at, "yaml/syntax", "a value was expected here".to_owned()),
        };
        let node = Node { at, content };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Content, Stop> {
        let mut items = Vec::new();
        loop {
            match self.expect()? {
                (Event::SequenceEnd, _) => return Ok(Content::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Content, Stop> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.expect()?;
            let at = position(&span.start);
            let (key, trap) = match event {
                Event::MappingEnd => return Ok(Content::Map(entries)),
                Event::Scalar(text, ..) if text == "<<" => {
                    return stop(
                        at,
                        "yaml/merge-key",
                        "merge keys (<<) are not YAML 1.2: write the fields out".to_owned(),
                    );
                }
                Event::Scalar(text, style, _, tag) => {
                    let trap = scalar(&text, style, tag.as_deref(), at)?.trap;
                    (text.into_owned(), trap)
                }
                _ => return stop(at, "yaml/key", "a key must be text".to_owned()),
            };
            let (event, span) = self.expect()?;
            entries.push(Entry { at, key, trap, value: self.node(event, span, depth + 1)? });
        }
    }

    /// What an alias stands for. Not yet known inside its own anchor.
    fn alias(&mut self, anchor: usize, at: Position) -> Result<Node, Stop> {
        let Some(target) = self.anchors.get(&anchor).cloned() else {
            return stop(at, "yaml/alias", "an alias inside its own anchor never ends".to_owned());
        };
        self.count(target.size(), at)?;
        Ok(target)
    }

    fn count(&mut self, nodes: usize, at: Position) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return stop(
                at,
                "yaml/size",
                format!("more than {MAX_NODES} values in one document, aliases expanded"),
            );
        }
        Ok(())
    }

    fn expect(&mut self) -> Result<(Event<'text>, Span), Stop> {
        match self.next()? {
            Some(event) => Ok(event),
            None => stop(Position::START, "yaml/syntax", "the document ends inside a value".to_owned()),
        }
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, at: Position) -> Result<Scalar, Stop> {
    match tag.map(Tag::core_suffix) {
        None if style == ScalarStyle::Plain => Ok(Scalar::plain(text)),
        None | Some(Some("str")) => Ok(Scalar::text(text)),
        Some(Some("int" | "bool" | "null" | "float")) => Ok(Scalar::plain(text)),
        Some(_) => stop(at, "yaml/tag", "custom tags have no meaning here: remove the tag".to_owned()),
    }
}

/// A collection may carry its own core tag and no other.
fn plain_tag(tag: Option<&Tag>, expected: &str, at: Position) -> Result<(), Stop> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(expected) => {
            stop(at, "yaml/tag", "custom tags have no meaning here: remove the tag".to_owned())
        }
        _ => Ok(()),
    }
}

fn position(marker: &Marker) -> Position {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: number(marker.line()), column: number(marker.col().saturating_add(1)) }
}

fn syntax(error: &ScanError, text: &str) -> Problem {
    let at = position(error.marker());
    let line = text.lines().nth(error.marker().line().saturating_sub(1)).unwrap_or_default();
    let tab = line.trim_start_matches(' ').starts_with('\t');
    let (rule, message) = match error.kind() {
        _ if tab => ("yaml/tab", TAB.to_owned()),
        ErrorKind::TabInIndentation | ErrorKind::TabInPlainScalar | ErrorKind::TabAtBlockScalarStart => {
            ("yaml/tab", TAB.to_owned())
        }
        ErrorKind::UnknownAnchor => ("yaml/alias", "this alias has no anchor above it".to_owned()),
        kind => ("yaml/syntax", kind.to_string()),
    };
    Problem::error(at, rule, "", message)
}

fn stop<T>(at: Position, rule: &'static str, message: String) -> Result<T, Stop> {
    Err(Box::new(Problem::error(at, rule, "", message)))
}
