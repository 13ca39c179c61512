/** Kinds of credentials of git servers, with the fields of their forms. */

import type { CredentialKindName } from "../../../api/server_types";

interface DetailField {
  name: string;
  title: string;
  isRequired: boolean;
  placeholder?: string;
}

export interface CredentialKind {
  name: CredentialKindName;
  title: string;
  /** What the secret is; a key has several lines. */
  secret: string;
  isKey: boolean;
  details: DetailField[];
}

const USER: DetailField = { name: "user", title: "User of the token (optional)", isRequired: false };

export const KINDS: CredentialKind[] = [
  { name: "token", title: "access token (HTTPS)", secret: "Token", isKey: false, details: [{ ...USER, placeholder: "x-access-token" }] },
  {
    name: "gitlab_token",
    title: "GitLab access token (HTTPS)",
    secret: "Token",
    isKey: false,
    details: [{ ...USER, placeholder: "oauth2" }],
  },
  { name: "deploy_key", title: "deploy key (SSH)", secret: "Private key, without a passphrase", isKey: true, details: [] },
  {
    name: "github_app",
    title: "GitHub App (installation)",
    secret: "Private key of the app",
    isKey: true,
    details: [
      { name: "app_id", title: "Id of the app", isRequired: true },
      { name: "installation_id", title: "Id of the installation", isRequired: true },
      { name: "api_url", title: "URL of the API (optional)", isRequired: false, placeholder: "https://api.github.com" },
    ],
  },
];
