//! Notices a model that repeats itself without end.

/// How many characters come between two looks.
const EVERY_CHARS: usize = 2000;
/// How much of the end is looked at.
const TAIL_BYTES: usize = 6000;
/// How long the repeated pattern may be.
const PATTERN_BYTES: std::ops::RangeInclusive<usize> = 30..=500;
/// How often it must stand there.
const TIMES: usize = 5;

/// Watches one text while it grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    chars: usize,
}

impl Watch {
    /// A piece was added to the end of `text`. Where it now repeats itself, the length of what came before that.
    pub(crate) fn grown(&mut self, text: &str, piece: &str) -> Option<usize> {
        self.chars += piece.chars().count();
        if self.chars < EVERY_CHARS {
            return None;
        }
        self.chars %= EVERY_CHARS;
        repetition(text.as_bytes()).map(|start| text.floor_char_boundary(start))
    }
}

/// Where the repetition at the end begins.
fn repetition(text: &[u8]) -> Option<usize> {
    let tail = &text[text.len().saturating_sub(TAIL_BYTES)..];
    for period in PATTERN_BYTES {
        let needed = period * TIMES;
        if needed > tail.len() {
            break;
        }
        let end = &tail[tail.len() - needed..];
        if end[period..] == end[..needed - period] {
            let mut start = text.len() - needed;
            while start > 0 && text[start - 1] == text[start - 1 + period] {
                start -= 1;
            }
            return Some(start);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(text: &str, piece: usize) -> Option<usize> {
        let mut watch = Watch::default();
        let mut so_far = String::new();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(piece) {
            let piece: String = piece.iter().collect();
            so_far.push_str(&piece);
            if let Some(cut) = watch.grown(&so_far, &piece) {
                return Some(cut);
            }
        }
        None
    }

    #[test]
    fn a_loop_is_found_and_cut_before_its_beginning() {
        let lead = "The disk is full because of old logs:";
        let pattern = "I will now look at the disk again to be sure. ";
        assert_eq!(
            watch(&(lead.to_owned() + &pattern.repeat(100)), 7),
            Some(lead.len())
        );
        let wide = "Ich prüfe die Größe der Festplatte noch einmal … ";
        let cut = watch(&(lead.to_owned() + &wide.repeat(100)), 3).expect("a loop");
        assert!(cut.abs_diff(lead.len()) <= 4, "{cut}");
    }

    #[test]
    fn what_varies_is_no_loop() {
        let counted: String = (0..2000)
            .flat_map(|n| [n.to_string(), ": the service on this host answers. ".to_owned()])
            .collect();
        let short = "na ".repeat(40);
        let four = format!(
            "{}{}",
            "x1 ".repeat(10),
            "abcdefghijklmnopqrstuvwxyz0123456789".repeat(4)
        );
        for text in [counted.as_str(), &short, &four] {
            assert_eq!(watch(text, 11), None);
        }
    }

    #[test]
    fn the_bounds_of_the_pattern_hold() {
        let pattern = |length: usize| -> String {
            (0..length)
                .map(|at| char::from(b'a' + u8::try_from((at * at * 7919) / 13 % 26).expect("small")))
                .collect()
        };
        for (length, found) in [(30, true), (500, true), (700, false)] {
            assert_eq!(
                watch(&pattern(length).repeat(20_000 / length), 50).is_some(),
                found,
                "{length}"
            );
        }
    }
}
