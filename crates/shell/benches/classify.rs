//! How long it takes to judge a command.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use interlock_shell::classify;

const TYPICAL: &[(&str, &str)] = &[
    ("ls", "ls -la /var/log"),
    (
        "journal",
        "journalctl -u nginx.service --since '10 min ago' -n 200 --no-pager",
    ),
    ("pipe", "ps aux --sort=-%mem | head -n 20"),
    (
        "kubectl",
        "kubectl get pods -n prod -o wide --sort-by=.status.startTime",
    ),
    (
        "find",
        "find /var/log -name '*.log' -mtime -1 -size +10M -exec ls -lh {} +",
    ),
    (
        "awk",
        "awk '$9 >= 500 {n[$1]++} END {for (h in n) print n[h], h}' /var/log/nginx/access.log | sort -rn | head",
    ),
    (
        "sql",
        "psql -d app -c \"select count(*) from pg_stat_activity where state = 'active'\"",
    ),
    (
        "nested",
        "ssh web1 \"docker exec app sh -c 'cat /etc/hosts | grep -v localhost'\"",
    ),
    ("write", "systemctl restart nginx && rm -rf /tmp/cache"),
    ("hidden", "ls / & zfs destroy tank"),
];

fn typical(c: &mut Criterion) {
    let mut group = c.benchmark_group("typical");
    for (name, command) in TYPICAL {
        group.bench_function(*name, |b| b.iter(|| classify(black_box(command))));
    }
    group.finish();
}

/// A command of about this many bytes, made of parts that are all read.
fn long(bytes: usize) -> String {
    let mut command = String::from("cat /etc/hosts");
    while command.len() < bytes {
        command.push_str("; grep -n 'pattern with words' /var/log/syslog | head -n 5");
    }
    command
}

fn length(c: &mut Criterion) {
    let mut group = c.benchmark_group("length");
    for bytes in [250, 1_000, 4_000, 100_000] {
        let command = long(bytes);
        group.throughput(Throughput::Bytes(command.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(bytes), &command, |b, command| {
            b.iter(|| classify(black_box(command)));
        });
    }
    group.finish();
}

criterion_group!(benches, typical, length);
criterion_main!(benches);
