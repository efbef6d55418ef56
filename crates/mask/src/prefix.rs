//! Tokens that show by their beginning what they are.

use crate::Kind;
use crate::finder::{Finder, first_group, whole, whole_if_random};

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::AnthropicKey,
        trigger: "sk-ant-",
        pattern: r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{12,}",
        find: whole,
    },
    Finder {
        kind: Kind::OpenaiKey,
        trigger: r"(?-u:\b)sk-[A-Za-z0-9]",
        pattern: r"(?-u:\b)sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}",
        find: whole_if_random,
    },
    Finder {
        kind: Kind::GoogleKey,
        trigger: r"AIza|ya29\.|GOCSPX-",
        pattern: r"(?-u:\b)(?:AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})",
        find: whole,
    },
    Finder {
        kind: Kind::AwsKeyId,
        trigger: "AKIA|ASIA|ABIA|ACCA",
        pattern: r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?-u:\b)",
        find: whole,
    },
    Finder {
        kind: Kind::GithubToken,
        trigger: "gh[pousr]_|github_pat_",
        pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        find: whole,
    },
    Finder {
        kind: Kind::GitlabToken,
        trigger: "gl[a-z]{2,5}-",
        pattern: r"(?-u:\b)gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct)-[A-Za-z0-9_.-]{16,}",
        find: whole_if_random,
    },
    Finder {
        kind: Kind::SlackToken,
        trigger: r"xox[a-z]-|xapp-|hooks\.slack\.com",
        pattern: r"(?-u:\b)(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})|hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})",
        find: slack,
    },
    Finder {
        kind: Kind::StripeKey,
        trigger: "[sr]k_(?:live|test)_|whsec_",
        pattern: r"(?-u:\b)(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
        find: whole,
    },
    Finder {
        kind: Kind::NpmToken,
        trigger: "npm_[A-Za-z0-9]{20}",
        pattern: r"(?-u:\b)npm_[A-Za-z0-9]{30,}",
        find: whole_if_random,
    },
    Finder {
        kind: Kind::PypiToken,
        trigger: "pypi-[A-Za-z0-9]",
        pattern: r"(?-u:\b)pypi-[A-Za-z0-9_-]{32,}",
        find: whole_if_random,
    },
    Finder {
        kind: Kind::HuggingfaceToken,
        trigger: "hf_[A-Za-z0-9]|api_org_",
        pattern: r"(?-u:\b)(?:hf|api_org)_[A-Za-z0-9]{30,}",
        find: whole,
    },
    Finder {
        kind: Kind::SendgridKey,
        trigger: r"SG\.",
        pattern: r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        find: whole,
    },
    Finder {
        kind: Kind::TwilioKey,
        trigger: "SK[0-9a-f]{8}",
        pattern: r"(?-u:\b)SK[0-9a-f]{32}(?-u:\b)",
        find: whole,
    },
    Finder {
        kind: Kind::DigitaloceanToken,
        trigger: "do[opr]_v1_",
        pattern: r"(?-u:\b)do[opr]_v1_[a-f0-9]{32,}",
        find: whole,
    },
    Finder {
        kind: Kind::ProxmoxToken,
        trigger: "APIToken|PVE:|PMG:|PBS:|PVEAuthCookie|PMGAuthCookie|PBSAuthCookie",
        pattern: r"(?:P[VB][EMS]|PMG)APIToken[ =]+[^\s=:!]+![^\s=:]+[=:]([^\s\x22',;]+)|(?-u:\b)(?:PVE|PMG|PBS):[^\s:]+:[0-9A-Fa-f]{8}::([A-Za-z0-9+/=%]{16,})",
        find: first_group,
    },
    Finder {
        kind: Kind::VendorToken,
        trigger: "dckr_pat_|glsa_|glc_|hv[sbr]\\.|tskey-|gsk_|xai-|r8_|lin_api_|shp[a-z]{2}_|nvapi-|sntry[us]_|dp\\.st\\.|cfut_|pul-[0-9a-f]|sq0[a-z]{3}-|ATATT3|:AA[A-Za-z0-9_-]{30}|dop_v|v1\\.[0-9a-f]{40}",
        pattern: r"(?-u:\b)(?:dckr_pat_[A-Za-z0-9_-]{16,}|gls?[ac]_[A-Za-z0-9_+/=]{20,}|hv[sbr]\.[A-Za-z0-9_-]{20,}|tskey-[a-z]+-[A-Za-z0-9-]{16,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|r8_[A-Za-z0-9]{20,}|lin_api_[A-Za-z0-9]{20,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}|nvapi-[A-Za-z0-9_-]{20,}|sntry[us]_[A-Za-z0-9+/=_-]{20,}|dp\.st\.[A-Za-z0-9_.-]{20,}|pul-[0-9a-f]{40}|sq0[a-z]{3}-[A-Za-z0-9_-]{20,}|ATATT3[A-Za-z0-9_=-]{20,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{30,})",
        find: whole_if_random,
    },
    Finder {
        kind: Kind::PrivateKey,
        trigger: "AGE-SECRET-KEY-",
        pattern: "AGE-SECRET-KEY-1[0-9A-Z]+",
        find: whole,
    },
    Finder {
        kind: Kind::Jwt,
        trigger: "eyJ",
        pattern: r"(?-u:\b)(?:eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki)[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)*|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*)",
        find: whole,
    },
];

/// The whole token, or only the path of a webhook.
fn slack(regex: &regex::Regex, text: &str, kind: Kind, spans: &mut crate::span::Spans) {
    for captures in regex.captures_iter(text) {
        if let Some(found) = captures.get(1).or_else(|| captures.get(0)) {
            spans.add(found.range(), kind);
        }
    }
}
