//! A cursor over JSON bytes that builds nothing.
//!
//! The gateway forwards bodies byte for byte and looks at a handful of fields, so a parse tree would be paid for
//! and thrown away. The cursor walks a value in one pass: it jumps over strings by searching the next quote and
//! counts backslashes only there, which makes escapes such as `\n` free.
//!
//! Inputs: any bytes. Outputs: sub-slices of the input. Invariants: linear time, no allocation, no recursion;
//! brackets must match and nest at most [`MAX_DEPTH`] deep. It refuses to be a validator: separators inside
//! nested values, escapes and UTF-8 are the receiver's business.

use std::borrow::Cow;

use memchr::memchr;

/// Deepest nesting that is followed; `serde_json` and most providers stop at the same depth.
pub const MAX_DEPTH: u32 = 128;

/// Why a walk stopped. Offsets are bytes from the start of the walked slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The value does not end inside the slice.
    #[error("the JSON ends too early")]
    Truncated,
    /// Something else than the grammar asks for.
    #[error("unexpected byte at offset {at}, wanted {wanted}")]
    Syntax {
        /// Byte offset.
        at: usize,
        /// What would have been valid here.
        wanted: &'static str,
    },
    /// More than [`MAX_DEPTH`] open brackets.
    #[error("nested deeper than {MAX_DEPTH} levels at offset {at}")]
    Depth {
        /// Byte offset.
        at: usize,
    },
}

impl Fault {
    /// The same fault seen from `start` bytes earlier.
    pub fn moved(self, start: usize) -> Self {
        match self {
            Self::Truncated => self,
            Self::Syntax { at, wanted } => Self::Syntax { at: at + start, wanted },
            Self::Depth { at } => Self::Depth { at: at + start },
        }
    }
}

/// Sees the inside of every string of a walked value, keys included, still escaped.
pub trait Strings {
    /// Called once per string, in order.
    fn seen(&mut self, text: &[u8]);
}

impl Strings for () {
    #[inline]
    fn seen(&mut self, _text: &[u8]) {}
}

/// A position in JSON bytes.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes from the start.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Skips white space and shows the next byte without taking it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Takes `wanted` or fails.
    #[inline]
    pub fn take(&mut self, wanted: u8, name: &'static str) -> Result<(), Fault> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Fault::Syntax { at: self.at, wanted: name }),
            None => Err(Fault::Truncated),
        }
    }

    /// Takes a string and returns its inside, still escaped.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.take(b'"', "a string")?;
        let start = self.at;
        loop {
            let quote = quote(self.bytes, self.at).ok_or(Fault::Truncated)?;
            self.at = quote + 1;
            let inside = &self.bytes[start..quote];
            // A quote is escaped when an odd number of backslashes precedes it. Each run is counted once, for
            // the one quote that follows it, so the walk stays linear.
            let slashes = inside.iter().rev().take_while(|&&byte| byte == b'\\').count();
            if slashes % 2 == 0 {
                return Ok(inside);
            }
        }
    }

    /// Skips bytes of numbers and white space inside a container.
    #[inline]
    fn plain(&mut self) {
        while let Some(word) = word(self.bytes, self.at) {
            // Brackets and braces differ in one bit.
            let folded = word | splat(0x20);
            let hits = zeros(word ^ splat(b'"')) | zeros(folded ^ splat(b'{')) | zeros(folded ^ splat(b'}'));
            if hits != 0 {
                self.at += first(hits);
                return;
            }
            self.at += 8;
        }
    }

    /// Takes any value and returns its bytes.
    #[inline]
    pub fn value<S: Strings>(&mut self, strings: &mut S) -> Result<&'a [u8], Fault> {
        let first = self.peek().ok_or(Fault::Truncated)?;
        let start = self.at;
        match first {
            b'"' => strings.seen(self.string()?),
            b'{' | b'[' => self.container(strings)?,
            _ => self.scalar()?,
        }
        Ok(&self.bytes[start..self.at])
    }

    fn container<S: Strings>(&mut self, strings: &mut S) -> Result<(), Fault> {
        // One bit per open bracket, the innermost lowest: 1 for an object.
        let (mut depth, mut objects) = (0_u32, 0_u128);
        loop {
            match *self.bytes.get(self.at).ok_or(Fault::Truncated)? {
                b'"' => {
                    strings.seen(self.string()?);
                    continue;
                }
                open @ (b'{' | b'[') => {
                    if depth == MAX_DEPTH {
                        return Err(Fault::Depth { at: self.at });
                    }
                    depth += 1;
                    objects = objects << 1 | u128::from(open == b'{');
                }
                close @ (b'}' | b']') => {
                    if (objects & 1 == 1) != (close == b'}') {
                        return Err(Fault::Syntax { at: self.at, wanted: "the matching bracket" });
                    }
                    depth -= 1;
                    objects >>= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                b'0'..=b'9' | b' ' | b'\n' => {
                    self.at += 1;
                    self.plain();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn scalar(&mut self) -> Result<(), Fault> {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.'))
            .unwrap_or(rest.len());
        let word = &rest[..length];
        let number = matches!(word.first(), Some(b'-' | b'0'..=b'9'));
        if !number && !matches!(word, b"true" | b"false" | b"null") {
            return Err(Fault::Syntax { at: self.at, wanted: "a value" });
        }
        self.at += length;
        Ok(())
    }
}

/// The next quote from `at` on. Most are near (keys, short values, escaped quotes in code), where starting a vector search
/// costs more than it saves, so four words are looked at first.
#[inline]
pub(super) fn quote(bytes: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..4 {
        let Some(word) = word(bytes, at) else { break };
        let hits = zeros(word ^ splat(b'"'));
        if hits != 0 {
            return Some(at + first(hits));
        }
        at += 8;
    }
    memchr(b'"', bytes.get(at..)?).map(|step| at + step)
}

/// Eight bytes at once.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

const fn splat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The high bit of each zero byte. Bits above the lowest set one may be wrong, the lowest never is.
#[inline]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(splat(0x01)) & !word & splat(0x80)
}

/// The index of the lowest byte that has its bit set.
#[inline]
const fn first(hits: u64) -> usize {
    (hits.trailing_zeros() / 8) as usize
}

/// A key (still escaped), its value, and what saw the value's strings.
pub type Entry<'a, S> = (&'a [u8], &'a [u8], S);

/// The entries of an object, in order. Anything else than an object has none.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    cursor: Cursor<'a>,
    open: bool,
    first: bool,
}

/// Walks an object.
pub fn entries(value: &[u8]) -> Entries<'_> {
    let mut cursor = Cursor::new(value);
    let open = cursor.take(b'{', "an object").is_ok();
    Entries { cursor, open, first: true }
}

impl<'a> Entries<'a> {
    /// The next key (still escaped) and value; `None` after the closing bracket.
    #[inline]
    pub fn step<S: Strings>(
        &mut self,
        strings: impl FnOnce(&[u8]) -> S,
    ) -> Result<Option<Entry<'a, S>>, Fault> {
        if !self.open {
            return Ok(None);
        }
        match self.cursor.peek() {
            Some(b'}') => {
                self.cursor.at += 1;
                self.open = false;
                return Ok(None);
            }
            Some(b',') if !self.first => self.cursor.at += 1,
            Some(_) if self.first => {}
            Some(_) => {
                return Err(Fault::Syntax { at: self.cursor.at, wanted: "a comma or a closing brace" });
            }
            None => return Err(Fault::Truncated),
        }
        self.first = false;
        let key = self.cursor.string()?;
        self.cursor.take(b':', "a colon")?;
        let mut sink = strings(key);
        let value = self.cursor.value(&mut sink)?;
        Ok(Some((key, value, sink)))
    }

    /// Bytes from the start of the object to the cursor.
    pub fn offset(&self) -> usize {
        self.cursor.at
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], &'a [u8]);

    /// Broken JSON ends the walk; callers that must know use [`Entries::step`].
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.step(|_| ()).ok().flatten();
        self.open = entry.is_some();
        entry.map(|(key, value, ())| (key, value))
    }
}

/// Walks a whole object and returns the offset past its closing brace; `None` when it can't be read to there.
#[inline]
pub fn each<'a>(value: &'a [u8], mut entry: impl FnMut(&'a [u8], &'a [u8])) -> Option<usize> {
    let mut entries = entries(value);
    if !entries.open {
        return None;
    }
    while let Some((key, value, ())) = entries.step(|_| ()).ok()? {
        entry(key, value);
    }
    Some(entries.offset())
}

/// The items of an array, in order. Anything else than an array has none.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    cursor: Cursor<'a>,
    open: bool,
}

/// Walks an array.
pub fn items(value: &[u8]) -> Items<'_> {
    let mut cursor = Cursor::new(value);
    let open = cursor.take(b'[', "an array").is_ok();
    Items { cursor, open }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if !self.open {
            return None;
        }
        if self.cursor.peek() == Some(b',') {
            self.cursor.at += 1;
        }
        let end = matches!(self.cursor.peek(), None | Some(b']'));
        let item = if end { None } else { self.cursor.value(&mut ()).ok() };
        self.open = item.is_some();
        item
    }
}

/// Where `inner`, a slice of `outer`, begins in it.
pub fn offset_in(outer: &[u8], inner: &[u8]) -> usize {
    inner.as_ptr().addr().saturating_sub(outer.as_ptr().addr())
}

/// The first value under `key` of an object.
#[inline]
pub fn get<'a>(value: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    entries(value).find_map(|(name, inner)| (name == key).then_some(inner))
}

/// The first value under `key`, `null` counting as absent.
#[inline]
pub fn present<'a>(value: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    get(value, key).filter(|inner| *inner != b"null")
}

/// The inside of a string value, still escaped.
#[inline]
pub fn inside(value: &[u8]) -> Option<&[u8]> {
    match value {
        [b'"', inside @ .., b'"'] => Some(inside),
        _ => None,
    }
}

/// A string value, unescaped; borrowed when it has no escapes. `None` when it is no valid string.
pub fn text(value: &[u8]) -> Option<Cow<'_, str>> {
    let inside = inside(value)?;
    if memchr(b'\\', inside).is_some() {
        serde_json::from_slice::<String>(value).ok().map(Cow::Owned)
    } else {
        std::str::from_utf8(inside).ok().map(Cow::Borrowed)
    }
}

/// A number value as a count: fractions are cut off, too large saturates, negative and everything else is `None`.
pub fn count(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value[0].is_ascii_digit() {
        return None;
    }
    if value.iter().all(u8::is_ascii_digit) {
        let digit = |sum: u64, byte: &u8| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
        return Some(value.iter().fold(0, digit));
    }
    let number: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(number as u64) // `as` saturates
}

/// Whether the slice holds one JSON value and nothing else but white space.
pub fn is_one_value(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    cursor.value(&mut ()).is_ok() && cursor.peek().is_none()
}

#[cfg(test)]
mod tests;
