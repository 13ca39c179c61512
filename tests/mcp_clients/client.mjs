// Drives a server of MCP with a TypeScript SDK, which checks every reply against the protocol's schemas and every structured
// result against the tool's own. Prints what it saw as one JSON object.
//
//   node client.mjs '{"sdk": "v2", "mode": "auto", "command": ["coderag", "mcp"], "query": "..."}'
//   node client.mjs '{"sdk": "v1", "url": "http://127.0.0.1:8000/mcp", "headers": {"Authorization": "Bearer ..."}, "query": "..."}'
//
// sdk: v1 is @modelcontextprotocol/sdk, v2 is @modelcontextprotocol/client; mode is the latter's: legacy, auto, or a version.

const options = JSON.parse(process.argv[2]);
const seen = { faults: [], tools: {}, errors: {}, resources: {}, prompts: {} };

async function connect() {
  const info = { name: "coderag-tests", version: "1" };
  const folder = options.sdk === "v1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
  const v1 = options.sdk === "v1";
  const { Client } = await import(v1 ? `${folder}/index.js` : folder);
  const negotiation = ["legacy", "auto"].includes(options.mode) ? options.mode : { pin: options.mode };
  const client = v1 ? new Client(info) : new Client(info, { versionNegotiation: { mode: negotiation } });
  client.onerror = (error) => seen.faults.push(String(error));
  await client.connect(await transportOf(folder, v1));
  return client;
}

async function transportOf(folder, v1) {
  if (options.url) {
    const { StreamableHTTPClientTransport } = await import(v1 ? `${folder}/streamableHttp.js` : folder);
    return new StreamableHTTPClientTransport(new URL(options.url), { requestInit: { headers: options.headers ?? {} } });
  }
  const { StdioClientTransport } = await import(v1 ? `${folder}/stdio.js` : `${folder}/stdio`);
  const [command, ...args] = options.command;
  return new StdioClientTransport({ command, args, env: process.env, cwd: options.cwd });
}

function call(client, params, more) {
  return options.sdk === "v1" ? client.callTool(params, undefined, more) : client.callTool(params, more);
}

async function useTools(client) {
  const { tools } = await client.listTools();
  seen.listed = tools.map((tool) => tool.name);
  for (const [name, given] of Object.entries(options.calls)) {
    const result = await call(client, { name, arguments: given });
    const text = result.content.map((part) => part.text ?? "").join("");
    seen.tools[name] = { isError: result.isError ?? false, text, structured: result.structuredContent !== undefined };
  }
}

async function useResources(client) {
  const { resources } = await client.listResources();
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    seen.resources[uri] = contents.map((part) => part.text ?? "").join("").length;
  }
  seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
  const { prompts } = await client.listPrompts();
  for (const prompt of prompts) {
    const names = (prompt.arguments ?? []).map(({ name }) => name).filter((name) => name in options.prompts);
    const given = Object.fromEntries(names.map((name) => [name, options.prompts[name]]));
    seen.prompts[prompt.name] = (await client.getPrompt({ name: prompt.name, arguments: given })).messages.length;
  }
}

async function makeMistakes(client) {
  for (const [label, act] of Object.entries({
    tool: () => call(client, { name: "no_such_tool", arguments: {} }),
    argument: () => call(client, { name: "coderag_search", arguments: { query: 5 } }),
    resource: () => client.readResource({ uri: "coderag://nowhere" }),
    prompt: () => client.getPrompt({ name: "no_such_prompt" }),
  })) {
    try {
      const result = await act();
      seen.errors[label] = result.isError ? "result" : "none";
    } catch (error) {
      seen.errors[label] = typeof error.code === "number" ? "protocol" : `${error}`;
    }
  }
}

async function watchAndCancel(client) {
  seen.progress = 0;
  await call(client, { name: "coderag_index", arguments: { full: true } }, { onprogress: () => (seen.progress += 1) });
  const aborted = new AbortController();
  const running = call(client, { name: "coderag_index", arguments: { full: true } }, { signal: aborted.signal });
  aborted.abort("enough");
  seen.cancelled = await running.then(() => false, () => true);
  const after = await call(client, { name: "coderag_status", arguments: {} });
  seen.afterCancel = !after.isError;
}

const client = await connect();
seen.server = client.getServerVersion()?.name;
seen.protocol = client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? "";
await useTools(client);
await useResources(client);
await makeMistakes(client);
await watchAndCancel(client);
await client.close();
console.log(JSON.stringify(seen));
process.exit(0);
