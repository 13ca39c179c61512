import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The service serves the built files; `npm run dev` passes requests to one that runs on its usual port.
const SERVICE = "http://127.0.0.1:8321";

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "dist",
    target: "es2023",
    assetsInlineLimit: 0, // the content security policy allows no inline scripts or styles
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": SERVICE, "/web": SERVICE, "/openapi.json": SERVICE } },
});
