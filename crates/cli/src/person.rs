//! Who is at the keyboard.

use interlock_protocol::UserId;
use interlock_store::LOCAL;

use crate::failure::Failure;

/// The user that this process runs as, by the system's own name, marked as one of this machine: nobody here has signed in,
/// so nobody here is a user of the server, whatever the system calls them. Not by a variable of the environment: that name
/// goes into the record of who approved what.
pub(crate) fn whoami() -> Result<UserId, Failure> {
    let uid = rustix::process::getuid().as_raw();
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = named(&known, uid).unwrap_or_else(|| format!("uid-{uid}"));
    UserId::new(format!("{LOCAL}{name}"))
        .or_else(|_| UserId::new(format!("{LOCAL}uid-{uid}")))
        .map_err(Failure::wrong)
}

fn named(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let id: u32 = fields.nth(1)?.parse().ok()?;
        (id == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::{named, whoami};

    #[test]
    fn whoever_is_at_the_keyboard_has_a_name_that_no_user_of_the_server_has() {
        let name = whoami().unwrap();
        assert!(
            name.as_str().len() > "local:".len() && name.as_str().starts_with("local:"),
            "{name}"
        );
    }

    #[test]
    fn a_user_has_the_name_that_the_system_gives_it() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\nbroken\nzoe:x:1000:1000::/home/zoe:/bin/sh\n";
        let cases = [(0, Some("root")), (1000, Some("zoe")), (7, None)];
        for (uid, name) in cases {
            assert_eq!(named(passwd, uid).as_deref(), name, "{uid}");
        }
    }
}
