//! Commands over a real SSH server that really runs them.

use std::time::Duration;

use interlock_protocol::{Identity, IdentityFact};
use russh::keys::{Algorithm, PrivateKey};
use tokio_util::sync::CancellationToken;

use super::test_server::{PASSWORD, Running, start};
use super::{Credentials, Ssh, host_and_port};
use crate::output::{Exit, Limits, Output};
use crate::{Error, Secrets, options};

struct Stage {
    folder: tempfile::TempDir,
    server: Running,
}

impl Stage {
    async fn new() -> Self {
        let stage = Self {
            folder: tempfile::tempdir().unwrap(),
            server: start(None, None).await,
        };
        stage.know(&stage.server.known());
        stage
    }

    fn know(&self, text: &str) {
        std::fs::write(self.folder.path().join("known_hosts"), text).unwrap();
    }

    fn options(&self) -> options::Ssh {
        options::Ssh {
            user: "root".to_owned(),
            key_file: None,
            password_env: Some("SSH_PASSWORD".to_owned()),
            known_hosts: self.folder.path().join("known_hosts"),
        }
    }

    fn ssh_with(&self, options: &options::Ssh, password: &str) -> Result<Ssh, Error> {
        let credentials = Credentials::new("home", options, &Secrets::given([("SSH_PASSWORD", password)]))?;
        Ssh::new("home", &self.server.address.to_string(), credentials)
    }

    fn ssh(&self) -> Ssh {
        self.ssh_with(&self.options(), PASSWORD).unwrap()
    }
}

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

async fn run(ssh: &Ssh, argv: &[&str], stdin: Option<&[u8]>, limits: Limits) -> Result<Output, Error> {
    ssh.exec(&words(argv), stdin, limits, &CancellationToken::new())
        .await
}

#[tokio::test]
async fn words_arrive_as_they_are_and_streams_and_codes_come_back() {
    let stage = Stage::new().await;
    let ssh = stage.ssh();
    let odd = [
        "a b", "", "$(id)", "it's", "\"q\"", "*", "x\ny", "é", "-n", "`id`", "\\", ";",
    ];
    let mut argv = vec!["printf", "%s|"];
    argv.extend(odd);
    let output = run(&ssh, &argv, None, Limits::default()).await.unwrap();
    assert_eq!(output.stdout.text(), odd.map(|word| format!("{word}|")).concat());
    assert_eq!(output.exit, Exit::Code(0));

    let output = run(
        &ssh,
        &["sh", "-c", "cat; echo no >&2; exit 7"],
        Some(b"in \xff put"),
        Limits::default(),
    )
    .await
    .unwrap();
    assert_eq!(output.stdout.bytes, b"in \xff put");
    assert_eq!(
        (output.stderr.text().as_str(), output.exit),
        ("no\n", Exit::Code(7))
    );
}

#[tokio::test]
async fn one_connection_serves_many_commands_and_is_made_anew_when_it_is_lost() {
    let stage = Stage::new().await;
    let ssh = stage.ssh();
    for _ in 0..3 {
        run(&ssh, &["true"], None, Limits::default()).await.unwrap();
    }
    assert_eq!(*stage.server.seen.connections.lock().unwrap(), 1);
    *stage.server.seen.breaks.lock().unwrap() = true;
    let error = run(&ssh, &["true"], None, Limits::default()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    *stage.server.seen.breaks.lock().unwrap() = false;
    assert!(
        run(&ssh, &["true"], None, Limits::default())
            .await
            .unwrap()
            .is_success()
    );
    assert_eq!(*stage.server.seen.connections.lock().unwrap(), 2);
    // What may have run was not run again.
    assert_eq!(stage.server.seen.commands.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_host_key_that_is_not_known_or_changed_is_refused_with_what_to_do() {
    let stage = Stage::new().await;
    let other = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).unwrap();
    let place = format!("[127.0.0.1]:{}", stage.server.address.port());
    let changed = format!("{place} {}\n", other.public_key().to_openssh().unwrap());
    let elsewhere = stage.server.known().replace("127.0.0.1", "127.0.0.2");
    let seen = stage
        .server
        .key
        .fingerprint(russh::keys::HashAlg::Sha256)
        .to_string();
    for (file, part) in [
        ("", "is not known"),
        ("# nobody\n", "is not known"),
        (elsewhere.as_str(), "is not known"),
        (changed.as_str(), "has changed"),
    ] {
        stage.know(file);
        let error = run(&stage.ssh(), &["true"], None, Limits::default())
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains(part) && text.contains(&seen), "{text}");
        assert!(text.contains("known_hosts"), "{text}");
    }
    std::fs::remove_file(stage.folder.path().join("known_hosts")).unwrap();
    let error = run(&stage.ssh(), &["true"], None, Limits::default())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Configuration { .. }), "{error}");
    assert_eq!(*stage.server.seen.commands.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_wrong_password_or_key_is_unauthorized_and_not_repeated() {
    let stage = Stage::new().await;
    let ssh = stage.ssh_with(&stage.options(), "wrong pony").unwrap();
    let error = run(&ssh, &["true"], None, Limits::default()).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert!(!error.to_string().contains("pony"), "{error}");
}

#[tokio::test]
async fn a_key_with_a_passphrase_signs_in() {
    let key = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).unwrap();
    let mut stage = Stage::new().await;
    stage.server = start(None, Some(key.public_key().clone())).await;
    stage.know(&stage.server.known());
    let path = stage.folder.path().join("key");
    let sealed = key.encrypt(&mut rand::rng(), "open sesame").unwrap();
    std::fs::write(
        &path,
        sealed
            .to_openssh(russh::keys::ssh_key::LineEnding::LF)
            .unwrap()
            .as_str(),
    )
    .unwrap();
    let options = options::Ssh {
        key_file: Some(path),
        ..stage.options()
    };
    let ssh = stage.ssh_with(&options, "open sesame").unwrap();
    assert!(
        run(&ssh, &["true"], None, Limits::default())
            .await
            .unwrap()
            .is_success()
    );
    let error = stage.ssh_with(&options, "wrong").unwrap_err();
    assert!(matches!(error, Error::Configuration { .. }), "{error}");
}

#[tokio::test]
async fn a_command_ends_in_time_by_itself_and_when_it_is_cancelled() {
    let stage = Stage::new().await;
    let ssh = stage.ssh();
    let short = Limits {
        wall: Duration::from_secs(1),
        ..Limits::default()
    };
    let output = run(&ssh, &["sleep", "60"], None, short).await.unwrap();
    assert_eq!(output.exit, Exit::TimedOut);
    assert!(output.duration < Duration::from_secs(5), "{:?}", output.duration);
    let cancel = CancellationToken::new();
    let argv = words(&["sleep", "60"]);
    let running = ssh.exec(&argv, None, Limits::default(), &cancel);
    let cancelling = async {
        while stage.server.seen.commands.lock().unwrap().len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(running, cancelling);
    assert_eq!(output.unwrap().exit, Exit::Cancelled);
    let before = run(&ssh, &["true"], None, Limits::default());
    assert!(before.await.unwrap().is_success());
    assert_eq!(
        ssh.exec(&argv, None, Limits::default(), &cancel).await,
        Err(Error::Cancelled)
    );
}

#[tokio::test]
async fn output_is_kept_in_bounds_and_hashed_whole() {
    let stage = Stage::new().await;
    let ssh = stage.ssh();
    let small = Limits {
        output_bytes: 100,
        ..Limits::default()
    };
    let output = run(&ssh, &["head", "-c", "100000", "/dev/zero"], None, small)
        .await
        .unwrap();
    assert_eq!((output.stdout.total, output.exit), (100_000, Exit::Code(0)));
    assert_eq!(
        output.stdout.hash,
        interlock_protocol::ContentHash::of(vec![0; 100_000])
    );
    let endless = Limits {
        drain_bytes: 1_000_000,
        ..Limits::default()
    };
    let output = run(&ssh, &["cat", "/dev/zero"], None, endless).await.unwrap();
    assert_eq!(output.exit, Exit::OutputLimit);
}

#[tokio::test]
async fn what_is_no_command_is_refused_before_anything_is_reached() {
    let stage = Stage::new().await;
    for argv in [vec![], vec!["a\0b".to_owned()]] {
        let result = stage
            .ssh()
            .exec(&argv, None, Limits::default(), &CancellationToken::new())
            .await;
        assert!(matches!(result, Err(Error::Unsupported(_))), "{argv:?}");
    }
    assert_eq!(*stage.server.seen.connections.lock().unwrap(), 0);
}

#[test]
fn addresses_have_a_host_and_a_port() {
    let cases = [
        ("delly", Some(("delly", 22))),
        ("192.0.2.1:2222", Some(("192.0.2.1", 2222))),
        ("[::1]:2222", Some(("::1", 2222))),
        ("[::1]", Some(("::1", 22))),
        ("fd00::1", Some(("fd00::1", 22))),
        ("delly:x", None),
        ("", None),
        (":22", None),
        ("a b", None),
    ];
    for (text, expected) in cases {
        let expected = expected.map(|(host, port): (&str, u16)| (host.to_owned(), port));
        assert_eq!(host_and_port(text), expected, "{text}");
    }
}

#[tokio::test]
async fn a_command_runs_only_on_the_machine_that_it_is_meant_for() {
    let stage = Stage::new().await;
    let ssh = stage.ssh();
    let here = ssh.identity(IdentityFact::Endpoint);
    let key = here.get(IdentityFact::SshHostKey).unwrap().to_owned();
    assert!(key.starts_with("SHA256:"), "{here}");
    let with = |fact, value: &str| {
        let mut other = Identity::default().with(fact, value);
        other.extend(&here);
        other
    };
    let several = format!("SHA256:another,{key}");
    let cases = [
        (here.clone(), true),
        (Identity::default(), true),
        // A host may have several keys.
        (with(IdentityFact::SshHostKey, &several), true),
        (with(IdentityFact::SshHostKey, "SHA256:another"), false),
        (with(IdentityFact::Endpoint, "10.0.0.5:22"), false),
        (Identity::default().with(IdentityFact::DockerEngine, "x"), false),
    ];
    for (meant, runs) in cases {
        stage.server.seen.commands.lock().unwrap().clear();
        let ssh = ssh.clone().meant_for(Some(&meant));
        let ran = run(&ssh, &["true"], None, Limits::default()).await;
        let commands = stage.server.seen.commands.lock().unwrap().len();
        if runs {
            assert_eq!((ran.is_ok(), commands), (true, 1), "{meant}");
        } else {
            assert!(
                matches!(ran, Err(Error::AnotherMachine { .. })),
                "{meant}: {ran:?}"
            );
            assert_eq!(commands, 0, "{meant}");
        }
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A reload of the configuration: what did not change stays connected, what changed is closed and connected again.
#[tokio::test]
async fn another_configuration_keeps_the_connections_of_hosts_that_it_does_not_change() {
    let (one, two) = (Stage::new().await, Stage::new().await);
    let host = |name: &str, stage: &Stage| options::Host {
        name: name.to_owned(),
        address: stage.server.address.to_string(),
        ssh: stage.options(),
    };
    let secrets = Secrets::given([("SSH_PASSWORD", PASSWORD)]);
    let mut options = crate::Options {
        hosts: vec![host("one", &one), host("two", &two)],
        ..crate::Options::default()
    };
    let mut infra = crate::Infra::new(&options, &secrets, Vec::new()).unwrap();
    let connect = async |infra: &crate::Infra| -> Vec<u64> {
        let mut numbers = Vec::new();
        for host in infra.hosts() {
            run(host.ssh(), &["true"], None, Limits::default()).await.unwrap();
            numbers.push(host.ssh().connections());
        }
        numbers
    };
    let first = connect(&infra).await;
    let open = open_files();
    // A file that is named changes, as when a key is rotated.
    two.know(&format!("{}\n# rotated\n", two.server.known()));
    let (next, count) = infra.reconfigured(&options, &secrets, Vec::new()).unwrap();
    assert_eq!(
        count,
        crate::Connections {
            kept: 1,
            made: 1,
            closed: 1
        }
    );
    infra = next;
    let second = connect(&infra).await;
    assert_eq!(second[0], first[0], "the first host was connected again");
    assert_ne!(second[1], first[1], "the second host was not connected again");
    // One is removed, and asked for afterwards.
    options.hosts.remove(1);
    let (next, count) = infra.reconfigured(&options, &secrets, Vec::new()).unwrap();
    assert_eq!(
        count,
        crate::Connections {
            kept: 1,
            made: 0,
            closed: 1
        }
    );
    infra = next;
    let gone = infra
        .read_sandbox(&"host:two".parse().unwrap())
        .await
        .unwrap_err();
    assert!(
        gone.to_string().contains("commands cannot reach `host:two`"),
        "{gone}"
    );
    // What was removed is closed: fewer files are open than before, on both sides of the connection.
    for _ in 0..500 {
        if open_files() < open {
            assert_eq!(connect(&infra).await, [first[0]]);
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{open} open files became {}", open_files());
}
