import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

// The service serves the built files; `npm run dev` passes requests to one that runs on its usual port.
const SERVICE = "http://127.0.0.1:8321";

/**
 * Take the grammars of embedded code out of the grammar that may embed it: Ruby's alone imports those of twelve languages.
 * `highlight/grammars.ts` names those that are worth loading.
 */
function detachGrammars(): Plugin {
  return {
    name: "detach-grammars",
    transform(code, id) {
      if (!/@shikijs\/langs\/dist\/.*\.mjs$/.test(id) || !code.includes("const lang =")) return null;
      const own = code.replace(/^import .*$/gm, "").replace(/export default \[[^]*?\]/, "export default [lang]");
      return { code: own, map: null };
    },
  };
}

export default defineConfig({
  plugins: [svelte(), detachGrammars()],
  worker: { format: "es", plugins: () => [detachGrammars()] },
  build: {
    outDir: "dist",
    target: "es2023",
    assetsInlineLimit: 0, // the content security policy allows no inline scripts or styles
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": SERVICE, "/web": SERVICE, "/openapi.json": SERVICE } },
});
