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
