//! A small reader of server-sent events, as strict as the SDKs' own.
//!
//! In: body bytes in any pieces. Out: the data of each complete event. Line ends LF, CRLF and CR; several data
//! lines join; comments and other fields are skipped; an unterminated last event is never delivered.

/// The longest event that is read.
const LONGEST: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
}

/// An event is longer than 1 MiB.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Reads `bytes` and gives each event that they complete to `deliver`.
    pub(super) fn read(&mut self, bytes: &[u8], mut deliver: impl FnMut(&[u8])) -> Result<(), TooLong> {
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => self.end_line(&mut deliver),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > LONGEST {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    fn end_line(&mut self, deliver: &mut impl FnMut(&[u8])) {
        if self.line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                deliver(&self.data);
            }
            self.data.clear();
            return;
        }
        if let Some(value) = self.line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let (mut reader, mut all) = (Events::default(), Vec::new());
        for piece in pieces {
            reader.read(piece, |data| all.push(String::from_utf8(data.to_vec()).unwrap())).unwrap();
        }
        all
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_split() {
        let text = b": hi\r\nevent: x\r\ndata: one\r\ndata:two\r\n\r\ndata: three\n\n\rdata: four\r\r";
        let whole = events(&[text]);
        assert_eq!(whole, ["one\ntwo", "three", "four"]);
        for at in 0..text.len() {
            assert_eq!(events(&[&text[..at], &text[at..]]), whole, "split at {at}");
        }
    }

    #[test]
    fn an_unterminated_event_is_not_delivered() {
        assert!(events(&[b"data: [DONE]\n"]).is_empty());
        assert_eq!(events(&[b"event: ping\n\ndata: x\n\n"]), ["x"]);
    }

    #[test]
    fn an_endless_event_is_refused() {
        assert_eq!(Events::default().read(&vec![b'x'; LONGEST + 1], |_| {}), Err(TooLong));
    }
}
