//! Tables: containers, images, processes, what they use.

use serde_json::{Map, Value, json};

use super::http::{Client, Failure, escape};
use super::{Options, Outcome, print};
use crate::docker::container::since;

/// Rows below their titles, as the real one sets them.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |column: usize| {
        let longest = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max();
        (longest.unwrap_or(0) + 3).max(10)
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            text.push_str(cell);
            if column + 1 < row.len() {
                let pad = widths[column].saturating_sub(cell.chars().count());
                text.extend(std::iter::repeat_n(' ', pad));
            }
        }
        text.push('\n');
    }
    text
}

/// Titles and rows as a table, or one JSON object per line if that is the format.
fn show(titles: &[&str], keys: &[&str], rows: Vec<Vec<String>>, options: &Options) -> Outcome {
    match options.value(&["--format"]) {
        None | Some("table") => {
            let mut all = vec![titles.iter().map(|&title| title.to_owned()).collect::<Vec<_>>()];
            all.extend(rows);
            print(&table(&all))
        }
        Some("json" | "{{json .}}") => {
            let object = |row: &Vec<String>| {
                let fields: Map<String, Value> = keys
                    .iter()
                    .zip(row)
                    .map(|(key, cell)| ((*key).to_owned(), json!(cell)))
                    .collect();
                format!("{}\n", Value::Object(fields))
            };
            print(&rows.iter().map(object).collect::<String>())
        }
        Some(template) => {
            let template = template
                .strip_prefix("table ")
                .unwrap_or(template)
                .replace("\\t", "\t");
            let line = |row: &Vec<String>| {
                let filled = keys.iter().zip(row).fold(template.clone(), |text, (key, cell)| {
                    text.replace(&format!("{{{{.{key}}}}}"), cell)
                });
                filled + "\n"
            };
            print(&rows.iter().map(line).collect::<String>())
        }
    }
}

pub(super) fn filter(options: &Options) -> String {
    let mut filters: Map<String, Value> = Map::new();
    for filter in options.values(&["--filter", "-f"]) {
        let (name, value) = filter.split_once('=').unwrap_or((filter, ""));
        let values = filters.entry(name.to_owned()).or_insert_with(|| json!([]));
        if let Some(values) = values.as_array_mut() {
            values.push(json!(value));
        }
    }
    escape(&Value::Object(filters).to_string())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

fn ago(seconds: &Value) -> String {
    let at = seconds
        .as_i64()
        .and_then(|at| jiff::Timestamp::from_second(at).ok())
        .unwrap_or_default();
    format!("{} ago", since(at))
}

pub(super) fn containers(client: &Client, options: &Options) -> Outcome {
    let all = if options.has(&["-a", "--all"]) { "1" } else { "0" };
    let last = options
        .value(&["-n", "--last"])
        .map(|n| format!("&limit={}", escape(n)))
        .unwrap_or_default();
    let path = format!("/containers/json?all={all}{last}&filters={}", filter(options));
    let found = list(client.json("GET", &path, None)?);
    let whole = options.has(&["--no-trunc"]);
    let id = |one: &Value| {
        text(&one["Id"])
            .chars()
            .take(if whole { 64 } else { 12 })
            .collect::<String>()
    };
    if options.has(&["-q", "--quiet"]) {
        return print(&found.iter().map(|one| id(one) + "\n").collect::<String>());
    }
    let rows = found.iter().map(|one| {
        let command = text(&one["Command"]);
        let short: String = match command.char_indices().nth(20) {
            Some(_) if !whole => command.chars().take(19).chain("…".chars()).collect(),
            _ => command,
        };
        vec![
            id(one),
            text(&one["Image"]),
            format!("\"{short}\""),
            ago(&one["Created"]),
            text(&one["Status"]),
            ports(&one["Ports"]),
            text(&one["Names"][0]).trim_start_matches('/').to_owned(),
            text(&one["State"]),
        ]
    });
    let titles = [
        "CONTAINER ID",
        "IMAGE",
        "COMMAND",
        "CREATED",
        "STATUS",
        "PORTS",
        "NAMES",
    ];
    let keys = [
        "ID",
        "Image",
        "Command",
        "RunningFor",
        "Status",
        "Ports",
        "Names",
        "State",
    ];
    // The state has no column in the table, but a name in formats.
    let plain = matches!(options.value(&["--format"]), None | Some("table"));
    let rows = rows.map(|mut row| {
        row.truncate(if plain { 7 } else { 8 });
        row
    });
    show(&titles, &keys, rows.collect(), options)
}

fn ports(ports: &Value) -> String {
    let one = |port: &Value| match port["PublicPort"].as_u64() {
        Some(public) => format!("{}:{public}->{}/tcp", text(&port["IP"]), port["PrivatePort"]),
        None => format!("{}/tcp", port["PrivatePort"]),
    };
    list(ports.clone()).iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(super) fn images(client: &Client, options: &Options) -> Outcome {
    let found = list(client.json("GET", &format!("/images/json?filters={}", filter(options)), None)?);
    let id = |one: &Value| {
        text(&one["Id"])
            .trim_start_matches("sha256:")
            .chars()
            .take(12)
            .collect::<String>()
    };
    if options.has(&["-q", "--quiet"]) {
        return print(&found.iter().map(|one| id(one) + "\n").collect::<String>());
    }
    let rows = found.iter().map(|one| {
        let name = text(&one["RepoTags"][0]);
        let (repository, tag) = name.rsplit_once(':').unwrap_or((&name, "<none>"));
        let size = size(one["Size"].as_u64().unwrap_or(0), 1000);
        vec![
            repository.to_owned(),
            tag.to_owned(),
            id(one),
            ago(&one["Created"]),
            size,
        ]
    });
    let titles = ["REPOSITORY", "TAG", "IMAGE ID", "CREATED", "SIZE"];
    let keys = ["Repository", "Tag", "ID", "CreatedSince", "Size"];
    show(&titles, &keys, rows.collect(), options)
}

pub(super) fn top(client: &Client, rest: &[&str]) -> Outcome {
    let [name, wanted @ ..] = rest else {
        return Err(Failure::Usage(
            "\"docker top\" requires at least 1 argument.".to_owned(),
        ));
    };
    let path = format!(
        "/containers/{}/top?ps_args={}",
        escape(name),
        escape(&wanted.join(" "))
    );
    let found = client.json("GET", &path, None)?;
    let row = |value: &Value| list(value.clone()).iter().map(text).collect::<Vec<_>>();
    let mut rows = vec![row(&found["Titles"])];
    rows.extend(list(found["Processes"].clone()).iter().map(row));
    print(&table(&rows))
}

pub(super) fn port(client: &Client, rest: &[&str]) -> Outcome {
    let [name, ..] = rest else {
        return Err(Failure::Usage(
            "\"docker port\" requires at least 1 argument.".to_owned(),
        ));
    };
    let found = client.json("GET", &format!("/containers/{}/json", escape(name)), None)?;
    let ports = found["NetworkSettings"]["Ports"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut lines = String::new();
    for (port, bound) in &ports {
        for host in list(bound.clone()) {
            let (address, number) = (text(&host["HostIp"]), text(&host["HostPort"]));
            lines.extend([port, " -> ", &address, ":", &number, "\n"]);
        }
    }
    print(&lines)
}

pub(super) fn stats(client: &Client, options: &Options) -> Outcome {
    if !options.has(&["--no-stream"]) {
        return Err(Failure::Other(
            "only one reading is to be had here: use --no-stream".to_owned(),
        ));
    }
    let mut names = options.operands.clone();
    if names.is_empty() {
        let all = list(client.json("GET", "/containers/json", None)?);
        names = all.iter().map(|one| text(&one["Id"])).collect();
    }
    let mut rows = Vec::new();
    for name in names {
        let found = client.json(
            "GET",
            &format!("/containers/{}/stats?stream=0", escape(&name)),
            None,
        )?;
        rows.push(usage(&found));
    }
    let titles = [
        "CONTAINER ID",
        "NAME",
        "CPU %",
        "MEM USAGE / LIMIT",
        "MEM %",
        "NET I/O",
        "BLOCK I/O",
        "PIDS",
    ];
    let keys = [
        "ID", "Name", "CPUPerc", "MemUsage", "MemPerc", "NetIO", "BlockIO", "PIDs",
    ];
    show(&titles, &keys, rows, options)
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people, with two digits")]
fn usage(found: &Value) -> Vec<String> {
    let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let used = number("/cpu_stats/cpu_usage/total_usage");
    let used = used.saturating_sub(number("/precpu_stats/cpu_usage/total_usage")) as f64;
    let system = number("/cpu_stats/system_cpu_usage");
    let system = system
        .saturating_sub(number("/precpu_stats/system_cpu_usage"))
        .max(1) as f64;
    let cpu = used / system * number("/cpu_stats/online_cpus") as f64 * 100.0;
    let memory = number("/memory_stats/usage").saturating_sub(number("/memory_stats/stats/inactive_file"));
    let limit = number("/memory_stats/limit");
    let share = memory as f64 / limit.max(1) as f64 * 100.0;
    let block = |at: u64| number(&format!("/blkio_stats/io_service_bytes_recursive/{at}/value"));
    vec![
        text(&found["id"]).chars().take(12).collect(),
        text(&found["name"]).trim_start_matches('/').to_owned(),
        format!("{cpu:.2}%"),
        format!("{} / {}", size(memory, 1024), size(limit, 1024)),
        format!("{share:.2}%"),
        format!(
            "{} / {}",
            size(number("/networks/eth0/rx_bytes"), 1000),
            size(number("/networks/eth0/tx_bytes"), 1000)
        ),
        format!("{} / {}", size(block(0), 1000), size(block(1), 1000)),
        number("/pids_stats/current").to_string(),
    ]
}

/// A size in the words of the real one: `142MB`, `24.5MiB`.
#[expect(clippy::cast_precision_loss, reason = "numbers for people, with four digits")]
pub(super) fn size(bytes: u64, base: u32) -> String {
    let units = if base == 1024 {
        ["B", "KiB", "MiB", "GiB", "TiB"]
    } else {
        ["B", "kB", "MB", "GB", "TB"]
    };
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= f64::from(base) && unit + 1 < units.len() {
        value /= f64::from(base);
        unit += 1;
    }
    let digits = if value >= 100.0 || value.fract() == 0.0 {
        0
    } else {
        usize::from(value < 10.0) + 1
    };
    format!("{value:.digits$}{}", units[unit])
}
