//! One thing at length: a container, its log, the engine.

use serde_json::Value;

use super::http::{Client, Failure, escape};
use super::{Options, Outcome, print};

pub(super) fn inspect(client: &Client, options: &Options) -> Outcome {
    let mut found = Vec::new();
    let mut code = 0;
    for name in &options.operands {
        let container = client.json("GET", &format!("/containers/{}/json", escape(name)), None);
        match container.or_else(|_| client.json("GET", &format!("/images/{}/json", escape(name)), None)) {
            Ok(value) => found.push(value),
            Err(Failure::Daemon(_)) => {
                eprintln!("Error: No such object: {name}");
                code = 1;
            }
            Err(other) => return Err(other),
        }
    }
    match options.value(&["-f", "--format"]) {
        None | Some("json") => {
            print(&format!("{:#}\n", Value::Array(found)))?;
        }
        Some(template) => {
            for value in &found {
                let line = fill(template, value)
                    .ok_or_else(|| Failure::Other(format!("template parsing error: {template}")))?;
                print(&format!("{line}\n"))?;
            }
        }
    }
    Ok(code)
}

/// Fills `{{.A.B}}` and `{{json .A.B}}`; nothing if the template holds anything else.
fn fill(template: &str, value: &Value) -> Option<String> {
    let mut line = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}")?;
        line.push_str(before);
        let (json, path) = match inside.trim().strip_prefix("json ") {
            Some(path) => (true, path.trim()),
            None => (false, inside.trim()),
        };
        let path = path.strip_prefix('.')?;
        let mut found = value;
        for key in path.split('.').filter(|key| !key.is_empty()) {
            found = found.get(key)?;
        }
        match found {
            Value::String(text) if !json => line.push_str(text),
            Value::Null if !json => line.push_str("<nil>"),
            other => line.push_str(&other.to_string()),
        }
        rest = after;
    }
    line.push_str(rest);
    Some(line)
}

pub(super) fn logs(client: &Client, options: &Options) -> Outcome {
    let [name] = options.operands.as_slice() else {
        return Err(Failure::Usage(
            "\"docker logs\" requires exactly 1 argument.".to_owned(),
        ));
    };
    let mut path = format!("/containers/{}/logs?stdout=1&stderr=1", escape(name));
    if let Some(tail) = options.value(&["--tail", "-n"]) {
        path.extend(["&tail=", &escape(tail)]);
    }
    for (key, names) in [("since", ["--since"]), ("until", ["--until"])] {
        if let Some(given) = options.value(&names) {
            path.extend(["&", key, "=", &escape(&moment(given)?)]);
        }
    }
    for (key, names) in [
        ("timestamps", ["-t", "--timestamps"]),
        ("follow", ["-f", "--follow"]),
    ] {
        if options.has(&names) {
            path.extend(["&", key, "=1"]);
        }
    }
    client.ask("GET", &path, None)?.print_frames()?;
    Ok(0)
}

/// `10m`, `1h30m` before now; anything else is a time already.
fn moment(given: &str) -> Result<String, Failure> {
    let Ok(span) = given.parse::<jiff::SignedDuration>() else {
        return Ok(given.to_owned());
    };
    let at = jiff::Timestamp::now().checked_sub(span);
    at.map(|at| at.to_string())
        .map_err(|_| Failure::Other(format!("invalid value for \"since\": {given}")))
}

pub(super) fn pull(client: &Client, rest: &[&str]) -> Outcome {
    let [name] = rest else {
        return Err(Failure::Usage(
            "\"docker pull\" requires exactly 1 argument.".to_owned(),
        ));
    };
    let path = format!("/images/create?fromImage={}", escape(name));
    for line in client.ask("POST", &path, None)?.lines() {
        let Ok(news) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let status = news["status"].as_str().unwrap_or_default();
        match news["id"].as_str() {
            Some(_) if status == "Downloading" => {}
            Some(id) => println!("{id}: {status}"),
            None => println!("{status}"),
        }
    }
    Ok(0)
}

pub(super) fn version(client: &Client) -> Outcome {
    let found = client.json("GET", "/version", None)?;
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    print(&format!(
        "Client: Docker Engine - Community\n Version:           27.3.1\n API version:       1.47\n OS/Arch:           linux/amd64\n\nServer: Docker Engine - Community\n Engine:\n  Version:          {}\n  API version:      {} (minimum version {})\n  Go version:       {}\n  Git commit:       {}\n  OS/Arch:          {}/{}\n",
        text("Version"),
        text("ApiVersion"),
        text("MinAPIVersion"),
        text("GoVersion"),
        text("GitCommit"),
        text("Os"),
        text("Arch"),
    ))
}

pub(super) fn info(client: &Client) -> Outcome {
    let found = client.json("GET", "/info", None)?;
    let text = |key: &str| match &found[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    print(&format!(
        "Client: Docker Engine - Community\n Version:    27.3.1\n Context:    default\n\nServer:\n Containers: {}\n  Running: {}\n  Paused: {}\n  Stopped: {}\n Images: {}\n Server Version: {}\n Storage Driver: {}\n Logging Driver: {}\n Cgroup Driver: {}\n Kernel Version: {}\n Operating System: {}\n OSType: {}\n Architecture: {}\n CPUs: {}\n Total Memory: {}\n Name: {}\n Docker Root Dir: {}\n",
        text("Containers"),
        text("ContainersRunning"),
        text("ContainersPaused"),
        text("ContainersStopped"),
        text("Images"),
        text("ServerVersion"),
        text("Driver"),
        text("LoggingDriver"),
        text("CgroupDriver"),
        text("KernelVersion"),
        text("OperatingSystem"),
        text("OSType"),
        text("Architecture"),
        text("NCPU"),
        super::list::size(found["MemTotal"].as_u64().unwrap_or(0), 1024),
        text("Name"),
        text("DockerRootDir"),
    ))
}
