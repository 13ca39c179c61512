"""Predeclared names of JavaScript, TypeScript and browsers."""

from typing import Final

BUILTINS: Final = frozenset(
    {
        "#array", "#boolean", "#function", "#number", "#object", "#regex", "#string", "#undefined", "AbortController",
        "AbortSignal", "Array", "ArrayBuffer", "AsyncIterable", "Awaited", "BigInt", "Blob", "Boolean", "Buffer",
        "Date", "Error", "EvalError", "Event", "EventTarget", "Exclude", "Extract", "File", "FormData", "Function",
        "Headers", "Infinity", "InstanceType", "Intl", "Iterable", "Iterator", "JSON", "Map", "Math", "NaN",
        "NonNullable", "Number", "Object", "Omit", "Parameters", "Partial", "Pick", "Promise", "PromiseLike", "Proxy",
        "RangeError", "Readonly", "ReadonlyArray", "ReadonlyMap", "ReadonlySet", "Record", "ReferenceError", "Reflect",
        "RegExp", "Request", "Required", "Response", "ReturnType", "Set", "String", "Symbol", "SyntaxError",
        "TextDecoder", "TextEncoder", "TypeError", "URL", "URLSearchParams", "Uint8Array", "WeakMap", "WeakRef",
        "WeakSet", "alert", "any", "arguments", "atob", "bigint", "boolean", "btoa", "clearInterval", "clearTimeout",
        "console", "crypto", "decodeURIComponent", "document", "encodeURIComponent", "exports", "fetch", "global",
        "globalThis", "isFinite", "isNaN", "localStorage", "location", "module", "navigator", "never", "null", "number",
        "object", "parseFloat", "parseInt", "performance", "process", "queueMicrotask", "require", "setImmediate",
        "setInterval", "setTimeout", "string", "structuredClone", "symbol", "undefined", "unknown", "void", "window",
    }
)  # fmt: skip
"""Globals, built-in types, and the names of literals in chains."""

COLLECTION_TYPES: Final = frozenset(
    {
        "Array", "AsyncGenerator", "AsyncIterable", "AsyncIterableIterator", "AsyncIterator", "Generator", "Iterable",
        "IterableIterator", "Iterator", "Map", "ReadonlyArray", "ReadonlyMap", "ReadonlySet", "Set", "WeakMap",
    }
)  # fmt: skip
"""Types with elements of their last type argument."""

COMMON_METHODS: Final = frozenset(
    {
        "abort", "add", "addEventListener", "all", "allSettled", "any", "append", "appendChild", "apply", "assign",
        "at", "bind", "blur", "call", "catch", "charAt", "charCodeAt", "clear", "click", "clone", "close", "concat",
        "contains", "copyWithin", "create", "createElement", "decode", "defineProperty", "delete", "destroy",
        "dispatch", "dispatchEvent", "emit", "encode", "end", "endsWith", "entries", "error", "every", "exec",
        "execute", "exit", "fill", "filter", "finally", "find", "findIndex", "findLast", "finish", "flat", "flatMap",
        "flush", "focus", "forEach", "format", "freeze", "from", "fromEntries", "get", "getAttribute", "getItem",
        "getTime", "has", "hasOwnProperty", "includes", "indexOf", "info", "init", "insert", "isArray", "join", "json",
        "keys", "lastIndexOf", "listen", "load", "localeCompare", "lock", "log", "map", "match", "matchAll", "max",
        "min", "next", "normalize", "now", "observe", "off", "on", "once", "open", "padEnd", "padStart", "parse",
        "pause", "pipe", "pop", "post", "push", "put", "query", "querySelector", "querySelectorAll", "race", "read",
        "reduce", "reduceRight", "reject", "release", "remove", "removeAttribute", "removeChild", "removeEventListener",
        "removeItem", "removeListener", "render", "repeat", "replace", "replaceAll", "reset", "resolve", "resume",
        "return", "reverse", "run", "save", "search", "select", "send", "set", "setAttribute", "setItem", "setTimeout",
        "shift", "size", "slice", "some", "sort", "splice", "split", "start", "startsWith", "stop", "stringify", "sub",
        "subscribe", "substr", "substring", "test", "text", "then", "throw", "toFixed", "toISOString", "toJSON",
        "toLowerCase", "toString", "toUpperCase", "trim", "trimEnd", "trimStart", "unlock", "unref", "unshift",
        "unsubscribe", "update", "validate", "value", "valueOf", "values", "wait", "warn", "write",
    }
)  # fmt: skip
"""Methods of the standard library and of browsers, and names as common as those."""

WRAPPER_TYPES: Final = frozenset(
    {
        "Awaited", "Exclude", "Extract", "NonNullable", "Omit", "Partial", "Pick", "Promise", "PromiseLike", "Readonly",
        "Required",
    }
)  # fmt: skip
"""Types with the members of their first type argument."""
