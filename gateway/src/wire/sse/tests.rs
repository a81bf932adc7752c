use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

/// All frames of a stream that arrives in the given pieces.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut framer = Framer::new(LIMIT);
    let mut found = Vec::new();
    for piece in pieces {
        framer.push(Bytes::copy_from_slice(piece));
        while let Some(frame) = framer.next_frame().unwrap() {
            found.push(frame);
        }
    }
    found.extend(framer.finish());
    found
}

fn data(bytes: &[u8]) -> Vec<String> {
    let text = |frame: &Frame| frame.data().map(|data| String::from_utf8(data.into_owned()).unwrap());
    frames([bytes]).iter().filter_map(text).collect()
}

#[test]
fn every_kind_of_line_end_ends_a_line() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!("event: a{end}data: 1{end}{end}data:2{end}data: 3{end}{end}: ping{end}{end}");
        let found = frames([stream.as_bytes()]);
        assert_eq!(found.len(), 3, "{end:?}");
        assert_eq!(found[0].event(), Some(&b"a"[..]));
        assert_eq!(found[0].data().unwrap(), &b"1"[..]);
        assert_eq!(found[1].data().unwrap(), &b"2\n3"[..]);
        assert_eq!((found[2].data(), found[2].event()), (None, None));
        assert!(found.iter().all(Frame::terminated));
    }
}

#[test]
fn fields_are_read_as_the_standard_says() {
    for (stream, wanted) in [
        ("data: {\"a\": 1}\n\n", vec!["{\"a\": 1}"]),
        ("data:x\n\n", vec!["x"]),
        ("data:  x\n\n", vec![" x"]),
        ("data\n\n", vec![""]),
        ("id: 7\nretry: 9\ndatax: no\n data: no\n\n", vec![]),
        (":data: no\n\ndata: a:b\n\n", vec!["a:b"]),
        ("\u{feff}data: bom\n\n\u{feff}data: no\n\n", vec!["bom"]),
        ("\n\n\ndata: x\n\n", vec!["x"]),
        ("data: 日本\n\n", vec!["日本"]),
    ] {
        assert_eq!(data(stream.as_bytes()), wanted, "{stream:?}");
    }
}

#[test]
fn a_frame_is_given_as_soon_as_its_last_needed_byte_is_there() {
    for (stream, at_once) in
        [("data: 1\n\n", true), ("data: 1\r\r", true), ("data: 1\r\n\r\n", true), ("data: 1\r\n\r", false)]
    {
        let mut framer = Framer::new(LIMIT);
        framer.push(Bytes::from_static(stream.as_bytes()));
        assert_eq!(framer.next_frame().unwrap().is_some(), at_once, "{stream:?}");
        let tail = framer.finish();
        assert_eq!(tail.is_some(), !at_once);
        assert!(tail.is_none_or(|frame| frame.terminated()));
    }
}

#[test]
fn an_unfinished_frame_is_a_tail_and_not_an_event() {
    let found = frames([&b"data: 1\n\ndata: {\"usage\":1}\n"[..]]);
    assert_eq!(found.len(), 2);
    assert!(!found[1].terminated());
    assert_eq!(found[1].data().unwrap(), &b"{\"usage\":1}"[..]);
}

#[test]
fn a_frame_inside_one_chunk_is_a_slice_of_it() {
    let chunk = Bytes::from_static(b"data: 1\n\ndata: 2\n\n");
    let mut framer = Framer::new(LIMIT);
    framer.push(chunk.clone());
    for at in [0, 9] {
        assert_eq!(framer.next_frame().unwrap().unwrap().raw.as_ptr(), chunk[at..].as_ptr());
    }
}

#[test]
fn an_event_over_the_limit_ends_the_stream() {
    let mut framer = Framer::new(16);
    framer.push(Bytes::from_static(b"data: 12345678\n\n"));
    assert!(framer.next_frame().unwrap().is_some());
    framer.push(Bytes::from_static(b"data: 12345"));
    assert_eq!(framer.next_frame(), Ok(None));
    framer.push(Bytes::from_static(b"678"));
    assert_eq!(framer.next_frame(), Ok(None));
    framer.push(Bytes::from_static(b"9\n\n"));
    assert_eq!(framer.next_frame(), Err(FrameTooLarge { limit: 16 }));
}

/// Pieces of streams, chosen so that line ends meet and split in all ways.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"data: a",
        b"data:b",
        b"event: e",
        b": c",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b"\r\r",
        b"\xef\xbb\xbf",
        b"x",
        "data: 日本".as_bytes(),
        b"data: [DONE]",
    ];
    proptest::collection::vec(proptest::sample::select(pieces), 0..24).prop_map(|list| list.concat())
}

proptest! {
    #[test]
    fn no_split_changes_a_frame(bytes in stream(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let whole = frames([&bytes[..]]);
        prop_assert_eq!(whole.iter().flat_map(|frame| frame.raw.to_vec()).collect::<Vec<u8>>(), bytes.clone());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        prop_assert_eq!(&frames(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), &whole);
        prop_assert_eq!(&frames(bytes.chunks(1)), &whole);
    }

    #[test]
    fn frames_agree_with_a_plain_reading(bytes in stream()) {
        // The standard's own procedure, line by line over the whole text.
        let text = String::from_utf8(bytes.clone()).unwrap();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n").replace('\r', "\n");
        let mut events = Vec::new();
        let mut lines: Vec<&str> = Vec::new();
        for line in text.split('\n').collect::<Vec<_>>().split_last().map(|(_, complete)| complete).unwrap_or_default() {
            if line.is_empty() {
                if !lines.is_empty() { events.push(lines.join("\n")); }
                lines.clear();
            } else if let Some(value) = line.strip_prefix("data:") {
                lines.push(value.strip_prefix(' ').unwrap_or(value));
            }
        }
        let found: Vec<String> = frames([&bytes[..]]).iter().filter(|frame| frame.terminated())
            .filter_map(|frame| frame.data().map(|data| String::from_utf8(data.into_owned()).unwrap())).collect();
        prop_assert_eq!(found, events);
    }
}
