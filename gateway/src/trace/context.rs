//! Whose trace a user action belongs to, and whether it is told.
//!
//! Inputs: the client's `traceparent`, our request id, the fleet's share. Output: a [`Context`], made anew wherever it is
//! needed, because that costs less than carrying it. Source: W3C Trace Context, level 2 (`traceparent` of version 00, and of
//! later ones what 00 says).
//!
//! Rules. A client's valid context decides: sampled is told whole, not sampled is not told, because whoever began the
//! trace has decided for all of it. Without one the trace begins here: its id is the number of our `x-request-id`, so that
//! an answer can be looked up; a share of them is told, by the id's last 56 bits as OpenTelemetry's consistent sampling
//! reads them, and beyond the share whatever was hedged, retried or failed, which is known in the end only. Attempts of
//! what is told from the start carry their own span to the provider; all others carry the header as it came.

use hedgerow_policy::draw::Key;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Trace and parent of a request.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What vendors keep beside it.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Length of `traceparent` in version 00.
const LENGTH: usize = 55;
const SAMPLED: u8 = 1;
/// Flags that are understood: sampled, and that the trace id is random.
const KNOWN_FLAGS: u8 = 0b11;
/// Randomness that sampling looks at: 56 bits.
const RANDOM_BITS: u32 = 56;

/// The trace that a user action belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Trace id, never 0.
    pub trace: u128,
    /// The client's span; `None` = the trace begins here.
    pub parent: Option<u64>,
    flags: u8,
    told: Told,
}

/// What of a trace is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Whatever,
    OnlyEventful,
    Never,
}

impl Context {
    /// The context of a request with this `traceparent` (empty = none) and request id, of which `percent` are told.
    pub fn of(traceparent: &str, request_id: &str, percent: u32) -> Self {
        if let Some((trace, parent, flags)) = parse(traceparent) {
            let told = if flags & SAMPLED == SAMPLED { Told::Whatever } else { Told::Never };
            return Self { trace, parent: Some(parent), flags: flags & KNOWN_FLAGS, told };
        }
        let trace = number(request_id);
        let told = if drawn(trace, percent) { Told::Whatever } else { Told::OnlyEventful };
        Self { trace, parent: None, flags: SAMPLED, told }
    }

    /// Whether it is told, when it was `eventful` or not.
    pub fn tells(&self, eventful: bool) -> bool {
        match self.told {
            Told::Whatever => true,
            Told::OnlyEventful => eventful,
            Told::Never => false,
        }
    }

    /// Flags of its spans.
    pub fn flags(&self) -> u8 {
        self.flags | SAMPLED
    }

    /// Names the attempt whose span is `span` to its provider, if the trace is told whatever comes of it.
    pub fn pass_on(&self, span: u64, headers: &mut HeaderMap) {
        if !self.tells(false) {
            return;
        }
        let text = format!("00-{:032x}-{span:016x}-{:02x}", self.trace, self.flags());
        let Ok(value) = HeaderValue::from_str(&text) else { return };
        headers.insert(TRACEPARENT, value);
        if self.parent.is_none() {
            // Whatever it belonged to, it was not this trace.
            headers.remove(TRACESTATE);
        }
    }
}

/// The span of an attempt, by its number from 1; 0 is the user action's own. Never 0.
pub fn span(key: &Key, request_id: &str, attempt: u8) -> u64 {
    key.hash(&[request_id.as_bytes(), b"/span/", &[attempt]].concat()).max(1)
}

/// Trace, parent and flags of a valid header.
fn parse(header: &str) -> Option<(u128, u64, u8)> {
    let (head, rest) = header.split_at_checked(LENGTH)?;
    let mut fields = head.split('-');
    let mut field = |digits: usize| {
        let text = fields.next()?;
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == digits && text.bytes().all(hex)).then_some(text)
    };
    let (version, trace, parent, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    let ends = rest.is_empty() || version != "00" && rest.starts_with('-');
    let (trace, parent) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(parent, 16).ok()?);
    (ends && version != "ff" && trace != 0 && parent != 0).then_some((
        trace,
        parent,
        u8::from_str_radix(flags, 16).ok()?,
    ))
}

/// The number of a request id of ours. Never 0.
fn number(request_id: &str) -> u128 {
    let digits = request_id.rsplit('_').next().unwrap_or_default();
    u128::from_str_radix(digits, 16).unwrap_or_default().max(1)
}

/// Whether a trace belongs to `percent` of all: its randomness reaches the threshold of rejection.
fn drawn(trace: u128, percent: u32) -> bool {
    let random = (trace & ((1 << RANDOM_BITS) - 1)) as u64;
    let rejected = u64::from(100 - percent.min(100));
    random >= ((1 << RANDOM_BITS) / 100) * rejected + (((1 << RANDOM_BITS) % 100) * rejected) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLED_PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const REQUEST: &str = "req_0123456789abcdef00ffffffffffffff";

    #[test]
    fn a_valid_context_is_read_and_any_other_is_none() {
        let read = Some((0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7, 1));
        assert_eq!(parse(SAMPLED_PARENT), read);
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(parse(later), read);
        assert_eq!(parse(&format!("{later}-what-the-future-will-be-like")), read);
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ü",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_clients_context_decides_and_without_one_the_share_and_what_happened() {
        let none = "";
        let unsampled = SAMPLED_PARENT.replace("-01", "-00");
        for (header, percent, plain, eventful) in [
            (SAMPLED_PARENT, 0, true, true),
            (unsampled.as_str(), 100, false, false),
            (none, 100, true, true),
            (none, 0, false, true),
            ("garbage", 0, false, true),
        ] {
            let context = Context::of(header, REQUEST, percent);
            assert_eq!((context.tells(false), context.tells(true)), (plain, eventful), "{header} {percent}");
        }
    }

    #[test]
    fn a_trace_that_begins_here_has_the_number_of_the_request() {
        let context = Context::of("", REQUEST, 100);
        assert_eq!(format!("req_{:032x}", context.trace), REQUEST);
        assert_eq!(context.parent, None);
        assert_eq!(Context::of("", "", 100).trace, 1, "no id is 0");
    }

    #[test]
    fn the_share_is_that_of_the_ids() {
        let mut rng = fastrand::Rng::with_seed(7);
        for percent in [0, 1, 10, 50, 99, 100] {
            let told = (0..20_000).filter(|_| drawn(rng.u128(..), percent)).count();
            let expected = 200 * percent as usize;
            assert!(told.abs_diff(expected) < 300, "{percent} %: {told}");
        }
        assert!(drawn(u128::MAX, 1) && !drawn(u128::MAX, 0) && drawn(0, 100) && !drawn(0, 99));
    }

    #[test]
    fn attempts_of_what_is_told_carry_their_own_span_and_all_others_what_came() {
        let sent = |header: &'static str, percent: u32| {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, HeaderValue::from_static(header));
            headers.insert(TRACESTATE, HeaderValue::from_static("vendor=1"));
            Context::of(header, REQUEST, percent).pass_on(0xab, &mut headers);
            (headers[TRACEPARENT].to_str().unwrap().to_owned(), headers.contains_key(TRACESTATE))
        };
        let ours = "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ab-01";
        assert_eq!(sent(SAMPLED_PARENT, 0), (ours.to_owned(), true));
        let random = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff";
        assert_eq!(sent(random, 0).0, ours.replace("-01", "-03"));
        let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        assert_eq!(sent(unsampled, 100), (unsampled.to_owned(), true));
        assert_eq!(sent("garbage", 0), ("garbage".to_owned(), true));
        let begun = format!("00-{}-00000000000000ab-01", &REQUEST[4..]);
        assert_eq!(sent("garbage", 100), (begun, false));
    }

    #[test]
    fn spans_of_one_request_differ() {
        let key = Key::new([7; 16]);
        let spans: std::collections::BTreeSet<u64> = (0..4).map(|n| span(&key, REQUEST, n)).collect();
        assert_eq!(spans.len(), 4);
        assert!(!spans.contains(&span(&key, "req_other", 0)));
    }
}
