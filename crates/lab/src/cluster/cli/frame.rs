//! How `pct` and `qm` talk to the cluster: a letter, a length, and that many bytes.

use std::io::{Error, ErrorKind, Read};

use tokio::io::AsyncReadExt as _;

/// No frame is longer.
const MOST: u32 = 1 << 20;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster) enum Kind {
    /// The program and its arguments, as a JSON list.
    Command,
    /// Input for the program.
    Stdin,
    /// No more input.
    StdinEnd,
    /// Output.
    Stdout,
    /// Complaints.
    Stderr,
    /// The end, with the exit code.
    Exit,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Command,
        Self::Stdin,
        Self::StdinEnd,
        Self::Stdout,
        Self::Stderr,
        Self::Exit,
    ];

    const fn letter(self) -> u8 {
        match self {
            Self::Command => b'C',
            Self::Stdin => b'I',
            Self::StdinEnd => b'E',
            Self::Stdout => b'O',
            Self::Stderr => b'R',
            Self::Exit => b'X',
        }
    }
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cluster) struct Frame {
    pub(in crate::cluster) kind: Kind,
    pub(in crate::cluster) payload: Vec<u8>,
}

impl Frame {
    pub(in crate::cluster) const fn new(kind: Kind, payload: Vec<u8>) -> Self {
        Self { kind, payload }
    }

    /// As it is sent. What is longer than a frame may be is cut.
    pub(in crate::cluster) fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).map_or(MOST, |length| length.min(MOST));
        let mut bytes = Vec::with_capacity(self.payload.len() + 5);
        bytes.push(self.kind.letter());
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.payload.iter().take(length as usize));
        bytes
    }
}

fn head(head: [u8; 5]) -> Result<(Kind, usize), Error> {
    let [letter, length @ ..] = head;
    let kind = Kind::ALL.into_iter().find(|kind| kind.letter() == letter);
    let length = u32::from_be_bytes(length);
    match kind {
        Some(kind) if length <= MOST => Ok((kind, length as usize)),
        _ => Err(Error::new(ErrorKind::InvalidData, "that is no frame")),
    }
}

/// Reads a frame.
pub(in crate::cluster) fn read(from: &mut impl Read) -> Result<Frame, Error> {
    let mut bytes = [0; 5];
    from.read_exact(&mut bytes)?;
    let (kind, length) = head(bytes)?;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload)?;
    Ok(Frame { kind, payload })
}

/// Reads a frame without blocking others.
pub(in crate::cluster) async fn receive(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
) -> Result<Frame, Error> {
    let mut bytes = [0; 5];
    from.read_exact(&mut bytes).await?;
    let (kind, length) = head(bytes)?;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload).await?;
    Ok(Frame { kind, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_ends_read_what_is_sent() {
        for kind in Kind::ALL {
            let frame = Frame::new(kind, b"some bytes".to_vec());
            assert_eq!(read(&mut frame.bytes().as_slice()).expect("a frame"), frame);
            assert_eq!(
                receive(&mut frame.bytes().as_slice()).await.expect("a frame"),
                frame
            );
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for bytes in [
            &b""[..],
            b"O",
            b"Z\0\0\0\0",
            b"O\xff\xff\xff\xff",
            b"O\0\0\0\x02x",
        ] {
            assert!(read(&mut &*bytes).is_err(), "{bytes:?}");
        }
    }
}
