//! What the lab may ask of a machine.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Init, exec, write};
use crate::machine::wire::{self, Failure, Fill, Kind, Request};

/// How long a service may take to say something.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers the lab, for as long as the machine lives.
pub(super) fn serve(init: &Arc<Init>, listener: &UnixListener) {
    for connection in listener.incoming().flatten() {
        let init = Arc::clone(init);
        thread::spawn(move || {
            let Ok(mut failing) = connection.try_clone() else {
                return;
            };
            if let Err(cause) = answer(&init, connection) {
                let _ = wire::send_json(&mut failing, Kind::Failed, &Failure::from(cause));
            }
        });
    }
}

fn answer(init: &Init, mut connection: UnixStream) -> io::Result<()> {
    let Some(request) = wire::receive(&mut connection)? else {
        return Ok(());
    };
    match request.json()? {
        Request::Exec(request) => exec::run(init, &request, connection),
        Request::Output => {
            let argv = init.config.program.clone().unwrap_or_default();
            let code = exec::run_program(init, &argv, connection.try_clone()?);
            wire::send(&mut connection, Kind::Exit, &code.to_be_bytes())?;
            // The lab has all of it once it says so, or has left.
            let _ = wire::receive(&mut connection);
            std::process::exit(code)
        }
        Request::Talk { port, most } => talk(init, port, most, &mut connection),
        Request::Read { path } => {
            let content = fs::read(init.root.at(path)?)?;
            wire::send_bytes(&mut connection, &content)
        }
        Request::Write { path } => {
            let content = wire::receive_bytes(&mut connection)?;
            write(&init.root, &path, &content, None)?;
            wire::send(&mut connection, Kind::Done, &[])
        }
        Request::Usage => wire::send_json(&mut connection, Kind::Done, &usage(init)?),
        Request::Stop { milliseconds } => {
            stop(init, Duration::from_millis(milliseconds));
            std::process::exit(0)
        }
    }
}

fn talk(init: &Init, port: u16, most: usize, connection: &mut UnixStream) -> io::Result<()> {
    let request = wire::receive_bytes(connection)?;
    let own = init.config.address;
    let addresses = if init.root.folder().is_some() {
        vec![crate::machine::folders::address(&init.config)]
    } else {
        [Some(Ipv4Addr::LOCALHOST), own].into_iter().flatten().collect()
    };
    let mut stream = Err(io::Error::from(io::ErrorKind::ConnectionRefused));
    for address in addresses {
        stream = TcpStream::connect_timeout(&SocketAddr::new(IpAddr::V4(address), port), PATIENCE);
        if stream.is_ok() {
            break;
        }
    }
    let mut stream = stream?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&request)?;
    let mut left = most;
    let mut buffer = vec![0; 1 << 15];
    while left > 0 {
        let length = match stream.read(&mut buffer) {
            // Some servers slam the door when they have said everything.
            Err(cause) if cause.kind() == io::ErrorKind::ConnectionReset && left < most => 0,
            other => other?,
        };
        let Some(read) = buffer.get(..length.min(left)).filter(|read| !read.is_empty()) else {
            break;
        };
        wire::send(connection, Kind::Data, read)?;
        left -= read.len();
    }
    wire::send(connection, Kind::End, &[])
}

fn usage(init: &Init) -> io::Result<Vec<Fill>> {
    let root = std::iter::once((PathBuf::from("/"), init.config.disk_bytes));
    let volumes = init.config.volumes.iter().cloned();
    root.chain(volumes)
        .map(|(path, size)| {
            let at = init.root.at(&path)?;
            if init.root.folder().is_some() {
                let used = folder_size(&at)?;
                return Ok(Fill {
                    path,
                    total: size,
                    used,
                });
            }
            let disk = rustix::fs::statvfs(&at)?;
            Ok(Fill {
                path,
                total: disk.f_blocks * disk.f_frsize,
                used: disk.f_blocks.saturating_sub(disk.f_bfree) * disk.f_frsize,
            })
        })
        .collect()
}

fn folder_size(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        size += if found.is_dir() {
            folder_size(&entry.path())?
        } else {
            found.len()
        };
    }
    Ok(size)
}

/// Asks everything to end, and returns when it did or the time is up.
fn stop(init: &Init, patience: Duration) {
    let deadline = Instant::now() + patience;
    init.units.stop_all(deadline);
    let program = *init.program.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pid) = program {
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        // Its end ends this process with its code.
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        thread::sleep(Duration::from_secs(1));
    }
}
