//! Machines without namespaces.

use interlock_lab::machine::{Isolation, Machines, Spec, Stop, Wish};

use super::support::{file, get, program, service, sh, spec, text, until};

/// What works without namespaces.
pub(super) async fn check_basics(machines: &Machines) {
    let mut spec: Spec = spec("plain");
    let process = std::process::id().to_be_bytes();
    // Tests at the same time share the network.
    spec.address = Some([10, process[1], process[2], process[3]].into());
    spec.files = service(
        "app",
        "Restart=on-failure",
        "listen = 18080\nlog = \"/var/log/app.log\"",
    );
    spec.files.push(file("/var/log/x", "b 1\na 2\nb 3\n"));
    let machine = machines.start(&spec).await.unwrap();
    until("serves", || async {
        get(&machine, 18080, "/health").await.contains("200 OK")
    })
    .await;
    let cases: [(&[&str], i32, &str); 9] = [
        (&["systemctl", "is-active", "app"], 0, "active\n"),
        (&["sh", "-c", "systemctl is-active app"], 0, "active\n"),
        // Nothing that a model could write: it would read the files of who started the lab.
        (&["cat", "/etc/hostname"], 126, ""),
        (&["cat", "../../../../../../etc/passwd"], 126, ""),
        (&["sh", "-c", "cat .?/.?/.?/.?/.?/.?/etc/passwd"], 126, ""),
        (&["sh", "-c", "echo /etc/passwd | sort --files0=-"], 126, ""),
        (&["sh", "-c", "systemctl is-active app; cat /etc/passwd"], 126, ""),
        (&["python3", "-c", "print(1)"], 126, ""),
        (&["ls"], 126, ""),
    ];
    for (argv, code, expected) in cases {
        let done = super::support::run(&machine, argv).await;
        assert_eq!(
            (done.code, text(&done.stdout).as_str()),
            (code, expected),
            "{argv:?}: {}",
            text(&done.stderr)
        );
    }
    let journal = super::support::run(&machine, &["journalctl", "-u", "app", "-o", "cat"]).await;
    assert!(
        text(&journal.stdout).contains("Started app server."),
        "{}",
        text(&journal.stdout)
    );
    assert_eq!(machine.read("/var/log/x").await.unwrap(), b"b 1\na 2\nb 3\n");
    assert!(machine.read("/../../../../../../../../etc/passwd").await.is_err());
    assert_eq!(machine.usage().await.unwrap()[0].total, 16 << 20);
    machine.stop(Stop::Kill).await;
    let again = machines.start(&spec).await.unwrap();
    until("serves again", || async {
        get(&again, 18080, "/health").await.contains("200 OK")
    })
    .await;
    let refused = sh(&again, "rm /var/log/x").await;
    assert!(
        text(&refused.stderr).contains("no namespaces"),
        "{}",
        text(&refused.stderr)
    );
    assert!(again.read("/var/log/x").await.is_ok());
    again.stop(Stop::Kill).await;
    machines.discard("plain").await.unwrap();
}

#[tokio::test]
async fn machines_without_namespaces_say_so_and_do_less() {
    let folder = tempfile::tempdir().unwrap();
    let machines = Machines::new(program(), folder.path().to_owned(), Wish::Folders)
        .await
        .unwrap();
    assert!(matches!(machines.isolation(), Isolation::Folders { .. }));
    check_basics(&machines).await;
}
