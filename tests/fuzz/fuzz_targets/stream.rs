//! What frames mean: any bytes are read by every dialect, and an incomplete stream is never taken for a complete one.

#![no_main]

use bytes::Bytes;
use hedgerow_gateway::wire::{
    contract::Spoken,
    dialect::Operation,
    sse::Framer,
    token::{Signal, StreamReader},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|stream: &[u8]| {
    for operation in Operation::ALL {
        let mut framer = Framer::new(1 << 16);
        let mut reader = StreamReader::new(operation).keeping_text();
        framer.push(Bytes::copy_from_slice(stream));
        let (mut ended, mut bytes) = (false, 0);
        while let Ok(Some(frame)) = framer.next_frame() {
            ended |= matches!(reader.read(&frame), Signal::End | Signal::Finish);
            assert!(reader.output_bytes() >= bytes, "output was unsaid");
            bytes = reader.output_bytes();
            assert!(bytes <= stream.len() as u64, "more output than bytes");
        }
        if let Some(tail) = framer.finish() {
            ended |= reader.read_tail(&tail) == Signal::End;
        }
        // Only a terminal event or the sentinel proves an end.
        assert!(ended || !reader.complete(), "{operation:?} is complete without its end");
        let _ = reader.usage();
        let kept: usize =
            reader.spoken().into_iter().flat_map(Spoken::texts).flatten().map(|text| text.len()).sum();
        assert!(kept <= stream.len(), "more text than bytes");
    }
});
