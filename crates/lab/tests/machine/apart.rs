//! A machine is kept apart from the system.

use super::support::{get, lab, out, run, service, sh, spec, text};

#[tokio::test]
async fn a_command_nobody_foresaw_gives_a_true_answer() {
    let Some(lab) = lab().await else { return };
    let mut spec = spec("web");
    spec.files = vec![super::support::file("/var/log/x", "b 1\na 2\nb 3\n")];
    let machine = lab.machines.start(&spec).await.unwrap();
    let counted = out(&machine, "awk '{print $1}' /var/log/x | sort | uniq -c").await;
    let words: Vec<&str> = counted.split_whitespace().collect();
    assert_eq!(words, ["1", "a", "2", "b"]);
    assert_eq!(out(&machine, "uname -n; id -u; pwd").await, "web\n0\n/root\n");
}

#[tokio::test]
async fn files_and_processes_of_the_system_are_not_seen() {
    let Some(lab) = lab().await else { return };
    let canary = lab.folder.path().join("canary");
    std::fs::write(&canary, "sings").unwrap();
    let machine = lab.machines.start(&spec("web")).await.unwrap();
    for line in [
        format!("cat {}", canary.display()),
        "cat /etc/shadow".to_owned(),
        "ls /sys/class".to_owned(),
        "echo x > /usr/bin/new".to_owned(),
        "echo x > /usr/local/lib/lab/guest".to_owned(),
        "echo x > /proc/sys/kernel/core_pattern".to_owned(),
        "mount -t tmpfs x /mnt".to_owned(),
        "umount /proc/sys".to_owned(),
        // Namespaces of its own give nothing back.
        "unshare -Urm mount -o remount,bind,rw /usr".to_owned(),
        "unshare -Urm umount /proc/sys".to_owned(),
        "unshare -Urm sh -c 'umount -l /usr && touch /usr/new'".to_owned(),
        "unshare -Ur sh -c 'echo x > /proc/sys/kernel/core_pattern'".to_owned(),
        "unshare -Urmpf mount -t proc proc /proc".to_owned(),
        "unshare -Urn ip link add link lo name y type macvlan".to_owned(),
        "cat /proc/kcore | head -c 1 | grep .".to_owned(),
    ] {
        let done = sh(&machine, &line).await;
        assert_ne!(done.code, 0, "{line}: {}", text(&done.stdout));
    }
    assert_eq!(
        out(&machine, "ls /root /home /srv /tmp | grep -v : | tr -d '\\n'").await,
        ""
    );
    let processes = out(&machine, "ls /proc | grep -c '^[0-9]'").await;
    assert!(processes.trim().parse::<u32>().unwrap() < 10, "{processes}");
}

#[tokio::test]
async fn the_network_is_its_own() {
    let Some(lab) = lab().await else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (mut one, mut two) = (spec("one"), spec("two"));
    one.files = service("page", "", "listen = 80");
    two.files = one.files.clone();
    two.address = Some([10, 20, 0, 16].into());
    let (one, two) = (
        lab.machines.start(&one).await.unwrap(),
        lab.machines.start(&two).await.unwrap(),
    );
    // Both listen on the same port.
    for machine in [&one, &two] {
        super::support::until("listens", || async {
            get(machine, 80, "/health").await.contains("200 OK")
        })
        .await;
    }
    assert!(one.talk(port, b"x", 1).await.is_err());
    assert_eq!(
        run(
            &one,
            &["bash", "-c", &format!("echo > /dev/tcp/127.0.0.1/{port}")]
        )
        .await
        .code,
        1
    );
    assert_eq!(
        run(&one, &["bash", "-c", "echo > /dev/tcp/10.20.0.15/80"])
            .await
            .code,
        0
    );
    assert_eq!(
        run(&one, &["bash", "-c", "echo > /dev/tcp/10.20.0.16/80"])
            .await
            .code,
        1
    );
    let devices = out(&one, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \\n'").await;
    assert_eq!(devices, "lo");
}

#[tokio::test]
async fn what_the_lab_shares_is_there() {
    use std::io::{Read as _, Write as _};
    let Some(lab) = lab().await else { return };
    let (socket, shared) = (lab.folder.path().join("s"), lab.folder.path().join("shared"));
    std::fs::create_dir(&shared).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello").unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
    });
    let mut spec = spec("web");
    spec.sockets = vec![("/run/lab.sock".into(), socket)];
    spec.shared = vec![("/mnt/nas".into(), shared.clone())];
    let machine = lab.machines.start(&spec).await.unwrap();
    assert_eq!(
        out(
            &machine,
            "echo there > /mnt/nas/x; test -S /run/lab.sock && echo yes"
        )
        .await,
        "yes\n"
    );
    assert_eq!(std::fs::read_to_string(shared.join("x")).unwrap(), "there\n");
    let python = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/lab.sock'); print(s.recv(5).decode())";
    let done = run(&machine, &["python3", "-c", python]).await;
    if done.code == 127 {
        eprintln!("no python3 in /usr/bin: the socket is not connected to");
        return;
    }
    assert_eq!(text(&done.stdout), "hello\n", "{}", text(&done.stderr));
    served.join().unwrap();
}
