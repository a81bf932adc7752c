//! Event streams: no cut of the network changes a frame, and joined frames are the stream.

#![no_main]

use bytes::Bytes;
use hedgerow_gateway::wire::sse::{Frame, Framer};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 16;

/// Frames of `stream` when it comes in `pieces`, and what is left at its end.
fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<Frame>> {
    let mut framer = Framer::new(LIMIT);
    let mut found = Vec::new();
    for piece in pieces {
        framer.push(Bytes::copy_from_slice(piece));
        while let Some(frame) = framer.next_frame().ok()? {
            found.push(frame);
        }
    }
    found.extend(framer.finish());
    Some(found)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, stream) = input;
    let (Some(whole), Some(cut)) =
        (frames(std::iter::once(stream)), frames(stream.chunks(usize::from(size) + 1)))
    else {
        return;
    };
    let joined: Vec<u8> = whole.iter().flat_map(|frame| frame.raw.iter().copied()).collect();
    assert_eq!(joined, stream);
    assert_eq!(whole.len(), cut.len());
    for (one, other) in whole.iter().zip(&cut) {
        assert_eq!((&one.raw, one.event(), one.data()), (&other.raw, other.event(), other.data()));
    }
});
