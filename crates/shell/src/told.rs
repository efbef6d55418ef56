//! What a verdict must say besides read or write: the examples in the tables have no words for secrets, hosts and ends.

use crate::classify;

#[test]
fn what_prints_stored_secrets_or_an_environment_is_sensitive() {
    for command in [
        "kubectl config view --flatten",
        "kubectl config view --flatten=true --minify",
        "kubectl config view --raw",
        "oc config view --flatten",
        "docker top web e",
        "docker top web auxe",
        "docker container top web axe",
        "nerdctl top web e",
        "podman top web auxe",
        "runc ps c e",
        "systemd-analyze dump",
        "systemd-analyze dump ssh.service",
        "coredumpctl -F COREDUMP_ENVIRON",
        "coredumpctl --field=COREDUMP_ENVIRON",
        "gdbus introspect -y -d org.freedesktop.systemd1 -o /org/freedesktop/systemd1/unit/x",
        "dbus-send --system --print-reply --dest=org.freedesktop.systemd1 /x org.freedesktop.DBus.Properties.GetAll string:a",
        "dbus-send --system --print-reply --dest=org.freedesktop.systemd1 /x org.freedesktop.DBus.Properties.Get string:a.Service string:Environment",
        "amtool template render --template.glob=/etc/shadow --template.text='{{ template \"shadow\" . }}'",
        "lxc list -f json",
        "incus list --format yaml",
        "lxc list -c n,config:environment.A",
        "lxc query /1.0/instances/x",
        "lxc profile show default",
        "lxc-info -n c1 -c lxc.environment",
        "pvesh get /cluster/acme/plugins",
        "pvesh get /nodes/x/storage/s/file-restore/download --filepath x",
        "pvesh get /cluster/sdn/dns/x",
        "pvesh get /nodes/n/qemu/1/agent/exec-status --pid 1",
        "docker volume inspect data",
        "docker config inspect x",
        "cloud-init query merged_cfg",
        "php-fpm -i",
        "syslog-ng-ctl config",
        "pdns_control show api-key",
        "rec_control get-parameter api-key",
        "icinga2 variable get TicketSalt",
        "xl list -l",
        "vtysh -c 'show running-config'",
        "ceph orch ls --export",
        "cat /var/lib/docker/containers/abc/config.v2.json",
        "cat /var/lib/rabbitmq/.erlang.cookie",
        "cat /tmp/krb5cc_0",
        "cat /etc/pgbouncer/userlist.txt",
        "cat /etc/ansible/vault_pass.txt",
        "cat /etc/patroni/patroni.yml",
        "sqlite3 -readonly /var/lib/grafana/grafana.db 'select 1'",
        "grep . <<< \"$DB_PASSWORD\"",
        "cat <<EOF\n$DB_PASSWORD\nEOF\n",
        "cat <<EOF\n${API_TOKEN:-x}\nEOF\n",
    ] {
        let verdict = classify(command);
        assert!(verdict.sensitive, "{command}: {verdict:?}");
    }
    for command in [
        "kubectl config view",
        "docker top web -eo pid,cmd",
        "docker top web",
        "docker volume inspect -f '{{.Mountpoint}}' data",
        "lxc list",
        "lxc list -c ns4",
        "pvesh get /nodes",
        "coredumpctl list",
        "cat <<'EOF'\n$DB_PASSWORD\nEOF\n",
        "grep . <<< \"$HOME\"",
    ] {
        let verdict = classify(command);
        assert!(!verdict.sensitive, "{command}: {verdict:?}");
    }
}

#[test]
fn what_reaches_another_host_says_so() {
    for command in [
        "docker-compose --context remote ps",
        "docker-compose -c remote ps",
        "gobgp -u example.com neighbor",
        "virsh find-storage-pool-sources-as netfs --host example.com",
        "pvesh get /nodes/x/scan/cifs --server example.com",
        "fastfetch -s PublicIp",
        "zabbix_get -s 192.0.2.1 -k agent.ping",
        "argocd --kube-context=x app list",
    ] {
        let verdict = classify(command);
        assert!(
            verdict.network || !verdict.is_bounded_read(),
            "{command}: {verdict:?}"
        );
    }
}

#[test]
fn what_does_not_end_soon_is_not_bounded() {
    for command in [
        "oc rollout status dc/x",
        "kubectl wait --for=condition=Ready pod/x --timeout=-1s",
        "kubectl wait --for=condition=Ready pod/x --timeout=87600h",
        "redis-cli -r 999999999 -i 10 ping",
        "jq --arg a . '[repeat(1)]' f",
        "jq --argjson a 1 '[repeat(1)]' f",
        "arping -f 192.0.2.1",
        "pg_test_timing -d 999999",
        "udevadm settle -t 999999",
        "curl -N http://localhost/",
        "curl -sSN --max-time 0 http://localhost/",
        "curl http://localhost:2375/events",
        "wget -qO- 'http://localhost/x?watch=1'",
        "http --stream localhost/x",
    ] {
        let verdict = classify(command);
        assert!(!verdict.bounded, "{command}: {verdict:?}");
    }
    for command in [
        "curl http://localhost/health",
        "curl -sS http://localhost:9090/metrics",
        "curl -fsS 'http://localhost:9090/api/v1/query?query=up'",
        "curl -N -m 5 http://localhost/",
        "wget -qO- http://localhost/",
        "curl 'http://localhost/containers/x/stats?stream=false'",
        "curl 'http://localhost/pods?watch=false'",
        "kubectl wait --for=condition=Ready pod/x --timeout=30s",
        "redis-cli -r 3 -i 1 info",
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {verdict:?}");
    }
}
