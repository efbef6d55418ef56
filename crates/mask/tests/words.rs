//! The word that is the secret, and not the one beside it.

use interlock_mask::Masker;

/// Command lines and settings with words around the secret that could be taken for it.
const CASES: &[&str] = &[
    "rootpw --plaintext SECRET",
    "rootpw --iscrypted SECRET",
    "rootpw --allow-ssh --plaintext SECRET",
    "rootpw --plaintext --allow-ssh SECRET",
    "rootpw --lock --plaintext SECRET",
    "rootpw SECRET",
    "user --name=bob --plaintext --password=SECRET",
    "sshpw --username=bob --plaintext SECRET",
    "pulumi config set --secret dbPassword SECRET",
    "pulumi config set dbPassword --secret SECRET",
    "pulumi config set dbPassword SECRET --secret",
    "pulumi config set --secret aws:accessKey SECRET",
    "pulumi config set --path --secret 'a.b[0]' SECRET",
    "pulumi -s prod config set --secret name SECRET",
    "pulumi config set --secret --stack prod name SECRET",
    "net use Z: /user:bob SECRET",
    "net use Z: \\\\srv\\share /user:bob SECRET",
    "net use Z: \\\\srv\\share /user:corp\\bob SECRET /persistent:yes",
    "net use Z: \\\\srv\\share SECRET /user:bob",
    "net use Z: \\\\srv\\share SECRET /user:corp\\bob /persistent:no",
    "net use * \\\\srv\\share /USER:bob SECRET",
    "net use \\\\srv\\ipc$ SECRET /user:bob",
    "net use \\\\srv\\ipc$ /user:bob SECRET",
    "NET USE Z: \\\\srv\\share /user:bob \"SECRET\"",
    "net user bob SECRET /add",
    "net user bob SECRET",
    "net user /add bob SECRET",
    "net.exe user bob SECRET /add /domain",
    "virsh secret-set-value --secret 6ba7b810-9dad-11d1-80b4-00c04fd430c8 --base64 SECRET",
    "virsh secret-set-value 6ba7b810-9dad-11d1-80b4-00c04fd430c8 SECRET",
    "virsh secret-set-value 6ba7b810-9dad-11d1-80b4-00c04fd430c8 --base64 SECRET",
    "virsh -c qemu:///system secret-set-value --secret my-id --base64 SECRET",
    "virsh secret-set-value --base64 SECRET --secret my-id",
    "radius-server key SECRET",
    "radius-server key 7 SECRET",
    "tacacs-server key SECRET",
    "tacacs-server host 10.0.0.1 key SECRET",
    "ConvertTo-SecureString SECRET -AsPlainText -Force",
    "ConvertTo-SecureString -String SECRET -AsPlainText -Force",
    "ConvertTo-SecureString -String 'SECRET' -AsPlainText -Force",
    "ConvertTo-SecureString -AsPlainText \"SECRET\" -Force",
    "ConvertTo-SecureString -AsPlainText -Force -String \"SECRET\"",
    "ConvertTo-SecureString -Force -AsPlainText SECRET",
    "$p = ConvertTo-SecureString 'SECRET' -AsPlainText -Force",
];

/// Words that stand beside a secret and say where it belongs: these stay.
const STAY: &[&str] = &[
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "my-id",
    "--plaintext",
    "--iscrypted",
    "--allow-ssh",
    "--base64",
    "/user:bob",
    "\\\\srv\\share",
    "-AsPlainText",
    "-Force",
    "dbPassword",
    "aws:accessKey",
];

#[test]
fn the_secret_is_masked_and_the_words_beside_it_stay() {
    let masker = Masker::built_in();
    let mut wrong = Vec::new();
    for case in CASES {
        for secret in ["Qz7Wk2Xv9Rm4Tb6", "hunter2horse"] {
            let text = case.replace("SECRET", secret);
            for text in [text.clone(), format!("# before\n{text}\nafter\n")] {
                let shown = masker.mask_text(&text);
                let lost = STAY
                    .iter()
                    .find(|word| text.contains(**word) && !shown.contains(**word));
                if shown.contains(secret) || lost.is_some() {
                    wrong.push(format!("{text:?}\n -> {shown:?} {lost:?}"));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_token_behind_a_name_and_an_underscore_is_masked() {
    let masker = Masker::built_in();
    let body = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5";
    for name in ["call_", "run_", "x_y_", "GITHUB_"] {
        for beginning in ["ghp_", "glpat-", "hf_a_gho_"] {
            let text = format!("id {name}{beginning}{body} end");
            let shown = masker.mask_text(&text);
            assert!(!shown.contains(body), "{text} -> {shown}");
            assert!(shown.contains(name), "{text} -> {shown}");
        }
    }
    for name in [
        "my_test_0123456789abcdef0123456789abcdef01234567",
        "run_npm_install_dependencies_of_the_workspace",
        "test_ghp_is_found_behind_an_underscore_in_a_name",
        "fn reads_sk_live_keys_from_the_environment_of_the_host()",
        "node_pk_2026_11_15_backup_of_the_database",
    ] {
        assert_eq!(masker.mask_text(name), name);
    }
}
