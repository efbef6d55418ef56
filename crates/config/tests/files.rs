//! Every example is read as it is published; every mistake is explained as a person will read it.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must stop")]

use std::path::{Path, PathBuf};

use interlock_config::{Config, Error, Loaded, Loader};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn environment() -> Vec<(String, String)> {
    [
        ("GATEWAY_TOKEN", "CANARY-gateway"),
        ("MIRROR_HOST", "CANARY-mirror.example.org"),
        ("DB_PASSWORD", "CANARY-db"),
        ("ANTHROPIC_API_KEY", "CANARY-anthropic"),
        ("HOME", "/home/bob"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn load(file: &Path) -> Result<Loaded, Error> {
    Loader::new(Some(file), "/", environment()).load()
}

fn files(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn every_example_is_right() {
    for file in files("examples") {
        // What a scripted model plays is no configuration.
        if stem(&file) == "script" {
            continue;
        }
        let loaded = load(&file).unwrap_or_else(|error| panic!("{error}"));
        let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        insta::assert_json_snapshot!(
            format!("example_{}", stem(&file)),
            serde_json::json!({ "config": loaded.config.sanitised(), "warnings": warnings })
        );
    }
}

#[test]
fn every_mistake_is_explained() {
    for file in files("tests/bad") {
        let error = load(&file)
            .err()
            .unwrap_or_else(|| panic!("{} is taken", file.display()));
        let text = error
            .to_string()
            .replace(&format!("{}/", folder("tests/bad").display()), "");
        assert!(!text.contains("CANARY"), "{text}");
        insta::assert_snapshot!(format!("bad_{}", stem(&file)), text);
    }
}

#[test]
fn nothing_from_outside_is_shown() {
    let loaded = load(&folder("examples/team.yaml")).unwrap();
    assert!(loaded.config.gate.egress.contains("CANARY-mirror.example.org"));
    for shown in [
        format!("{:?}", loaded.config),
        format!("{loaded:?}"),
        loaded.config.sanitised().to_string(),
    ] {
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let file = folder("schema/interlock.schema.json");
    let schema = format!(
        "{}\n",
        serde_json::to_string_pretty(&interlock_config::schema()).unwrap()
    );
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, &schema).unwrap();
    }
    let published = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        published == schema,
        "run the test with UPDATE_SCHEMA=1 and look at what changed"
    );
    assert_eq!(
        interlock_config::schema()["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}

#[test]
fn files_are_looked_for_in_order() {
    let root = tempfile::tempdir().unwrap();
    let (here, user) = (root.path().join("here"), root.path().join("user"));
    std::fs::create_dir_all(user.join("interlock")).unwrap();
    std::fs::create_dir_all(&here).unwrap();
    let environment = [
        ("XDG_CONFIG_HOME".to_owned(), user.to_string_lossy().into_owned()),
        ("XDG_DATA_HOME".to_owned(), "/data".to_owned()),
    ];
    let with = |file: Option<&Path>| Loader::new(file, &here, environment.clone());

    let loaded = with(None).load().unwrap();
    assert_eq!(
        (loaded.file.clone(), loaded.config.clone()),
        (None, Config::default())
    );
    assert_eq!(loaded.store().to_string(), "sqlite:/data/interlock/interlock.db");

    let in_user = user.join("interlock/interlock.yaml");
    std::fs::write(&in_user, "queue: {workers: 2}").unwrap();
    assert_eq!(with(None).load().unwrap().file, Some(in_user));

    let in_here = here.join("interlock.yaml");
    std::fs::write(&in_here, "store: sqlite:a.db\n").unwrap();
    let loaded = with(None).load().unwrap();
    assert_eq!(loaded.file, Some(in_here));
    assert_eq!(
        loaded.store().location.local_file(),
        Some(here.join("a.db").as_os_str())
    );

    let error = with(Some(Path::new("other.yaml"))).load().unwrap_err();
    assert!(matches!(&error, Error::Unreadable { .. }), "{error}");
    let error = with(Some(&here)).load().unwrap_err();
    assert!(error.to_string().ends_with("it is a folder"), "{error}");
}

#[test]
fn values_come_from_variables_and_files_and_change_no_structure() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("host"), "secret.example.org\n").unwrap();
    let environment = [
        ("N", "3"),
        ("ON", "true"),
        ("EVIL", "x\nqueue: {workers: 9}\n- [{"),
        ("EMPTY", ""),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let text = r#"
queue: {workers: "${N}", max_pending: "${EMPTY:-7}"}
control: {four_eyes: "${ON}"}
gate: {egress: ["${file:host}", "${EVIL}", "a-${N}-b", "$${N}", "$N", "${EMPTY}x"]}
"#;
    let file = root.path().join("interlock.yaml");
    std::fs::write(&file, text).unwrap();
    let config = Loader::new(Some(&file), "/", environment).load().unwrap().config;
    assert_eq!(
        (
            config.queue.workers,
            config.queue.max_pending,
            config.control.four_eyes
        ),
        (3, 7, true)
    );
    let egress: Vec<&str> = config.gate.egress.iter().map(String::as_str).collect();
    assert_eq!(
        egress,
        [
            "$N",
            "${N}",
            "a-3-b",
            "secret.example.org",
            "x",
            "x\nqueue: {workers: 9}\n- [{"
        ]
    );
    let shown = config.sanitised();
    assert_eq!(shown["queue"]["workers"], "[from N]");
    assert_eq!(shown["control"]["four_eyes"], "[from ON]");
}

#[test]
fn odd_files_get_clear_errors() {
    let parse = |bytes: &[u8]| Loader::new(None, "/", []).parse(Path::new("f.yaml"), bytes);
    for empty in [
        &b""[..],
        b"\n\n",
        b"# nothing\n",
        b"---\n",
        b"\xef\xbb\xbf",
        b"{}\n",
    ] {
        assert_eq!(parse(empty).unwrap().config.queue, Config::default().queue);
    }
    assert_eq!(
        parse(b"\xef\xbb\xbfqueue: {workers: 2}\n")
            .unwrap()
            .config
            .queue
            .workers,
        2
    );
    let nested = format!("queue: {}1{}\n", "[".repeat(5000), "]".repeat(5000));
    let deep: Vec<String> = (0..200)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let deep = deep.concat();
    let long = format!("x: {}\n", "a".repeat(2 * 1024 * 1024));
    let wide = "a: [".to_owned() + &"1,".repeat(200_000) + "1]\n";
    let errors: Vec<String> = [
        &b"a: \xff\n"[..],
        long.as_bytes(),
        nested.as_bytes(),
        deep.as_bytes(),
        wide.as_bytes(),
        b"just words\n",
        b"queue: {workers: 99999999999999999999}\n",
        b"queue: !!python/object x\n",
        b"queue: *nowhere\n",
        b"\"unclosed\n",
        b"1: 2\n",
        b"a: \x00\n",
    ]
    .map(|bytes| parse(bytes).unwrap_err().to_string())
    .to_vec();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn the_options_of_other_rooms_follow_the_file() {
    let loaded = load(&folder("examples/team.yaml")).unwrap();
    let config = loaded.config;
    assert_eq!(config.engine_queue().max_concurrent, Some(16));
    assert_eq!(config.engine_limits().session, std::time::Duration::from_mins(30));
    assert_eq!(config.queue_limits().max_pending, 1000);
    assert_eq!(config.store_retention().purge_days, None);
    assert_eq!(config.four_eyes(), interlock_gate::FourEyes::On);
    assert_eq!(config.gate_options().egress.len(), 2);
    assert_eq!(
        Config::default().engine_queue(),
        interlock_engine::Queue {
            retention: Config::default().store_retention(),
            ..interlock_engine::Queue::default()
        }
    );
}

#[test]
fn a_damaged_file_is_an_error_or_a_configuration() {
    let loader = Loader::new(None, folder("examples"), environment());
    for name in ["homelab", "team"] {
        let file = folder("examples").join(format!("{name}.yaml"));
        let whole = std::fs::read(&file).unwrap();
        for at in (0..whole.len()).step_by(11) {
            let mut cut = whole[..at].to_vec();
            let mut changed = whole.clone();
            changed[at] = b"{}[]:-&*!|>'\"%@`#\t\n\0\xff"[at % 21];
            cut.push(b'\n');
            for bytes in [cut, changed] {
                if let Err(error) = loader.parse(&file, &bytes) {
                    let text = error.to_string();
                    assert!(!error.problems().is_empty() && !text.contains("CANARY"), "{text}");
                }
            }
        }
    }
}
