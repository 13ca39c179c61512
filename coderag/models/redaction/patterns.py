"""Patterns of keys and tokens: those of detect-secrets, and those of providers that it lacks.

Only the patterns of detect-secrets are used. Its scanner is configured by process globals, returns values without
positions, and returns only the first three letters of a GitHub token.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A pattern that is tried on lines.

    Attributes:
        kind: Kind of secret, for the marker.
        pattern: Finds the secret in a line.
        anchor: A cheap pattern that every case-folded line with such a secret matches; empty matches every line.
        group: Group of the match that holds the secret; the rest is kept.
        accepts: Decides whether a match is a secret.
    """

    kind: str
    pattern: re.Pattern[str]
    anchor: str = ""
    group: int | str = 0
    accepts: Callable[[re.Match[str]], bool] | None = None


_NON_SECRET_KINDS = {"Public IP (ipv4)"}
"""An IP address is not a secret. Pure entropy detectors are not used either (docs/security.md)."""

_WHOLE_MATCH_KINDS = {"GitHub Token", "GitLab Token"}
"""Kinds whose pattern group is the start of the token; otherwise a group is the secret."""

_ANCHORS: Final = {
    "Artifactory Credentials": "akc|ap[0-9a-f]",
    "AWS Access Key": "a3t|abia|acca|akia|asia|aws",
    "Azure Storage Account access key": "accountkey=",
    "Basic Auth Credentials": "://",
    "Cloudant Credentials": "key|pwd|pass|pw|token|cloudant",
    "Discord Bot Token": r"\.[a-z\d_-]{6}\.",
    "GitHub Token": "gh[pousr]_",
    "GitLab Token": "gl[a-z]{2,5}-|gr1348941",
    "IBM Cloud IAM Key": "key|pwd|pass|token",
    "IBM COS HMAC Credentials": "key",
    "JSON Web Token": "eyj",
    "Mailchimp Access Key": "-us[0-9]",
    "NPM tokens": ":_authtoken=",
    "OpenAI Token": "t3blbkfj",
    "PyPI Token": "pypi-ag",
    "SendGrid API Key": r"sg\.",
    "Slack Token": r"xox|hooks\.slack",
    "SoftLayer Credentials": "key|pwd|pass|token|softlayer",
    "Square OAuth Secret": "sq0csp-",
    "Stripe Access Key": "k_live_",
    "Telegram Bot Token": r"\d{8}:",
    "Twilio API Key": "(?:ac|sk)[a-z0-9]{32}",
}
"""Anchors by kind of detect-secrets. Unknown kinds of later versions are tried on every line."""

_PROVIDERS: Final = (
    # kind, pattern, anchor. Sources: the provider's page on its keys, and docs.github.com/code-security, "Supported secret
    # scanning patterns", which names the kinds; lengths are lower bounds, as most providers promise none.
    ("Anthropic API Key", r"sk-ant-[\w-]{20,}", "sk-ant-"),  # docs.anthropic.com/en/api/getting-started
    ("OpenAI API Key", r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,}", "sk-"),  # platform.openai.com/docs/api-reference
    ("API Key", r"\bsk-(?:or-v1-)?[A-Za-z0-9]{32,}", "sk-"),  # openrouter.ai/docs, api-docs.deepseek.com and others
    ("Google API Key", r"AIza[\w-]{35}", "aiza"),  # cloud.google.com/docs/authentication/api-keys
    ("Google OAuth Secret", r"GOCSPX-[\w-]{20,}", "gocspx-"),  # developers.google.com/identity/protocols/oauth2
    ("Google OAuth Token", r"\bya29\.[\w-]{20,}", "ya29"),
    ("Hugging Face Token", r"\bhf_[A-Za-z0-9]{30,}", "hf_"),  # huggingface.co/docs/hub/security-tokens
    ("npm Token", r"\bnpm_[A-Za-z0-9]{30,}", "npm_"),  # docs.npmjs.com/about-access-tokens
    ("GitHub Token", r"github_pat_\w{22,}", "github_pat_"),  # docs.github.com/authentication
    ("GitLab Token", r"gl(?:pat|dt|ft|rt|ptt|cbt|soat|oas|agent|imt)-[\w.-]{20,}", r"gl[a-z]{2,5}-"),
    ("Groq API Key", r"\bgsk_[A-Za-z0-9]{40,}", "gsk_"),  # console.groq.com/docs
    ("Voyage API Key", r"(?<![\w-])pa-(?=\S*\d)[\w-]{40,}", "pa-"),  # docs.voyageai.com/docs/api-key-and-installation
    ("xAI API Key", r"\bxai-[A-Za-z0-9]{40,}", "xai-"),  # docs.x.ai
    ("Perplexity API Key", r"\bpplx-[A-Za-z0-9]{40,}", "pplx-"),  # docs.perplexity.ai
    ("Replicate Token", r"\br8_[A-Za-z0-9]{30,}", "r8_"),  # replicate.com/docs
    ("Slack Token", r"\bxapp-\d-[\w-]{20,}|\bxox[a-z]-[\w-]{20,}", "xapp-|xox"),  # api.slack.com/authentication
    (
        "Stripe Key",
        r"\b(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{20,}",
        "k_live_|k_test_|whsec_",
    ),  # docs.stripe.com/keys
    ("Twilio API Key", r"\bSK[0-9a-fA-F]{32}\b", "sk[0-9a-fa-f]{32}"),  # twilio.com/docs/iam/api-keys
    ("Shopify Token", r"\bshp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}", "shp"),  # shopify.dev/docs/apps
    ("DigitalOcean Token", r"\bdo[opr]_v1_[0-9a-f]{64}", "_v1_"),  # docs.digitalocean.com/reference/api
    ("Databricks Token", r"\bdapi[0-9a-f]{32}", "dapi"),  # docs.databricks.com/dev-tools/auth
    ("Vault Token", r"\bhv[sbr]\.[\w-]{24,}", r"hv[sbr]\."),  # developer.hashicorp.com/vault/docs/concepts/tokens
    ("Terraform Token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}", "atlasv1"),  # developer.hashicorp.com/terraform
    ("Atlassian Token", r"\bATATT3[\w=-]{50,}", "atatt3"),  # support.atlassian.com
    ("Docker Token", r"\bdckr_pat_[\w-]{20,}", "dckr_pat_"),  # docs.docker.com/security/for-developers/access-tokens
    ("Grafana Token", r"\bgl(?:sa|c)_[\w+/=]{30,}", "glsa_|glc_"),  # grafana.com/docs
    ("Sentry Token", r"\bsntry[su]_[\w+/=-]{40,}", "sntry"),  # docs.sentry.io/account/auth-tokens
    ("Postman API Key", r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}", "pmak-"),  # learning.postman.com
    ("New Relic Key", r"\bNRAK-[A-Z0-9]{27}", "nrak-"),  # docs.newrelic.com/docs/apis
    ("Linear API Key", r"\blin_api_[A-Za-z0-9]{40}", "lin_api_"),  # linear.app/developers
    ("Supabase Token", r"\bsbp_[0-9a-f]{40}", "sbp_"),  # supabase.com/docs
    ("age Secret Key", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}", "age-secret-key-"),  # age-encryption.org/v1
    (
        "Doppler Token",
        r"\bdp\.(?:ct|pt|st|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
        r"dp\.",
    ),  # docs.doppler.com
    (
        "Mailgun Key",
        r"\b(?:private-|pub)?key-[0-9a-f]{32}\b|\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b",
        "key-|-[0-9a-f]{8}-",
    ),
    ("Notion Token", r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)", "ntn_|secret_"),  # developers.notion.com
    (
        "Fly.io Token",
        r"\bfo1_[\w-]{43}|\bfm[12][ar]?_[A-Za-z0-9+/=]{60,}",
        "fo1_|fm[12]",
    ),  # fly.io/docs/security/tokens
    ("Cloudflare Key", r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{140,}|\bcf(?:k|ut|at)_[A-Za-z0-9]{40,}", "v1.0-|cf[kua]"),
    ("Heroku Key", r"\bHRKU-[\w-]{36,}", "hrku-"),  # devcenter.heroku.com/articles/authentication
    ("Figma Token", r"\bfig(?:d|o|or|ur|uh|oh)_[\w-]{40,}", "fig"),  # figma.com/developers/api
    ("PyPI Token", r"\bpypi-[A-Za-z0-9_-]{50,}", "pypi-"),  # pypi.org/help
    ("Airtable Token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b", "pat"),  # airtable.com/developers
    ("Alibaba Access Key", r"\bLTAI[A-Za-z0-9]{17,21}\b", "ltai"),
    ("Bitbucket Password", r"\bATBB[A-Za-z0-9]{28,}", "atbb"),
    ("Buildkite Token", r"\bbk(?:ua|at|aj|ct|cluster)_[A-Za-z0-9]{38,}", "bk"),  # buildkite.com/docs/apis
    ("CircleCI Token", r"\bCCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}", "ccip"),
    ("Clojars Token", r"\bCLOJARS_[a-z0-9]{60}", "clojars_"),
    ("Contentful Token", r"\bCFPAT-[\w-]{43}", "cfpat-"),
    ("Dropbox Token", r"\bsl\.(?:u\.)?[\w-]{130,}", r"sl\."),
    ("Duffel Token", r"\bduffel_(?:test|live)_[\w=-]{40,}", "duffel_"),
    ("Dynatrace Token", r"\bdt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "dt0"),  # docs.dynatrace.com
    ("EasyPost Key", r"\bE[ZT][AT]K[A-Za-z0-9]{54}", "e[zt][at]k"),
    ("Facebook Token", r"\bEAA[A-Za-z0-9]{80,}", "eaa"),  # developers.facebook.com
    ("Frame.io Token", r"\bfio-u-[\w=-]{60,}", "fio-u-"),
    ("Infracost Key", r"\bico-[A-Za-z0-9]{32}\b", "ico-"),
    ("JFrog Key", r"\bAKCp[A-Za-z0-9]{60,}|\bcmVmdGtu[A-Za-z0-9]{50,}", "akcp|cmvmdgtu"),
    ("LangSmith Key", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", "lsv2_"),  # docs.smith.langchain.com
    ("Langfuse Key", r"\bsk-lf-[0-9a-f-]{36}", "sk-lf-"),
    ("Mapbox Token", r"\bsk\.eyJ[\w-]{40,}\.[\w-]{20,}", "sk.eyj"),  # docs.mapbox.com
    ("Netlify Token", r"\bnf[pcb]_[A-Za-z0-9]{36,}", "nf[pcb]_"),
    ("NuGet Key", r"\boy2[a-z0-9]{43}\b", "oy2"),  # learn.microsoft.com/nuget
    (
        "1Password Token",
        r"\bops_eyJ[A-Za-z0-9+/=_-]{200,}|\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){4,5}[A-Z0-9]{5}\b",
        "ops_eyj|a3-",
    ),
    ("OpenShift Token", r"\bsha256~[\w-]{43}", "sha256~"),
    ("Pinecone Key", r"\bpcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,}", "pcsk_"),
    ("PlanetScale Token", r"\bpscale_(?:tkn|pw|oauth)_[\w=.-]{32,}", "pscale_"),  # planetscale.com/docs
    ("PostHog Key", r"\bph[xs]_[A-Za-z0-9]{40,}", "ph[xs]_"),
    ("Prefect Key", r"\bpn[ub]_[A-Za-z0-9]{36}\b", "pn[ub]_"),
    ("Pulumi Token", r"\bpul-[0-9a-f]{40}\b", "pul-"),  # pulumi.com/docs
    ("Render Key", r"\brnd_[A-Za-z0-9]{28,}", "rnd_"),
    ("Resend Key", r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b", "re_"),
    ("RubyGems Key", r"\brubygems_[0-9a-f]{48}\b", "rubygems_"),  # guides.rubygems.org
    ("Scalingo Token", r"\btk-us-[\w-]{48}", "tk-us-"),
    ("Sendinblue Key", r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", "xkeysib-"),
    ("Shippo Token", r"\bshippo_(?:live|test)_[0-9a-f]{40}", "shippo_"),
    ("Sourcegraph Token", r"\bsgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}\b", "sgp_"),
    ("Square Token", r"\b(?:EAAA[\w-]{56,}|sq0atp-[\w-]{22,})", "eaaa|sq0atp-"),  # developer.squareup.com
    ("Tailscale Key", r"\btskey-(?:auth|api|client|scim|webhook)?-?[A-Za-z0-9]+-[A-Za-z0-9]{20,}", "tskey-"),
    ("Typeform Token", r"\btfp_[\w.=-]{50,}", "tfp_"),
    ("Vercel Token", r"\bvc[pikar]_[A-Za-z0-9]{40,}", "vc[pikar]_"),
    (
        "Yandex Token",
        r"\bt1\.[A-Za-z0-9_-]+=*\.[A-Za-z0-9_-]{86}|\bAQVN[\w-]{35,38}\b|\bYC[\w-]{38}\b",
        r"t1\.|aqvn|yc",
    ),
    ("Microsoft Teams Webhook", r"https://[\w-]+\.webhook\.office\.com/webhookb2/[\w@/-]{60,}", "webhook.office.com"),
    ("Discord Webhook", r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]{60,}", "discord"),
    ("Azure Client Secret", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])", "q~"),  # learn.microsoft.com/entra
)


def build_provider_rules() -> list[SecretRule]:
    """Build the rules of providers that detect-secrets lacks, or knows only older keys of."""
    return [SecretRule(kind, re.compile(pattern), anchor) for kind, pattern, anchor in _PROVIDERS]


def build_detector_rules() -> list[SecretRule]:
    """Build the rules of detect-secrets; its name and entropy detectors have no patterns."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # noqa: PLC0415  # takes 0.2 s

    rules = []
    detectors: dict[str, type[Any]] = get_mapping_from_secret_type_to_class()
    for kind, detector in detectors.items():
        if kind in _NON_SECRET_KINDS or kind == "Private Key":
            continue
        for pattern in getattr(detector, "denylist", ()):
            group = 1 if pattern.groups and kind not in _WHOLE_MATCH_KINDS else 0
            rules.append(SecretRule(kind, pattern, _ANCHORS.get(kind, ""), group))
    return rules
