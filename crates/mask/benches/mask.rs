//! What masking costs per result.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use interlock_mask::{Masker, StreamMasker};

const LINES: &[&str] = &[
    "Filesystem      Size  Used Avail Use% Mounted on",
    "/dev/sda1        98G   91G  2.1G  98% /",
    "kube-system   coredns-5d78c9869d-abcde   1/1   Running   0   12d",
    "Nov 15 05:28:26 delly systemd[1]: Started nginx.service - A high performance web server.",
    "2026-11-15T05:28:26.123Z INFO http: GET /health 200 1.2ms id=6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "  image: docker.io/library/nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "3f4e8a1b2c3d   nginx:1.27   \"/docker-entrypoint.…\"   2 hours ago   Up 2 hours   0.0.0.0:80->80/tcp   web",
];

fn text(bytes: usize) -> String {
    let mut text: String = LINES
        .iter()
        .cycle()
        .flat_map(|line| [*line, "\n"])
        .scan(0, |length, part| {
            *length += part.len();
            (*length < bytes).then_some(part)
        })
        .collect();
    text.truncate(bytes);
    text
}

fn mask(criterion: &mut Criterion) {
    let masker = Masker::built_in();
    let plain = text(2048);
    let mentions =
        format!("{plain}\nFailed password for root; the token: it is long gone; see secret \"x\"\n");
    let secret = format!("{plain}\nDB_PASSWORD=hunter2\npostgres://bob:hunter2@db/x\n");
    let large = text(256 * 1024);
    let mut group = criterion.benchmark_group("mask");
    for (name, text) in [
        ("nothing_2k", &plain),
        ("mentions_2k", &mentions),
        ("secrets_2k", &secret),
        ("nothing_256k", &large),
    ] {
        group.throughput(Throughput::Bytes(u64::try_from(text.len()).unwrap_or(u64::MAX)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| masker.mask_text(black_box(text)).len());
        });
    }
    // A megabyte, as the largest alert has: logs, and what makes the finders work hardest.
    let megabyte = 1024 * 1024;
    let logs = text(megabyte);
    group.sample_size(10);
    group.throughput(Throughput::Bytes(megabyte as u64));
    group.bench_function("logs_1m", |bencher| {
        bencher.iter(|| masker.mask_text(black_box(&logs)).len());
    });
    for (name, seed) in [
        ("begin", "-----BEGIN PRIVATE KEY-----"),
        ("begin_lines", "-----BEGIN PRIVATE KEY-----\nMIIE\n"),
        ("token", "token:"),
        ("token_lines", "token: a1\n"),
        ("password", "password="),
        ("template", "token=${"),
        ("quoted", "\\\"token\\\":\\\""),
        ("json", "{\"data\":{\"a\":\"b\","),
        ("yaml", "  data:\n  x:\n    data:\n    y: Secret\n"),
        ("tokens", "sk-ant-a1"),
        ("programs", "curl sshpass -p x mysql redis-cli -a "),
        ("address", "://a:b@"),
        ("syslog", "Nov 15 05:28:26 delly app[12]: token: a1\n"),
        ("colours", "\u{1b}[1mtoken\u{1b}[0m=a1 "),
        ("secrets", "secrets:\n  a: b1\n"),
    ] {
        let worst = seed.repeat(megabyte / seed.len());
        group.bench_function(format!("worst_1m/{name}"), |bencher| {
            bencher.iter(|| masker.mask_text(black_box(&worst)).len());
        });
    }
    group.sample_size(100);
    group.throughput(Throughput::Bytes(2048));
    let value = serde_json::json!({ "ok": true, "output": plain, "exit_code": 0, "host": "delly" });
    group.bench_function("value_2k", |bencher| {
        bencher.iter_batched(
            || value.clone(),
            |mut value| masker.mask_value(&mut value),
            criterion::BatchSize::SmallInput,
        );
    });
    group.bench_function("stream_2k_by_4", |bencher| {
        bencher.iter(|| {
            let mut stream = StreamMasker::new(masker.clone());
            let mut shown = 0;
            for piece in plain.as_bytes().chunks(4) {
                shown += stream.push(std::str::from_utf8(piece).unwrap_or_default()).len();
            }
            shown + stream.finish().len()
        });
    });
    group.finish();
}

criterion_group!(benches, mask);
criterion_main!(benches);
