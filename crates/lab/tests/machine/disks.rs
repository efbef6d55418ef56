//! Disks that are full when they are full, and stay when their machine is stopped.

use interlock_lab::machine::{Error, Stop};

use super::support::{get, lab, out, service, sh, spec, text, until};

#[tokio::test]
async fn a_full_disk_is_full_and_recovers() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("media");
    spec.volumes = vec![("/var/lib/media".into(), 2 << 20)];
    spec.files = service("media", "", "listen = 8096\ndata = \"/var/lib/media/db\"");
    let machine = lab.machines.start(&spec).await.unwrap();
    until("healthy", || async {
        get(&machine, 8096, "/health").await.contains("200 OK")
    })
    .await;
    let filled = sh(&machine, "head -c 9000000 /dev/zero > /var/lib/media/junk").await;
    assert!(
        text(&filled.stderr).contains("No space left on device"),
        "{}",
        text(&filled.stderr)
    );
    let usage = machine.usage().await.unwrap();
    assert_eq!(
        (usage[1].path.to_str(), usage[1].total),
        (Some("/var/lib/media"), 2 << 20)
    );
    assert!(usage[1].total - usage[1].used <= 8192, "{usage:?}");
    assert!(usage[0].used < usage[0].total / 2);
    assert!(
        out(&machine, "df /var/lib/media | tail -1")
            .await
            .contains("100%")
    );
    match machine.write("/var/lib/media/new", &[7; 9000]).await {
        Err(Error::Io { cause, .. }) => assert_eq!(cause.kind(), std::io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
    until("failing", || async {
        // What the service itself had taken for a moment when the disk became full is taken too.
        sh(&machine, "head -c 8192 /dev/zero >> /var/lib/media/junk").await;
        let health = get(&machine, 8096, "/health").await;
        health.contains("503 Service Unavailable") && health.contains("No space left on device")
    })
    .await;
    assert!(
        out(&machine, "journalctl -u media -p err")
            .await
            .contains("cannot write /var/lib/media/db")
    );
    out(&machine, "rm /var/lib/media/junk").await;
    until("recovered", || async {
        get(&machine, 8096, "/health").await.contains("200 OK")
    })
    .await;
}

#[tokio::test]
async fn the_journal_survives_a_full_disk() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("full");
    spec.volumes = vec![("/var/log".into(), 1 << 20)];
    spec.files = service(
        "app",
        "",
        "listen = 80\nlog = \"/var/log/app.log\"\nlevel = \"debug\"\ndebug_bytes_per_second = 9000000",
    );
    let machine = lab.machines.start(&spec).await.unwrap();
    until("full", || async {
        let usage = machine.usage().await.unwrap();
        usage[1].total - usage[1].used <= 8192
    })
    .await;
    until("told", || async {
        out(&machine, "journalctl -u app")
            .await
            .contains("cannot write log /var/log/app.log: No space left on device")
    })
    .await;
    let quiet = "sed -i 's/\"debug\"/\"info\"/' /etc/app.toml && truncate -s 0 /var/log/app.log";
    out(&machine, quiet).await;
    until("quiet", || async {
        out(
            &machine,
            "truncate -s 0 /var/log/app.log; sleep 0.3; cat /var/log/app.log",
        )
        .await
        .is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_disk_stays_until_it_is_thrown_away() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("keep");
    spec.volumes = vec![("/data".into(), 1 << 20)];
    spec.files = vec![super::support::file("/etc/app.conf", "first")];
    for how in [Stop::Kill, Stop::Ask(std::time::Duration::from_secs(5))] {
        let machine = lab.machines.start(&spec).await.unwrap();
        assert!(
            matches!(lab.machines.start(&spec).await, Err(Error::Io { .. })),
            "it runs already"
        );
        assert!(lab.machines.discard("keep").await.is_err(), "it runs");
        machine.write("/data/x", b"mine").await.unwrap();
        machine.write("/etc/app.conf", b"second").await.unwrap();
        machine.stop(how).await;
        assert!(matches!(machine.read("/data/x").await, Err(Error::Down(_))));
        let again = lab.machines.start(&spec).await.unwrap();
        assert_eq!(again.read("/data/x").await.unwrap(), b"mine");
        assert_eq!(again.read("/etc/app.conf").await.unwrap(), b"second");
        again.stop(Stop::Kill).await;
    }
    lab.machines.discard("keep").await.unwrap();
    let fresh = lab.machines.start(&spec).await.unwrap();
    assert!(matches!(fresh.read("/data/x").await, Err(Error::Io { .. })));
    assert_eq!(fresh.read("/etc/app.conf").await.unwrap(), b"first");
}
