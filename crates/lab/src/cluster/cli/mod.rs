//! `pct` and `qm`, as they are found on a node. They only carry words: what is asked is done by the cluster outside.

pub(super) mod frame;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use frame::{Frame, Kind};

/// What a program of Proxmox exits with when it gives up.
const GIVEN_UP: u8 = 255;

/// Runs one of them, by its name, in a node.
pub fn main(program: &str, arguments: &[String]) -> ExitCode {
    match ask(program, arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "{program}: the cluster does not answer: {error}"
            );
            ExitCode::from(GIVEN_UP)
        }
    }
}

/// Where the cluster listens. Where the root of the machine is a plain folder, this variable names it.
fn socket() -> PathBuf {
    let root = std::env::var_os("LAB_ROOT").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    root.join(super::SOCKET.trim_start_matches('/'))
}

fn ask(program: &str, arguments: &[String]) -> std::io::Result<u8> {
    let mut stream = UnixStream::connect(socket())?;
    let words: Vec<&str> = std::iter::once(program)
        .chain(arguments.iter().map(String::as_str))
        .collect();
    let command = serde_json::to_vec(&words)?;
    stream.write_all(&Frame::new(Kind::Command, command).bytes())?;
    let input = stream.try_clone()?;
    // It ends with the process: nobody waits for it, because nobody may ever type.
    std::thread::spawn(move || carry_input(input));
    loop {
        let frame = frame::read(&mut stream)?;
        match frame.kind {
            Kind::Stdout => {
                let mut out = std::io::stdout().lock();
                out.write_all(&frame.payload)?;
                out.flush()?;
            }
            Kind::Stderr => std::io::stderr().lock().write_all(&frame.payload)?,
            Kind::Exit => return Ok(frame.payload.first().copied().unwrap_or(GIVEN_UP)),
            Kind::Command | Kind::Stdin | Kind::StdinEnd => {}
        }
    }
}

fn carry_input(mut stream: UnixStream) {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let frame = match std::io::stdin().read(&mut buffer) {
            Ok(0) | Err(_) => Frame::new(Kind::StdinEnd, Vec::new()),
            Ok(length) => Frame::new(Kind::Stdin, buffer.get(..length).unwrap_or_default().to_vec()),
        };
        let last = frame.kind == Kind::StdinEnd;
        if stream.write_all(&frame.bytes()).is_err() || last {
            return;
        }
    }
}
