//! What does not end: the categories, what bounds it, and the rewrite that is offered.

use interlock_shell::{Category, classify};

#[test]
fn what_never_ends_is_named_by_its_category() {
    for (command, category) in [
        ("docker exec -it web ls", Category::TtyFlag),
        ("kubectl exec -it pod -- ls", Category::TtyFlag),
        ("docker exec -it web bash", Category::InteractiveRepl),
        ("less /etc/hosts", Category::Pager),
        ("more /etc/hosts", Category::Pager),
        ("vim /etc/hosts", Category::Pager),
        ("nano /etc/hosts", Category::Pager),
        ("emacs /etc/hosts", Category::Pager),
        ("top", Category::UnboundedStream),
        ("htop", Category::UnboundedStream),
        ("watch df", Category::UnboundedStream),
        ("tail -f /var/log/syslog", Category::UnboundedStream),
        ("tail -F /var/log/syslog", Category::UnboundedStream),
        ("journalctl -f", Category::UnboundedStream),
        ("journalctl -fu nginx", Category::UnboundedStream),
        ("vmstat 1", Category::UnboundedStream),
        ("cat /dev/zero", Category::UnboundedStream),
        ("cat", Category::UnboundedStream),
        ("grep error", Category::UnboundedStream),
        ("while true; do date; done", Category::UnboundedStream),
        ("timeout 0 tail -f /var/log/syslog", Category::UnboundedStream),
        ("timeout infinity journalctl -f", Category::UnboundedStream),
        ("docker logs --tail=all -f web", Category::UnboundedStream),
        (
            "awk 'BEGIN{for(RSTART=1;RSTART<=5;RSTART++)match(\"x\",/x/)}'",
            Category::UnboundedStream,
        ),
        (
            "awk 'BEGIN{for(RLENGTH=1;RLENGTH<=5;RLENGTH++)match(\"x\",/x/)}'",
            Category::UnboundedStream,
        ),
        ("ssh host", Category::InteractiveRepl),
        ("mysql", Category::InteractiveRepl),
        ("psql", Category::InteractiveRepl),
        ("python3", Category::InteractiveRepl),
        ("node", Category::InteractiveRepl),
    ] {
        let verdict = classify(command);
        assert_eq!(
            (verdict.bounded, verdict.category),
            (false, Some(category)),
            "{command}: {:?}",
            verdict.reasons
        );
    }
}

#[test]
fn a_count_a_window_or_a_timeout_bounds() {
    for command in [
        "journalctl --since \"10 min ago\" -f",
        "kubectl logs --since=10m --tail=100 pod",
        "kubectl logs -f --tail=100 pod",
        "docker logs -f --tail 50 web",
        "tail -n 20 -f /var/log/syslog",
        "ssh host \"ls -la\"",
        "mysql -e \"SELECT 1\"",
        "timeout 5s tail -f /var/log/syslog",
        "timeout 5 journalctl -f",
        "vmstat 1 5",
        "top -b -n 1",
        "ping -c 3 localhost",
        "head -c 16 /dev/urandom",
        "cat < /etc/hosts",
        "echo x | cat",
        "while read -r line; do echo \"$line\"; done < /etc/hosts",
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn a_bound_that_comes_too_late_is_none() {
    for command in [
        "timeout 999999999d tail -f /var/log/syslog",
        "timeout 2h cat /dev/zero",
        "timeout 1d journalctl -f",
        "timeout 61m vmstat 1",
        "timeout 1e9 tail -f x",
        "sleep 99999999",
        "sleep 1h 1s",
        "sleep 59m; sleep 59m",
        "for i in 1 2 3; do sleep 30m; done",
        "for f in /var/log/*; do sleep 1m; done",
        "while read -r l; do sleep 10m; done < /etc/hosts",
        "find /etc -exec sleep 60 {} \\;",
        "cat hosts | xargs -n 1 ping -c 100",
        "sh -c 'sleep 40m'; bash -c 'sleep 40m'",
        "top -b -n 99999999",
        "top -b -n 5000",
        "top -b -d 600 -n 100",
        "ping -c 999999999 localhost",
        "ping -c 100 -i 60 localhost",
        "ping -w 999999 localhost",
        "ping -c 3 -c 9999999 localhost",
        "vmstat 1 999999",
        "vmstat 3600 2",
        "iostat 5 100000",
        "iostat -x sda 5 100000",
        "mpstat 1 99999999",
        "sar -u 10 100000",
        "pidstat 60 1000",
        "dstat 5 100000",
        "free -s 60 -c 1000",
        "jstat -gcutil 1 1000 99999",
        "nvidia-smi -l 60 -c 1000",
        "mtr -r -c 99999999 localhost",
        "docker events --until 2099-01-01",
        "docker events --until 4070908800",
        "podman events --until 2099-01-01T00:00:00Z",
        "docker logs -f --until 2099-01-01T00:00:00 web",
        "docker logs -f --tail 99999999999 web",
        "docker logs -f --tail all web",
        "kubectl logs -f --tail=-1 pod",
        "kubectl rollout status deploy/web --timeout=999h",
        "kubectl rollout status deploy/web --timeout=0s",
        "journalctl -f -n all",
        "journalctl -f -n 99999999999",
        "journalctl -f --until 2099-01-01",
        "tail -n 99999999999 -f /var/log/syslog",
        "tail -n +1 -f /var/log/syslog",
        "tail -99999999999 -f /var/log/syslog",
        "tail -n 0 -f /var/log/syslog",
        "head -c 99999999999999 /dev/urandom",
        "head -c 1T /dev/zero",
        "dd if=/dev/zero bs=1M count=99999999",
        "dd if=/dev/zero bs=1G count=2",
        "dd if=/dev/zero count=0",
        "tcpdump -c 99999999999",
        "tshark -a duration:999999",
        "kcat -C -t x -b localhost -c 99999999999",
        "inotifywait -t 999999 /etc",
        "udevadm wait -t 999999 /dev/sda",
        "read -t 999999 x",
        "openssl prime -generate -bits 99999",
        "openssl rand -hex 999999999999",
        "openssl speed -seconds 999999",
        "factor 99999999999999999999999999999999999999",
        "shuf -r -n 99999999999 -e a b",
        "redis-cli --intrinsic-latency 999999",
        "curl 'http://localhost/[1-99999999]'",
        "curl --retry 99999 --retry-delay 99999 http://localhost",
        "printf %0999999999d 1",
        "printf '%*d' 999999999 1",
        "printf '%*d' \"$n\" 1",
        "dmesg -w",
        "dmesg --follow",
        "watch -n 1 df",
    ] {
        let verdict = classify(command);
        assert!(!verdict.bounded, "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn a_bound_that_comes_soon_is_one() {
    for command in [
        "timeout 10m tail -f /var/log/syslog",
        "timeout 5 sleep 99999",
        "timeout 5 sleep 99999; timeout 5 sleep 99999; sleep 1",
        "timeout -k 5 30s journalctl -f",
        "sleep 0",
        "for i in 1 2 3; do uptime; sleep 5; done",
        "while read -r h; do ping -c 3 $h; done < hosts",
        "top -b -n 3 -d 5",
        "ping -c 100 localhost",
        "ping -c 1000 -i 0.2 localhost",
        "vmstat 5 12",
        "vmstat -S M 1 600",
        "jstat -gcutil 1 1000 60",
        "docker events --since 30m --until 0s",
        "docker events --since 2026-01-01T10:00:00 --until 2026-01-01T11:00:00",
        "docker logs --tail 5000 -f web",
        "kubectl rollout status deploy/web --timeout=5m",
        "tail -c 16K -f /var/log/syslog",
        "head -c 1M /dev/urandom",
        "head -n 99999999999 /etc/hosts",
        "dd if=/dev/zero bs=1M count=64",
        "tcpdump -c 10000",
        "tshark -a duration:30",
        "openssl prime -generate -bits 2048",
        "factor 600851475143",
        "read -t 5 x",
        "curl 'http://[::1]:8080/[1-20]'",
        "printf '%-20s %8d\\n' a 1000000000",
        "printf '%s' 20261116080000",
    ] {
        let verdict = classify(command);
        assert!(verdict.bounded, "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn an_endless_read_is_offered_a_bounded_equivalent() {
    for (command, rewrite) in [
        ("journalctl -f", "journalctl -n 200 --since \"10 min ago\""),
        (
            "journalctl -u nginx -f",
            "journalctl -n 200 --since \"10 min ago\" -u nginx",
        ),
        (
            "journalctl -fu nginx",
            "journalctl -n 200 --since \"10 min ago\" -u nginx",
        ),
        ("docker logs -f x", "docker logs --tail=200 x"),
        ("docker logs --follow x", "docker logs --tail=200 x"),
        ("kubectl logs -f x", "kubectl logs --tail=200 --since=10m x"),
        ("tail -f file", "tail -n 200 file"),
        (
            "tail -f /var/log/syslog | grep error",
            "tail -n 200 /var/log/syslog | grep error",
        ),
        ("docker exec -it web ls /", "docker exec -i web ls /"),
        ("kubectl exec -it pod -- ls /", "kubectl exec -i pod -- ls /"),
        ("watch df -h", "df -h"),
        ("less /etc/hosts", "cat /etc/hosts"),
        ("top", "top -b -n 1"),
        ("vmstat 1", "vmstat 1 5"),
        ("docker stats", "docker stats --no-stream"),
    ] {
        assert_eq!(classify(command).rewrite.as_deref(), Some(rewrite), "{command}");
        assert!(classify(rewrite).is_bounded_read(), "{rewrite}");
    }
}

#[test]
fn no_rewrite_is_offered_where_none_would_be_a_bounded_read() {
    for command in [
        "mysql",
        "ssh host",
        "tail -f x; rm y",
        "docker exec -it web bash",
        "rm x",
        "ls",
    ] {
        assert_eq!(classify(command).rewrite, None, "{command}");
    }
}
