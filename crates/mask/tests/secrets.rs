//! What is masked: name, text, text after masking. Every secret here contains CANARY, so none can stay behind unseen.

use interlock_mask::Masker;

const CASES: &[(&str, &str, &str)] = &[
    // Tokens by their beginning.
    (
        "openai",
        "key sk-CANARY00aaaaBBBBccccDDDD ok",
        "key [masked:openai_key] ok",
    ),
    (
        "openai project",
        "sk-proj-CANARY_0aaaaBBBBccccDDDD-x",
        "[masked:openai_key]",
    ),
    (
        "anthropic",
        "sk-ant-api03-CANARY0aaaaBBBBccccDDDD",
        "[masked:anthropic_key]",
    ),
    (
        "google",
        "?q=AIzaSyCANARYaaaaBBBBccccDDDDeeeeFFFF000",
        "?q=[masked:google_key]",
    ),
    ("aws id", "AKIACANARY0123456789", "[masked:aws_key_id]"),
    ("aws session id", "ASIACANARY0123456789", "[masked:aws_key_id]"),
    (
        "aws secret",
        "aws_secret_access_key = CANARY/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = [masked:aws_secret_key]",
    ),
    (
        "github",
        "ghp_CANARYaaaaBBBBccccDDDDeeeeFFFF0000",
        "[masked:github_token]",
    ),
    (
        "github oauth",
        "gho_CANARYaaaaBBBBccccDDDDeeeeFFFF0000",
        "[masked:github_token]",
    ),
    (
        "github fine",
        "github_pat_11CANARY0aaaaBBBBcccc_DDDDeeeeFFFF",
        "[masked:github_token]",
    ),
    ("gitlab", "glpat-CANARY-aaaaBBBBcccc0", "[masked:gitlab_token]"),
    (
        "slack",
        "xoxb-123456789012-CANARYaaaaBBBB",
        "[masked:slack_token]",
    ),
    (
        "slack hook",
        "https://hooks.slack.com/services/T000/B000/CANARYaaaaBBBBcccc",
        "https://hooks.slack.com/services/[masked:slack_token]",
    ),
    ("stripe", "sk_live_CANARYaaaaBBBBcccc", "[masked:stripe_key]"),
    (
        "npm",
        "//registry.npmjs.org/:_authToken=npm_CANARYaaaaBBBBccccDDDDeeeeFFFF0000",
        "//registry.npmjs.org/:_authToken=[masked:npm_token]",
    ),
    (
        "pypi",
        "pypi-AgEIcHlwaS5vcmcCANARYaaaaBBBBccccDDDD0",
        "[masked:pypi_token]",
    ),
    (
        "huggingface",
        "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",
        "[masked:huggingface_token]",
    ),
    (
        "sendgrid",
        "SG.CANARYaaaaBBBBccccDD.aaaaBBBBccccDDDDeeee",
        "[masked:sendgrid_key]",
    ),
    (
        "twilio",
        "SK0123456789abcdef0123456789abcdef",
        "[masked:twilio_key]",
    ),
    (
        "digitalocean",
        "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "[masked:digitalocean_token]",
    ),
    (
        "proxmox",
        "Authorization: PVEAPIToken=root@pam!mon=CANARY00-aaaa-bbbb-cccc-000000000000",
        "Authorization: PVEAPIToken=root@pam!mon=[masked:proxmox_token]",
    ),
    (
        "proxmox ticket",
        "PVEAuthCookie=PVE:root@pam:65A1B2C3::CANARYaaaaBBBBcccc==",
        "PVEAuthCookie=PVE:root@pam:65A1B2C3::[masked:proxmox_token]",
    ),
    ("vault", "hvs.CANARYaaaaBBBBccccDDDD0", "[masked:vendor_token]"),
    (
        "telegram",
        "bot 123456789:AACANARYaaaaBBBBccccDDDDeeeeFFFFgg",
        "bot [masked:vendor_token]",
    ),
    (
        "jwt",
        "t eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.CANARY-sig_x t",
        "t [masked:jwt] t",
    ),
    (
        "jwt cut off",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJDQU5BUl",
        "[masked:jwt]",
    ),
    ("age", "AGE-SECRET-KEY-1CANARYQQQQ", "[masked:private_key]"),
    // Headers.
    (
        "bearer",
        "curl -H 'Authorization: Bearer CANARYtoken0123'",
        "curl -H 'Authorization: Bearer [masked:authorization]'",
    ),
    (
        "bearer alone",
        "sent Bearer CANARYtoken0123 to",
        "sent Bearer [masked:authorization] to",
    ),
    (
        "basic",
        "Authorization: Basic Q0FOQVJZOnNlY3JldA==",
        "Authorization: Basic [masked:authorization]",
    ),
    (
        "json header",
        r#"{"Authorization":"Bearer CANARYtoken0123","a":1}"#,
        r#"{"Authorization":"Bearer [masked:authorization]","a":1}"#,
    ),
    (
        "api key header",
        "X-Api-Key: CANARY0123",
        "X-Api-Key: [masked:api_key]",
    ),
    (
        "set-cookie",
        "Set-Cookie: session=CANARY01; Path=/; HttpOnly",
        "Set-Cookie: session=[masked:cookie]; Path=/; HttpOnly",
    ),
    (
        "cookie",
        "Cookie: a=CANARY1; b=CANARY2",
        "Cookie: a=[masked:cookie]; b=[masked:cookie]",
    ),
    // Assignments.
    ("env", "DB_PASSWORD=CANARY", "DB_PASSWORD=[masked:password]"),
    (
        "env odd",
        "DB_PASSWORD=CANARY,;&'x(y)@/#z",
        "DB_PASSWORD=[masked:password]",
    ),
    (
        "export",
        "export API_TOKEN=\"CANARY one\"",
        "export API_TOKEN=\"[masked:token]\"",
    ),
    (
        "ini",
        "password = CANARY with blanks",
        "password = [masked:password]",
    ),
    (
        "ini comment",
        "password = CANARY # old",
        "password = [masked:password] # old",
    ),
    ("yaml", "  passwd: CANARY", "  passwd: [masked:password]"),
    (
        "yaml quoted",
        "  dbPassword: 'CANARY one'",
        "  dbPassword: '[masked:password]'",
    ),
    (
        "yaml block",
        "password: |\n  CANARY\n  CANARY\nuser: bob",
        "password: |\n  [masked:password]\nuser: bob",
    ),
    (
        "yaml flow",
        "{password: CANARY, user: bob}",
        "{password: [masked:password], user: bob}",
    ),
    (
        "json",
        r#"{"password":"CANARY","user":"bob"}"#,
        r#"{"password":"[masked:password]","user":"bob"}"#,
    ),
    (
        "json escape",
        r#"{"password":"CANARY\"x","user":"bob"}"#,
        r#"{"password":"[masked:password]","user":"bob"}"#,
    ),
    (
        "json number",
        r#"{"password": 4711, "user":"bob"}"#,
        r#"{"password": "[masked:password]", "user":"bob"}"#,
    ),
    (
        "json in json",
        r#"{"a":"{\"token\":\"CANARY\",\"b\":1}"}"#,
        r#"{"a":"{\"token\":\"[masked:token]\",\"b\":1}"}"#,
    ),
    (
        "json list",
        r#"{"token": ["CANARY1", "CANARY2"], "a": 1}"#,
        r#"{"token": ["[masked:token]", "[masked:token]"], "a": 1}"#,
    ),
    (
        "json env",
        r#"["POSTGRES_PASSWORD=CANARY","A=b"]"#,
        r#"["POSTGRES_PASSWORD=[masked:password]","A=b"]"#,
    ),
    (
        "query",
        "GET /x?token=CANARY&y=1 HTTP/1.1",
        "GET /x?token=[masked:token]&y=1 HTTP/1.1",
    ),
    (
        "ado",
        "Server=db;Uid=u;Pwd=CANARY;Database=d",
        "Server=db;Uid=u;Pwd=[masked:password];Database=d",
    ),
    (
        "azure",
        "AccountName=a;AccountKey=CANARY0123==;Suffix=x",
        "AccountName=a;AccountKey=[masked:api_key];Suffix=x",
    ),
    (
        "client secret",
        "client_secret: CANARY01",
        "client_secret: [masked:secret]",
    ),
    (
        "passphrase",
        "passphrase: CANARY horse battery staple",
        "passphrase: [masked:password]",
    ),
    ("python bytes", "token = b'CANARY'", "token = b'[masked:token]'"),
    (
        "marker within",
        "password=[masked:jwt]CANARY",
        "password=[masked:password]",
    ),
    (
        "several on a line",
        "password: CANARY1 token: CANARY2",
        "password: [masked:password]",
    ),
    (
        "mid line",
        "login with password: CANARY1 as bob",
        "login with password: [masked:password] as bob",
    ),
    (
        "named pair yaml",
        "- name: DB_PASSWORD\n  value: CANARY\n- name: A\n  value: b",
        "- name: DB_PASSWORD\n  value: [masked:password]\n- name: A\n  value: b",
    ),
    (
        "named pair json",
        r#"{"name":"API_TOKEN","value":"CANARY"}"#,
        r#"{"name":"API_TOKEN","value":"[masked:token]"}"#,
    ),
    (
        "xml",
        "<password>CANARY</password>",
        "<password>[masked:password]</password>",
    ),
    // Command lines.
    (
        "flag",
        "login --username bob --password CANARY --x",
        "login --username bob --password [masked:password] --x",
    ),
    (
        "flag equals",
        "kubeadm join --token=CANARY.0123 h:6443",
        "kubeadm join --token=[masked:token] h:6443",
    ),
    (
        "flag quoted",
        "x --api-key 'CANARY one'",
        "x --api-key '[masked:api_key]'",
    ),
    (
        "flag in argv",
        r#"["x","--token","CANARY01"]"#,
        r#"["x","--token","[masked:token]"]"#,
    ),
    (
        "mysql",
        "mysql -u root -pCANARY -h db",
        "mysql -u root -p[masked:password] -h db",
    ),
    (
        "curl",
        "curl -s -u bob:CANARY https://x",
        "curl -s -u bob:[masked:password] https://x",
    ),
    (
        "sshpass",
        "sshpass -p CANARY ssh x",
        "sshpass -p [masked:password] ssh x",
    ),
    (
        "mysql user",
        "CREATE USER bob IDENTIFIED BY 'CANARY'",
        "CREATE USER bob IDENTIFIED BY '[masked:password]'",
    ),
    (
        "postgres user",
        "ALTER ROLE bob WITH PASSWORD 'CANARY one';",
        "ALTER ROLE bob WITH PASSWORD '[masked:password]';",
    ),
    (
        "chpasswd",
        "echo 'root:CANARY' | sudo chpasswd",
        "echo 'root:[masked:password]' | sudo chpasswd",
    ),
    (
        "short bearer",
        "Authorization: Bearer CANARY",
        "Authorization: Bearer [masked:authorization]",
    ),
    (
        "npmrc",
        "//r.example/:_auth=Q0FOQVJZOnNlY3JldA==",
        "//r.example/:_auth=[masked:docker_auth]",
    ),
    (
        "laravel",
        "APP_KEY=base64:CANARY0123=",
        "APP_KEY=[masked:api_key]",
    ),
    // Addresses.
    (
        "postgres",
        "postgres://bob:CANARY@db:5432/x",
        "postgres://bob:[masked:url_password]@db:5432/x",
    ),
    (
        "mongodb",
        "mongodb+srv://bob:CANARY@a.b/x?y=z",
        "mongodb+srv://bob:[masked:url_password]@a.b/x?y=z",
    ),
    (
        "redis",
        "redis://:CANARY@r:6379/0",
        "redis://:[masked:url_password]@r:6379/0",
    ),
    (
        "amqp twice",
        "amqp://u:CANARY1@a,amqp://u:CANARY2@b",
        "amqp://u:[masked:url_password]@a,amqp://u:[masked:url_password]@b",
    ),
    (
        "https",
        "https://bob:CANARY@git.example/x.git",
        "https://bob:[masked:url_password]@git.example/x.git",
    ),
    (
        "at sign",
        "https://bob:CAN@RY@h/",
        "https://bob:[masked:url_password]@h/",
    ),
    (
        "slash",
        "postgres://bob:CAN/ARY@h/db",
        "postgres://bob:[masked:url_password]@h/db",
    ),
    (
        "signed address",
        "https://b.s3.example/x?X-Amz-Date=1&X-Amz-Signature=CANARY0123456789abcdef&y=1",
        "https://b.s3.example/x?X-Amz-Date=1&X-Amz-Signature=[masked:url_password]&y=1",
    ),
    // Files.
    (
        "shadow",
        "root:$6$salt$CANARYaaaaBBBB:19000:0:99999:7:::",
        "root:[masked:password_hash]:19000:0:99999:7:::",
    ),
    (
        "shadow yescrypt",
        "bob:$y$j9T$CANARY$aaaaBBBB:19000:0:99999:7:::",
        "bob:[masked:password_hash]:19000:0:99999:7:::",
    ),
    (
        "shadow des",
        "bob:CANARYhB/yWI:19000:0:99999:7:::",
        "bob:[masked:password_hash]:19000:0:99999:7:::",
    ),
    (
        "htpasswd",
        "bob:$apr1$CANARY01$aaaaBBBBcccc",
        "bob:[masked:password_hash]",
    ),
    (
        "htpasswd sha",
        "bob:{SHA}CANARYaaaaBBBB0123=",
        "bob:{SHA}[masked:password_hash]",
    ),
    (
        "pgpass",
        "db.example:5432:*:bob:CANARY",
        "db.example:5432:*:bob:[masked:password]",
    ),
    (
        "netrc",
        "machine h login bob password CANARY",
        "machine h login bob password [masked:password]",
    ),
    (
        "netrc lines",
        "machine h\n  login bob\n  password CANARY\n",
        "machine h\n  login bob\n  password [masked:password]\n",
    ),
    (
        "docker",
        r#"{"auths":{"r":{"auth":"Q0FOQVJZOnNlY3JldA=="}}}"#,
        r#"{"auths":{"r":{"auth":"[masked:docker_auth]"}}}"#,
    ),
    (
        "wireguard",
        "PrivateKey = CANARYaaaaBBBBccccDDDDeeeeFFFFgggg000000000=",
        "PrivateKey = [masked:wireguard_key]",
    ),
    (
        "kubeconfig",
        "    client-key-data: CANARYaaaa==\n    certificate-authority-data: CANARYbbbb==",
        "    client-key-data: [masked:kubeconfig]\n    certificate-authority-data: [masked:kubeconfig]",
    ),
    // Private keys.
    (
        "pem",
        "a\n-----BEGIN RSA PRIVATE KEY-----\nCANARY+/=\n-----END RSA PRIVATE KEY-----\nb",
        "a\n[masked:private_key]\nb",
    ),
    (
        "openssh",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY\n-----END OPENSSH PRIVATE KEY-----",
        "[masked:private_key]",
    ),
    (
        "pgp",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x\n\nCANARY\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
        "[masked:private_key]",
    ),
    (
        "pem without end",
        "-----BEGIN PRIVATE KEY-----\nCANARYaaaa\nCANARYbbbb\n",
        "[masked:private_key]\n",
    ),
    (
        "pem without end, text",
        "-----BEGIN PRIVATE KEY-----\nCANARYaaaa\n... (cut)\nmore text",
        "[masked:private_key]\n... (cut)\nmore text",
    ),
    (
        "pem without begin",
        "ok then:\nCANARYaaaaBBBBcccc\nCANARY==\n-----END PRIVATE KEY-----\nb",
        "ok then:\n[masked:private_key]\nb",
    ),
    (
        "pem in json",
        r#"{"key":"-----BEGIN PRIVATE KEY-----\nCANARY\n-----END PRIVATE KEY-----\n","a":1}"#,
        r#"{"key":"[masked:private_key]\n","a":1}"#,
    ),
    (
        "pem cut in json",
        r#"{"key":"-----BEGIN PRIVATE KEY-----\nCANARY\nCANA","a":"b"}"#,
        r#"{"key":"[masked:private_key]","a":"b"}"#,
    ),
    (
        "pem in base64",
        "tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCkNBTkFSWQ==",
        "tls.key: [masked:private_key]",
    ),
    (
        "putty",
        "Private-Lines: 1\nCANARYaaaa==\nPrivate-MAC: CANARY0",
        "Private-Lines: 1\n[masked:private_key]",
    ),
    // Kubernetes Secrets.
    (
        "secret yaml",
        "apiVersion: v1\nkind: Secret\ndata:\n  a.txt: CANARY\n  b: \"CANARY\"\ntype: Opaque",
        "apiVersion: v1\nkind: Secret\ndata:\n  a.txt: [masked:kubernetes_secret]\n  b: \"[masked:kubernetes_secret]\"\ntype: Opaque",
    ),
    (
        "secret yaml, kind last",
        "apiVersion: v1\ndata:\n  a: CANARY\nkind: Secret\nmetadata:\n  name: x",
        "apiVersion: v1\ndata:\n  a: [masked:kubernetes_secret]\nkind: Secret\nmetadata:\n  name: x",
    ),
    (
        "secret yaml, block",
        "kind: Secret\nstringData:\n  a: |\n    CANARY\n    CANARY: x\n  b: CANARY\n",
        "kind: Secret\nstringData:\n  a: |\n    [masked:kubernetes_secret]\n    [masked:kubernetes_secret]\n  b: [masked:kubernetes_secret]\n",
    ),
    (
        "secret yaml, flow",
        "kind: Secret\ndata: {a: CANARY, b: CANARY}\n",
        "kind: Secret\ndata: [masked:kubernetes_secret]\n",
    ),
    (
        "list yaml",
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: CANARY\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: plain\n  kind: ConfigMap\nkind: List",
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: [masked:kubernetes_secret]\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: plain\n  kind: ConfigMap\nkind: List",
    ),
    (
        "several documents",
        "kind: ConfigMap\ndata:\n  a: plain\n---\nkind: Secret\ndata:\n  a: CANARY\n",
        "kind: ConfigMap\ndata:\n  a: plain\n---\nkind: Secret\ndata:\n  a: [masked:kubernetes_secret]\n",
    ),
    (
        "indented",
        "Here it is:\n\n    kind: Secret\n    data:\n      a: CANARY\n\nDone.",
        "Here it is:\n\n    kind: Secret\n    data:\n      a: [masked:kubernetes_secret]\n\nDone.",
    ),
    (
        "cut before kind",
        "apiVersion: v1\ndata:\n  a: CANARY\n  b: CANA",
        "apiVersion: v1\ndata:\n  a: [masked:kubernetes_secret]\n  b: [masked:kubernetes_secret]",
    ),
    (
        "secret json",
        r#"{"apiVersion":"v1","data":{"a":"CANARY","b":"CANARY"},"kind":"Secret"}"#,
        r#"{"apiVersion":"v1","data":{"a":"[masked:kubernetes_secret]","b":"[masked:kubernetes_secret]"},"kind":"Secret"}"#,
    ),
    (
        "array json",
        r#"[{"kind":"Secret","data":{"a":"CANARY"}},{"kind":"ConfigMap","data":{"a":"plain"}}]"#,
        r#"[{"kind":"Secret","data":{"a":"[masked:kubernetes_secret]"}},{"kind":"ConfigMap","data":{"a":"plain"}}]"#,
    ),
    (
        "json in text",
        r#"applied "x: {"kind":"Secret","stringData":{"a":"CANARY"}} done"#,
        r#"applied "x: {"kind":"Secret","stringData":{"a":"[masked:kubernetes_secret]"}} done"#,
    ),
    (
        "json cut before kind",
        r#"{"apiVersion":"v1","data":{"a":"CANARY","b":"CAN"#,
        r#"{"apiVersion":"v1","data":{"a":"[masked:kubernetes_secret]","b":"[masked:kubernetes_secret]"#,
    ),
    (
        "annotation",
        "metadata:\n  annotations:\n    last-applied: |\n      {\"apiVersion\":\"v1\",\"data\":{\"a\":\"CANARY\"},\"kind\":\"Secret\"}\n",
        "metadata:\n  annotations:\n    last-applied: |\n      {\"apiVersion\":\"v1\",\"data\":{\"a\":\"[masked:kubernetes_secret]\"},\"kind\":\"Secret\"}\n",
    ),
    (
        "annotation in json",
        r#"{"annotations":{"last":"{\"data\":{\"a\":\"CANARY\"},\"kind\":\"Secret\"}\n"}}"#,
        r#"{"annotations":{"last":"{\"data\":{\"a\":\"[masked:kubernetes_secret]\"},\"kind\":\"Secret\"}\n"}}"#,
    ),
    (
        "pretty json",
        "{\n  \"kind\": \"Secret\",\n  \"data\": {\n    \"a\": \"CANARY\"\n  }\n}",
        "{\n  \"kind\": \"Secret\",\n  \"data\": {\n    \"a\": \"[masked:kubernetes_secret]\"\n  }\n}",
    ),
];

#[test]
fn every_known_shape_is_masked() {
    let built_in = Masker::built_in();
    let mut wrong = Vec::new();
    for (name, text, expected) in CASES {
        let masked = built_in.mask_text(text);
        if masked != *expected {
            wrong.push(format!(
                "{name}\n   text: {text:?}\n    got: {masked:?}\n wanted: {expected:?}"
            ));
        }
        let again = built_in.mask_text(&masked);
        if again != masked {
            wrong.push(format!("{name}: masking twice gives {again:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_shape_is_found_in_the_middle_of_other_lines() {
    let built_in = Masker::built_in();
    for (name, text, _) in CASES {
        let around = format!("before it\n{text}\nafter it\n");
        let masked = built_in.mask_text(&around);
        assert!(!masked.contains("CANARY"), "{name}: {masked}");
        assert!(masked.starts_with("before it\n"), "{name}: {masked}");
    }
}
