//! Tokens that show by their beginning what they are.
//!
//! The table holds facts that the services publish about their own tokens (beginning, alphabet, length), each with the
//! name of its origin. One automaton looks for every beginning at once.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use crate::Kind;
use crate::span::Spans;
use crate::work::looked_at;

/// The characters that a token is made of behind its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Digits and `a` to `f`.
    Hex,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Capital letters and digits.
    Upper,
    /// Letters, digits, `_`, `-`, `.`, `+`, `/`, `=`, `~` and `%`.
    Loose,
    /// Letters, digits, `_`, `-`, `:`.
    Colon,
    /// What [`Body::Loose`] has, and `@`.
    Path,
}

const BODIES: usize = 8;

impl Body {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Hex => {
                byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte) || (b'A'..=b'F').contains(&byte)
            }
            Self::Base64 => byte.is_ascii_alphanumeric() || b"+/=".contains(&byte),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Loose => byte.is_ascii_alphanumeric() || b"_-.+/=~%".contains(&byte),
            Self::Colon => byte.is_ascii_alphanumeric() || b"_-:".contains(&byte),
            Self::Path => Self::Loose.has(byte) || byte == b'@',
        }
    }
}

/// One form of token.
struct Form {
    kind: Kind,
    /// Whose token it is: the service that publishes the form.
    origin: &'static str,
    beginnings: &'static [&'static str],
    body: Body,
    /// The least length behind the beginning.
    least: usize,
    /// The greatest length behind the beginning.
    most: usize,
    /// Whether the body must have a digit, as random text has and names mostly have not.
    digit: bool,
    /// Whether only what follows the beginning is the secret, as in an address.
    rest_only: bool,
}

impl Form {
    /// Whether a token with this beginning is told from the rest of a name before it.
    fn may_be_joined(&self, beginning: &[u8]) -> bool {
        beginning.len() >= 4 && matches!(beginning, [.., b'_' | b'-']) && !matches!(self.body, Hex)
    }

    /// The length of its shortest beginning.
    fn shortest(&self) -> usize {
        self.beginnings
            .iter()
            .map(|beginning| beginning.len())
            .min()
            .unwrap_or(0)
    }
}

const ANY: usize = usize::MAX;

const fn form(
    kind: Kind,
    origin: &'static str,
    beginnings: &'static [&'static str],
    body: Body,
    least: usize,
) -> Form {
    Form {
        kind,
        origin,
        beginnings,
        body,
        least,
        most: ANY,
        digit: false,
        rest_only: false,
    }
}

/// A form whose beginning could also be that of a name.
const fn random(
    kind: Kind,
    origin: &'static str,
    beginnings: &'static [&'static str],
    body: Body,
    least: usize,
) -> Form {
    Form {
        kind,
        origin,
        beginnings,
        body,
        least,
        most: ANY,
        digit: true,
        rest_only: false,
    }
}

/// A form with a known length, and nothing else that tells it from other words.
const fn exact(
    kind: Kind,
    origin: &'static str,
    beginnings: &'static [&'static str],
    body: Body,
    least: usize,
    most: usize,
) -> Form {
    Form {
        kind,
        origin,
        beginnings,
        body,
        least,
        most,
        digit: true,
        rest_only: false,
    }
}

/// The secret part of an address.
const fn address(
    kind: Kind,
    origin: &'static str,
    beginnings: &'static [&'static str],
    least: usize,
) -> Form {
    Form {
        kind,
        origin,
        beginnings,
        body: Body::Loose,
        least,
        most: ANY,
        digit: false,
        rest_only: true,
    }
}

use Body::{Alnum, Base64, Colon, Hex, Loose, Path, Upper, Word};
use Kind::VendorToken as Vendor;

#[rustfmt::skip]
static FORMS: &[Form] = &[
    form(Kind::AnthropicKey, "Anthropic", &["sk-ant-"], Word, 12),
    random(Kind::OpenaiKey, "OpenAI", &["sk-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], Word, 20),
    form(Kind::OpenaiKey, "OpenRouter", &["sk-or-v1-", "sk-or-"], Word, 20),
    form(Kind::OpenaiKey, "OpenAI session", &["sess-"], Alnum, 40),
    form(Kind::GoogleKey, "Google API key", &["AIza"], Word, 30),
    form(Kind::GoogleKey, "Google OAuth", &["ya29."], Loose, 20),
    form(Kind::GoogleKey, "Google OAuth client secret", &["GOCSPX-"], Word, 20),
    form(Kind::GoogleKey, "Google OAuth refresh token", &["1//0"], Word, 40),
    exact(Kind::GoogleKey, "Google cloud storage HMAC", &["GOOG1E"], Alnum, 55, 55),
    exact(Kind::AwsKeyId, "AWS key id", &["AKIA", "ASIA", "ABIA", "ACCA"], Upper, 16, 16),
    form(Kind::AwsSecretKey, "AWS Bedrock key", &["ABSK"], Base64, 100),
    form(Kind::AwsSecretKey, "AWS session token", &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"], Base64, 60),
    form(Kind::AwsSecretKey, "AWS MWS", &["amzn.mws."], Word, 30),
    form(Kind::GithubToken, "GitHub", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Alnum, 20),
    form(Kind::GithubToken, "GitHub fine-grained", &["github_pat_"], Word, 20),
    random(Kind::GitlabToken, "GitLab", &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-", "glrtr-", "glwt-"], Loose, 16),
    form(Kind::GitlabToken, "GitLab runner registration", &["GR1348941"], Word, 20),
    form(Kind::SlackToken, "Slack", &["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xoxb-", "xoxe.xoxp-"], Loose, 10),
    form(Kind::SlackToken, "Slack app", &["xapp-"], Word, 10),
    address(Kind::SlackToken, "Slack webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"], 20),
    form(Kind::StripeKey, "Stripe", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_"], Alnum, 10),
    form(Kind::StripeKey, "Stripe webhook, Svix", &["whsec_"], Base64, 20),
    random(Kind::NpmToken, "npm", &["npm_"], Alnum, 30),
    random(Kind::PypiToken, "PyPI", &["pypi-"], Word, 32),
    form(Kind::HuggingfaceToken, "Hugging Face", &["hf_", "api_org_"], Alnum, 30),
    form(Kind::SendgridKey, "SendGrid", &["SG."], Loose, 40),
    exact(Kind::TwilioKey, "Twilio", &["SK"], Hex, 32, 32),
    form(Kind::DigitaloceanToken, "DigitalOcean", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 32),
    form(Kind::PrivateKey, "age", &["AGE-SECRET-KEY-1", "age-secret-key-1", "AGE-PLUGIN-"], Alnum, 4),
    form(Kind::PrivateKey, "minisign", &["RWRTY0Iy"], Base64, 20),
    form(Kind::PrivateKey, "Nostr", &["nsec1"], Alnum, 50),
    exact(Kind::PrivateKey, "BIP 32", &["xprv"], Alnum, 100, 120),
    form(Kind::PrivateKey, "Tor onion service", &["ED25519-V3:", "RSA1024:"], Base64, 40),
    exact(Kind::PrivateKey, "NATS nkey", &["SUA", "SAA", "SOA", "SNA", "SCA"], Upper, 53, 55),
    // Clusters and infrastructure.
    form(Vendor, "Docker Swarm", &["SWMTKN-1-", "SWMKEY-1-"], Word, 20),
    form(Vendor, "K3s", &["K10"], Colon, 50),
    form(Vendor, "Docker Hub", &["dckr_pat_", "dckr_oat_"], Word, 16),
    form(Vendor, "HashiCorp Vault", &["hvs.", "hvb.", "hvr."], Word, 20),
    exact(Vendor, "HashiCorp Vault, older", &["s.", "b.", "r."], Alnum, 24, 24),
    form(Vendor, "HCP Terraform", &["atlasv1."], Loose, 40),
    form(Vendor, "Tailscale", &["tskey-"], Word, 16),
    form(Vendor, "Tailscale node key", &["privkey:"], Hex, 60),
    form(Vendor, "Grafana", &["glsa_", "glc_"], Base64, 20),
    form(Vendor, "Grafana Cloud", &["glsa_"], Word, 20),
    form(Vendor, "Pulumi", &["pul-"], Hex, 40),
    form(Vendor, "Fly.io", &["fo1_", "fm1r_", "fm2_"], Loose, 20),
    form(Vendor, "Doppler", &["dp.st.", "dp.pt.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Loose, 20),
    form(Vendor, "Infisical", &["st."], Loose, 60),
    form(Vendor, "1Password", &["ops_eyJ"], Base64, 100),
    form(Vendor, "1Password secret key", &["A3-"], Word, 30),
    form(Vendor, "Cloudflare", &["cfut_"], Word, 20),
    form(Vendor, "Cloudflare origin", &["v1.0-"], Word, 100),
    exact(Vendor, "Alibaba Cloud", &["LTAI"], Alnum, 12, 24),
    exact(Vendor, "Tencent Cloud", &["AKID"], Alnum, 32, 36),
    exact(Vendor, "Yandex Cloud", &["AQVN", "YCAJE"], Word, 20, 60),
    form(Vendor, "Yandex OAuth", &["y0_", "t1.9eu"], Loose, 30),
    form(Vendor, "Databricks", &["dapi"], Hex, 32),
    form(Vendor, "PlanetScale", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Loose, 20),
    form(Vendor, "Neon", &["napi_", "npg_"], Alnum, 10),
    form(Vendor, "Supabase", &["sbp_", "sb_secret_"], Word, 20),
    form(Vendor, "MongoDB Atlas", &["mdb_sa_sk_"], Word, 20),
    form(Vendor, "Aiven", &["AVNS_"], Word, 12),
    form(Vendor, "ClickHouse Cloud", &["4b1d"], Alnum, 38),
    form(Vendor, "Confluent Cloud", &["cflt"], Base64, 50),
    form(Vendor, "Elastic Cloud", &["essu_"], Base64, 30),
    form(Vendor, "InfluxDB", &["apiv3_"], Word, 30),
    form(Vendor, "Sentry", &["sntrys_", "sntryu_"], Loose, 20),
    form(Vendor, "New Relic", &["NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRJS-", "NRSP-", "NRAA-"], Word, 18),
    form(Vendor, "Dynatrace", &["dt0c01.", "dt0s01.", "dt0s02.", "dt0s16."], Loose, 30),
    form(Vendor, "Honeycomb", &["hcaik_", "hcbik_", "hcamk_"], Alnum, 30),
    form(Vendor, "Logfire", &["pylf_v"], Word, 20),
    form(Vendor, "PostHog", &["phx_", "phs_"], Alnum, 30),
    form(Vendor, "Axiom", &["xaat-", "xapt-"], Word, 30),
    form(Vendor, "PagerDuty", &["pdus+"], Loose, 18),
    exact(Vendor, "LaunchDarkly", &["sdk-", "api-", "mob-"], Word, 36, 36),
    form(Vendor, "Statsig", &["secret-"], Alnum, 40),
    form(Vendor, "CircleCI", &["CCIPAT_", "CCIPRJ_"], Word, 20),
    form(Vendor, "Buildkite", &["bkua_", "bkaj_", "bkcq_", "bkct_", "bkpt_"], Alnum, 20),
    form(Vendor, "SonarQube", &["sqp_", "sqa_", "squ_", "sqb_"], Hex, 40),
    form(Vendor, "Snyk", &["snyk_uat.", "snyk_sat."], Loose, 20),
    form(Vendor, "Artifactory", &["AKCp"], Alnum, 60),
    form(Vendor, "Artifactory reference token", &["cmVmdGtu"], Alnum, 50),
    form(Vendor, "RubyGems", &["rubygems_"], Hex, 40),
    form(Vendor, "NuGet", &["oy2"], Alnum, 43),
    form(Vendor, "crates.io", &["cio"], Alnum, 32),
    form(Vendor, "Clojars", &["CLOJARS_"], Alnum, 50),
    form(Vendor, "Packagist", &["packagist_ack_", "packagist_out_", "packagist_uut_"], Alnum, 30),
    form(Vendor, "JSR, Deno", &["ddp_", "ddo_", "jsrp_", "jsrd_"], Alnum, 30),
    form(Vendor, "Vercel", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], Alnum, 20),
    form(Vendor, "Netlify", &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"], Alnum, 20),
    form(Vendor, "Heroku", &["HRKU-"], Word, 30),
    form(Vendor, "Render", &["rnd_"], Alnum, 20),
    form(Vendor, "Railway", &["rw_Fe26."], Loose, 30),
    form(Vendor, "Prefect", &["pnu_", "pnb_"], Alnum, 30),
    form(Vendor, "Ionic", &["ion_"], Alnum, 40),
    form(Vendor, "Sourcegraph", &["sgp_", "sgd_", "slk_", "sgs_"], Loose, 32),
    form(Vendor, "Bitbucket", &["ATBB", "ATCTT3xFf"], Loose, 20),
    form(Vendor, "Atlassian", &["ATATT3xFf", "ATATT3", "ATSTT3"], Loose, 20),
    form(Vendor, "Linear", &["lin_api_", "lin_oauth_", "lin_wh_"], Alnum, 20),
    form(Vendor, "Notion", &["ntn_", "secret_"], Alnum, 40),
    form(Vendor, "Airtable", &["pat"], Loose, 70),
    form(Vendor, "Asana", &["0/", "1/", "2/"], Hex, 32),
    form(Vendor, "ClickUp", &["pk_"], Word, 40),
    form(Vendor, "Figma", &["figd_"], Word, 20),
    form(Vendor, "Canva", &["cnvca"], Word, 40),
    form(Vendor, "Typeform", &["tfp_"], Loose, 40),
    form(Vendor, "Contentful", &["CFPAT-"], Word, 40),
    form(Vendor, "ReadMe", &["rdme_"], Alnum, 40),
    form(Vendor, "Postman", &["PMAK-", "PMAT-"], Word, 24),
    form(Vendor, "Kong", &["kpat_", "spat_"], Alnum, 30),
    exact(Vendor, "Okta", &["00"], Word, 40, 40),
    form(Vendor, "Stytch", &["secret-live-", "secret-test-"], Loose, 20),
    form(Vendor, "Discord bot", &["mfa."], Word, 60),
    address(Vendor, "Discord webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], 30),
    Form { body: Path, ..address(Vendor, "Microsoft Teams webhook", &["webhook.office.com/webhookb2/", "outlook.office.com/webhook/"], 30) },
    Form { rest_only: true, ..exact(Vendor, "Mattermost webhook", &["/hooks/"], Alnum, 26, 26) },
    address(Vendor, "Zapier webhook", &["hooks.zapier.com/hooks/catch/"], 8),
    address(Vendor, "IFTTT webhook", &["maker.ifttt.com/use/"], 16),
    address(Vendor, "healthchecks.io", &["hc-ping.com/"], 30),
    address(Vendor, "Telegram", &["api.telegram.org/bot"], 30),
    address(Vendor, "ntfy", &["ntfy.sh/?auth="], 10),
    form(Vendor, "ntfy", &["tk_"], Alnum, 29),
    form(Vendor, "Matrix", &["syt_", "mct_", "mcr_"], Word, 20),
    form(Vendor, "Mailchimp transactional", &["md-"], Word, 20),
    form(Vendor, "Mailgun", &["key-"], Hex, 32),
    form(Vendor, "Brevo", &["xkeysib-", "xsmtpsib-"], Word, 40),
    form(Vendor, "Resend", &["re_"], Word, 24),
    form(Vendor, "EasyPost", &["EZAK", "EZTK"], Alnum, 50),
    form(Vendor, "Twitch", &["oauth:"], Alnum, 30),
    form(Vendor, "Facebook", &["EAAC", "EAAG", "EAAB", "EAAM", "EAAE", "EAAJ"], Alnum, 60),
    form(Vendor, "X", &["AAAAAAAAAAAAAAAAAAAAA"], Loose, 40),
    form(Vendor, "LinkedIn", &["WPL_AP1."], Loose, 40),
    form(Vendor, "Shopify", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"], Hex, 20),
    form(Vendor, "Square", &["sq0atp-", "sq0csp-", "sq0idp-"], Word, 20),
    exact(Vendor, "Square, personal", &["EAAA"], Word, 56, 64),
    form(Vendor, "PayPal, Braintree", &["access_token$production$", "access_token$sandbox$"], Loose, 20),
    form(Vendor, "Adyen", &["AQE"], Loose, 80),
    form(Vendor, "Plaid", &["access-sandbox-", "access-development-", "access-production-"], Word, 30),
    form(Vendor, "Flutterwave", &["FLWSECK_TEST-", "FLWSECK-"], Word, 12),
    form(Vendor, "Razorpay", &["rzp_live_", "rzp_test_"], Alnum, 14),
    form(Vendor, "Lob, GoCardless", &["live_", "test_"], Hex, 35),
    form(Vendor, "Duffel", &["duffel_test_", "duffel_live_"], Word, 30),
    form(Vendor, "Shippo", &["shippo_live_", "shippo_test_"], Hex, 30),
    form(Vendor, "Frame.io", &["fio-u-"], Word, 30),
    form(Vendor, "Mapbox", &["sk.eyJ", "tk.eyJ"], Loose, 20),
    form(Vendor, "Dropbox", &["sl.u.", "sl.B", "sl.A"], Word, 60),
    form(Vendor, "Adobe", &["p8e-"], Alnum, 32),
    form(Vendor, "Lichess", &["lip_"], Alnum, 16),
    form(Vendor, "Groq", &["gsk_"], Alnum, 20),
    form(Vendor, "xAI", &["xai-"], Alnum, 20),
    form(Vendor, "Replicate", &["r8_"], Alnum, 20),
    form(Vendor, "Perplexity", &["pplx-"], Alnum, 20),
    form(Vendor, "Fireworks", &["fw_"], Alnum, 20),
    form(Vendor, "Together", &["tgp_v1_"], Word, 20),
    form(Vendor, "Cerebras", &["csk-"], Alnum, 30),
    form(Vendor, "NVIDIA", &["nvapi-"], Word, 20),
    form(Vendor, "ElevenLabs", &["sk_"], Hex, 40),
    form(Vendor, "Langfuse", &["sk-lf-", "pk-lf-"], Word, 30),
    form(Vendor, "LangSmith", &["lsv2_pt_", "lsv2_sk_", "ls__"], Word, 30),
    form(Vendor, "Pinecone", &["pcsk_"], Word, 40),
    form(Vendor, "Weights & Biases", &["wandb_v1_"], Word, 30),
    form(Vendor, "Tavily", &["tvly-"], Word, 20),
    form(Vendor, "Firecrawl", &["fc-"], Hex, 32),
    form(Vendor, "E2B", &["e2b_"], Hex, 30),
    form(Vendor, "Jina", &["jina_"], Alnum, 40),
    form(Vendor, "Helicone", &["sk-helicone-", "pk-helicone-"], Word, 20),
    form(Vendor, "RunPod", &["rpa_"], Upper, 30),
    form(Vendor, "Modal", &["as-", "ak-"], Alnum, 22),
    form(Vendor, "Voyage", &["pa-"], Word, 40),
    form(Vendor, "Censys", &["censys_"], Word, 20),
    form(Vendor, "Defined Networking", &["dnkey-"], Word, 30),
    form(Vendor, "Harness", &["pat.", "sat."], Loose, 60),
    form(Vendor, "Rootly, FireHydrant", &["rootly_", "fhb-"], Word, 32),
    form(Vendor, "Scalingo", &["tk-us-"], Word, 40),
    form(Vendor, "Portainer", &["ptr_"], Loose, 30),
    form(Vendor, "Authress", &["scauth_", "authress_"], Loose, 40),
    form(Vendor, "Telegram", &[":AA"], Word, 30),
    form(Vendor, "OpenShift", &["sha256~"], Word, 40),
    form(Vendor, "Rancher", &["kubeconfig-u-", "kubeconfig-user-"], Colon, 40),
];

struct Automaton {
    beginnings: AhoCorasick,
    /// The form of each beginning.
    forms: Vec<&'static Form>,
}

static AUTOMATON: LazyLock<Option<Automaton>> = LazyLock::new(|| {
    let pairs: Vec<(&str, &Form)> = FORMS
        .iter()
        .flat_map(|form| form.beginnings.iter().map(move |beginning| (*beginning, form)))
        .collect();
    let beginnings = AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(pairs.iter().map(|(beginning, _)| beginning))
        .ok()?;
    Some(Automaton {
        beginnings,
        forms: pairs.into_iter().map(|(_, form)| form).collect(),
    })
});

/// Whether the automaton of this build exists.
pub(crate) fn is_ready() -> bool {
    AUTOMATON.is_some()
}

/// Adds every token that shows by its beginning what it is.
pub(crate) fn find(text: &str, spans: &mut Spans) {
    let Some(automaton) = AUTOMATON.as_ref() else {
        return;
    };
    let bytes = text.as_bytes();
    // Where the last run of each alphabet was, so that none is walked twice.
    let mut runs = [(0_usize, 0_usize); BODIES];
    let mut samples: [Sample; BODIES] = Default::default();
    looked_at(bytes.len());
    let parts = crate::part::between_markers(text);
    let input = |part: Range<usize>| Input::new(text).span(part);
    for found in parts.flat_map(|part| automaton.beginnings.find_overlapping_iter(input(part))) {
        let Some(form) = automaton.forms.get(found.pattern().as_usize()) else {
            continue;
        };
        let (start, body) = (found.start(), found.end());
        // Behind `_`, as in `call_ghp_…`, a token must look like one and like no other word of a name.
        let joined = start > 0 && bytes[start - 1] == b'_';
        let begins =
            form.rest_only || starts_word(bytes, start) || joined && form.may_be_joined(&bytes[start..body]);
        if !begins {
            continue;
        }
        let run = &mut runs[form.body as usize];
        if !(run.0 <= body && body < run.1) {
            let length = bytes[body..]
                .iter()
                .take_while(|byte| form.body.has(**byte))
                .count();
            looked_at(length);
            *run = (body, body + length);
        }
        let end = body + trimmed(&bytes[body..run.1]);
        let length = end - body;
        if length < form.least || length > form.most {
            continue;
        }
        // Long enough to be told from a word. The next sample of this run moves on from here and is not walked again.
        let sample = &mut samples[form.body as usize];
        sample.move_to(bytes, body..end.min(body + SAMPLE));
        if form.digit && sample.digits == 0 {
            continue;
        }
        if is_name(form, sample) || (joined && !form.rest_only && !is_mixed(sample)) {
            continue;
        }
        let start = if form.rest_only {
            body
        } else {
            digits_before(form, bytes, start)
        };
        spans.add_if_new(start..end, form.kind);
    }
}

/// Whose token this is, if its beginning tells.
pub(crate) fn origin(token: &str) -> Option<&'static str> {
    let fits = |form: &&Form| {
        !form.rest_only
            && form
                .beginnings
                .iter()
                .any(|beginning| token.starts_with(beginning))
            && token.len() > form.least
    };
    let longest = |form: &&Form| form.beginnings.iter().map(|beginning| beginning.len()).max();
    FORMS
        .iter()
        .filter(fits)
        .max_by_key(longest)
        .map(|form| form.origin)
}

/// Without the marks of a sentence at its end.
fn trimmed(run: &[u8]) -> usize {
    run.len()
        - run
            .iter()
            .rev()
            .take(8)
            .take_while(|byte| b".-%".contains(byte))
            .count()
}

fn starts_word(bytes: &[u8], at: usize) -> bool {
    // `:AA` of Telegram stands behind the number of the bot.
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else {
        return true;
    };
    if bytes[at] == b':' {
        return before.is_ascii_digit();
    }
    !(before.is_ascii_alphanumeric() || before == b'_') || is_escape(bytes, at)
}

/// Whether the letter before this place belongs to `\n`, `\t`, `%3D` or the like.
fn is_escape(bytes: &[u8], at: usize) -> bool {
    let near = &bytes[at.saturating_sub(3)..at];
    matches!(near, [.., b'\\', b'n' | b't' | b'r'])
        || matches!(near, [b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

/// The number of a bot before `:AA`.
fn digits_before(form: &Form, bytes: &[u8], start: usize) -> usize {
    if form.beginnings != [":AA"] {
        return start;
    }
    start
        - bytes[..start]
            .iter()
            .rev()
            .take(12)
            .take_while(|byte| byte.is_ascii_digit())
            .count()
}

/// How much of a token is looked at to tell it from a name.
const SAMPLE: usize = 256;

/// What the characters of a part of the text are.
#[derive(Clone, Default)]
struct Sample {
    range: Range<usize>,
    digits: usize,
    upper: usize,
    lower: usize,
    signs: usize,
    /// Neighbours that are letters or digits, of different classes.
    turns: usize,
    /// Neighbours that are the same.
    same: usize,
}

impl Sample {
    /// Moves on to another part. Parts come in order, so that all of them together cost no more than the text.
    fn move_to(&mut self, bytes: &[u8], to: Range<usize>) {
        if to.start < self.range.start || to.start >= self.range.end || to.end < self.range.end {
            looked_at(to.len());
            *self = Self {
                range: to.start..to.start,
                ..Self::default()
            };
        }
        looked_at((to.start - self.range.start) + (to.end - self.range.end));
        while self.range.end < to.end {
            let at = self.range.end;
            *self.class_of(bytes[at]) += 1;
            if at > self.range.start {
                self.turns += usize::from(turns(bytes[at - 1], bytes[at]));
                self.same += usize::from(bytes[at - 1] == bytes[at]);
            }
            self.range.end += 1;
        }
        while self.range.start < to.start {
            let at = self.range.start;
            *self.class_of(bytes[at]) -= 1;
            if at + 1 < self.range.end {
                self.turns -= usize::from(turns(bytes[at], bytes[at + 1]));
                self.same -= usize::from(bytes[at] == bytes[at + 1]);
            }
            self.range.start += 1;
        }
    }

    fn class_of(&mut self, byte: u8) -> &mut usize {
        match byte {
            b'0'..=b'9' => &mut self.digits,
            b'A'..=b'Z' => &mut self.upper,
            b'a'..=b'z' => &mut self.lower,
            _ => &mut self.signs,
        }
    }
}

/// Whether two neighbours are letters or digits of different classes.
fn turns(first: u8, second: u8) -> bool {
    first.is_ascii_alphanumeric() && second.is_ascii_alphanumeric() && class(first) != class(second)
}

/// Whether digits and letters stand in turn, as in random characters.
fn is_mixed(sample: &Sample) -> bool {
    sample.digits > 0 && sample.range.len() >= 16 && sample.turns * 8 >= sample.range.len()
}

/// Whether a short beginning stands before a name and not before random characters: words joined by `-`, `_`, `.` or `/`,
/// or one letter or digit again and again.
fn is_name(form: &Form, sample: &Sample) -> bool {
    if form.kind != Kind::VendorToken && form.kind != Kind::OpenaiKey {
        return false;
    }
    let length = sample.range.len();
    if sample.same + 1 == length {
        return true;
    }
    if form.rest_only {
        return sample.digits == 0 && sample.upper == 0;
    }
    if form.shortest() >= 6 {
        return false;
    }
    // Random text of this length has digits, or capital and small letters in turn.
    sample.digits == 0 && (sample.upper == 0 || sample.lower == 0) || sample.turns * 8 < length
}

fn class(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    }
}

/// Every beginning with its origin, for the tests that try each of them.
#[cfg(any(test, feature = "adversary"))]
pub(crate) fn beginnings() -> impl Iterator<Item = (&'static str, &'static str)> {
    FORMS.iter().flat_map(|form| {
        form.beginnings
            .iter()
            .map(move |beginning| (form.origin, *beginning))
    })
}

/// A made-up token of every form, and the part of it that is secret, for the tests that try each of them.
#[cfg(test)]
pub(crate) fn samples() -> Vec<(&'static str, String, String)> {
    let mut seed = 7_u32;
    let mut samples = Vec::new();
    for form in FORMS {
        for beginning in form.beginnings {
            let length = form.least.max(12).min(form.most);
            let mut body = String::new();
            while body.len() < length {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let character = match (seed >> 16) % 64 {
                    value @ 0..=9 => char::from(b'0' + u8::try_from(value).unwrap_or(0)),
                    value @ 10..=35 => char::from(b'a' + u8::try_from(value - 10).unwrap_or(0)),
                    value @ 36..=61 => char::from(b'A' + u8::try_from(value - 36).unwrap_or(0)),
                    _ => continue,
                };
                if u8::try_from(character).is_ok_and(|byte| form.body.has(byte)) {
                    body.push(character);
                }
            }
            // Telegram's token begins with the number of the bot.
            let lead = if *beginning == ":AA" { "123456789" } else { "" };
            samples.push((form.origin, format!("{lead}{beginning}{body}"), body));
        }
    }
    samples
}
