/** Texts about sources, and the values of their forms. */

import type { SettingField, Source, SourceSystem } from "../../../api/server_types";

type Values = Record<string, unknown>;

const SYSTEMS: Record<SourceSystem["name"], string> = {
  confluence: "Confluence",
  jira: "Jira",
  sharepoint: "SharePoint",
  azure_devops: "Azure DevOps",
  clickup: "ClickUp",
};

/** Return the name of a system for people. */
export function describeSystem(name: string): string {
  return SYSTEMS[name as SourceSystem["name"]] ?? name;
}

/** Return what a source is, as far as the account may know it. */
export function describeSource(source: Source): string {
  const { system, address } = source.settings ?? {};
  const host = typeof address === "string" ? address.replace(/^https?:\/\//, "") : "";
  const parts = [typeof system === "string" ? describeSystem(system) : "", source.kind, host];
  if (!source.is_on_server) parts.push("set by files of the repository");
  return parts.filter(Boolean).join(" · ");
}

/** Return the state of a source with the kind of its tag. */
export function describeState(source: Source): { title: string; grade: "good" | "bad" | "" } {
  if (source.error) return { title: "error", grade: "bad" };
  return source.synced_at ? { title: "synchronised", grade: "good" } : { title: "waiting", grade: "" };
}

/** Return the title of a setting: `client_id` becomes “Client ID”, and `timeout_s` “Timeout, seconds”. */
export function describeSetting(name: string): string {
  const words = name
    .replace(/_s$/, ", seconds")
    .replace(/_hours$/, ", hours")
    .replaceAll("_", " ")
    .replace(/\b(api|cql|id|jql)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return the texts and flags that the fields of a form begin with. */
export function toFormValues(fields: SettingField[], settings: Values): Record<string, string | boolean> {
  return Object.fromEntries(
    fields.map((field) => {
      const value = settings[field.name] ?? field.default;
      if (field.type === "flag") return [field.name, value === true];
      return [field.name, Array.isArray(value) ? value.join("\n") : value === null || value === undefined ? "" : String(value)];
    }),
  );
}

/** Return the settings of a form; those with their defaults are left out. */
export function toSettings(fields: SettingField[], values: Record<string, string | boolean>): Values {
  const initial = toFormValues(fields, {});
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = values[field.name] ?? "";
      const text = typeof value === "string" ? value.trim() : value;
      if (text === "" || (!field.is_required && text === initial[field.name])) return [];
      return [[field.name, parse(field, text)]];
    }),
  );
}

function parse(field: SettingField, value: string | boolean): unknown {
  if (typeof value === "boolean") return value;
  if (field.type === "number") return Number(value);
  if (field.type !== "list") return value;
  return value
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
