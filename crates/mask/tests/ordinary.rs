//! What an operator reads every day and must find unchanged.

use interlock_mask::Masker;

const CASES: &[&str] = &[
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "d34bb34 Rooms for running, masking, models",
    "id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "CONTAINER ID   IMAGE\n3f4e8a1b2c3d   nginx:1.27",
    "docker.io/library/nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "aGVsbG8=",
    "link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff",
    "fe80::42:acff:fe11:2/64 2001:0:ab:cd:ef:1:2:3",
    "2026-11-15T05:28:26.123456Z",
    "/var/lib/kubelet/pods/6ba7b810/volumes/kubernetes.io~secret/token",
    "password:",
    "Enter password: ",
    "PASSWORD\n       password: the password of the user to log in as",
    "The password: it must have at least eight characters.",
    "sudo: a password is required",
    "Failed password for root from 10.0.0.1 port 22 ssh2",
    "passwd: password updated successfully",
    "passwd:         files systemd\ngroup:          files systemd",
    "error: invalid token: unexpected end of input",
    "invalid character in token: expected comma",
    "PWD=/root\nOLDPWD=/home/bob",
    "max_tokens=4096 total_tokens: 812",
    r#"{"usage":{"prompt_tokens":12,"completion_tokens":3}}"#,
    "NAME                  TYPE                                  DATA   AGE\ndb-secret             Opaque                                2      3d\ndefault-token-x7k2p   kubernetes.io/service-account-token   3      90d",
    "Type:  Opaque\n\nData\n====\npassword:  12 bytes\nusername:  5 bytes",
    "MountVolume.SetUp failed for volume \"certs\" : secret \"web-tls\" not found",
    "      secret:\n        secretName: web-tls\n        defaultMode: 420",
    "        valueFrom:\n          secretKeyRef:\n            name: db-secret\n            key: password",
    "- name: DB_HOST\n  value: db.internal",
    "● nginx.service - A high performance web server\n     Loaded: loaded (/lib/systemd/system/nginx.service; enabled)\n     Active: active (running) since Sun 2026-11-15 05:00:00 UTC; 28min ago\n   Main PID: 812 (nginx)",
    "LoadCredential=token:/etc/interlock/token",
    "PasswordAuthentication no\nPermitRootLogin prohibit-password",
    "auth    required    pam_unix.so\npassword    requisite    pam_pwquality.so retry=3",
    "root:x:0:0:root:/root:/bin/bash\nbob:x:1000:1000::/home/bob:/bin/sh",
    "root:*:19000:0:99999:7:::\ndaemon:!:19000:0:99999:7:::",
    "  --password string   Password for the registry\n  --token TOKEN       token to use\n  --password-stdin    read from standard input",
    "use --token to authenticate",
    "mysql -p -u root",
    "mysqldump --port 3306 db",
    "password=${DB_PASSWORD} token=$TOKEN secret={{ .Values.secret }}",
    "password=*** token=<token> secret=null api_key=\"\"",
    "private_key: /etc/ssl/private/server.key",
    "ssl_certificate_key /etc/ssl/private/server.key;",
    "token = get_token()\npassword = os.environ[\"DB_PASSWORD\"]",
    "pub struct Login { password: String, token: Option<String> }",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUe0x\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI\n-----END PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKp3 bob@host",
    "https://example.org:8443/a@b http://localhost:4873/@scope/pkg postgres://bob@db/x",
    "ssh://git@github.com:22/x.git",
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: plain\n",
    r#"{"kind":"ConfigMap","apiVersion":"v1","data":{"a":"plain"}}"#,
    r#"{"data":{"result":[{"metric":{"job":"node"},"value":[1700000000,"1"]}]}}"#,
    "src/main.rs:5432:let:x:y",
    "tests: 12 pass: 11 fail: 1",
    "Basic authentication is enabled; Bearer authentication too",
    "WWW-Authenticate: Bearer realm=\"registry\"",
    "the cookie: a small text file",
    "[masked:password] [masked:jwt]",
    "image: registry.local/team/secret:v1.2.3",
    "10.0.0.5:5432 ESTABLISHED",
    "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        98G   91G  2.1G  98% /",
    "kube-system   coredns-5d78c9869d-abcde   1/1   Running   0   12d",
    "interface: wg0\n  public key: CkzGbT6rYxvTqBHW0BOKl3bqF4bKTzvbnVjYhQvGyXo=\n  private key: (hidden)",
    "task-runner-with-a-very-long-name-indeed disk-usage-report",
    "authorization: required",
    "status installed passwd:amd64 1:4.13+dfsg1-1+deb12u2",
    "let cancel = CancellationToken::new(); let token = mio::Token(1); token: mio::Token,",
    "const secret = new Secret(); use a::Authorization::{B, C};",
    "# LU_USERPASSWORD = !!",
    "flags: --password= --json --compact",
    "Authorization: Bearer tokens are preferred",
    "echo done: ok | tee log",
    "the password must not be empty",
];

#[test]
fn ordinary_output_survives() {
    let built_in = Masker::built_in();
    let wrong: Vec<String> = CASES
        .iter()
        .filter_map(|text| {
            let masked = built_in.mask_text(text);
            (masked != *text).then(|| format!("{text:?}\n -> {masked:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
