//! The API with somebody else's client: `proxmoxer`, from the Python package index.

use std::path::{Path, PathBuf};

use crate::world::{World, cache, program, skipped};

const PACKAGES: [&str; 2] = ["proxmoxer==2.2.0", "requests==2.32.5"];

/// A Python with the client. It is installed once, into the user's cache.
async fn install() -> Result<PathBuf, String> {
    let cache = cache().ok_or("there is no cache folder")?;
    let folder = cache.join("python").join(PACKAGES.join("-"));
    let python = folder.join("bin/python");
    let works = |python: PathBuf| async move {
        let tried = program(&python)
            .args(["-c", "import proxmoxer, requests"])
            .output()
            .await;
        tried.is_ok_and(|tried| tried.status.success())
    };
    if works(python.clone()).await {
        return Ok(python);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    run(
        Path::new("python3"),
        &["-m", "venv", &folder.display().to_string()],
    )
    .await?;
    let mut arguments = vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    arguments.extend(PACKAGES);
    run(&python, &arguments).await?;
    Ok(python)
}

async fn run(what: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = program(what)
        .args(arguments)
        .output()
        .await
        .map_err(|error| format!("{}: {error}", what.display()))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!(
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn proxmoxer_works_with_the_lab() {
    let python = match install().await {
        Ok(python) => python,
        Err(why) => return skipped("proxmoxer", &why),
    };
    let world = World::start().await;
    if !world.runs_everything() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/proxmoxer_client.py");
    let (user, token) = world.credentials.token_id.split_once('!').expect("a token");
    let output = program(&python)
        .arg(script)
        .env("LAB_PORT", world.server.address.port().to_string())
        .env("LAB_USER", user)
        .env("LAB_PASSWORD", &world.credentials.password)
        .env("LAB_TOKEN", token)
        .env("LAB_SECRET", &world.credentials.token_secret)
        .output()
        .await
        .expect("python");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.ends_with("all good\n"), "{said}");
}
