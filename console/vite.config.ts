// How the console is built: relative addresses, so that it works behind any path prefix; everything in files of its own,
// because its content security policy allows nothing inline; no source maps, because dist/ is committed and shipped.
import { defineConfig } from 'vite';

/** A proxy for `npm run dev`. */
const PROXY = process.env['THROUGHLINE_URL'] ?? 'http://127.0.0.1:4000';

export default defineConfig({
  base: './',
  root: import.meta.dirname,
  // The first paint waits for the script: it knows the theme, and nothing flashes.
  plugins: [
    {
      name: 'render-blocking-entry',
      transformIndexHtml: {
        order: 'post',
        handler: (html) =>
          html.replace('<script type="module"', '<script type="module" async blocking="render"'),
      },
    },
  ],
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    license: { fileName: 'licenses.txt' },
    emptyOutDir: true,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // A page's script is called after its folder.
        chunkFileNames: ({ moduleIds, name }) =>
          `assets/${/\/pages\/([\w-]+)\/page\.tsx$/.exec(moduleIds.at(-1) ?? '')?.[1] ?? name}-[hash].js`,
      },
    },
  },
  server: {
    proxy: { '^/(?!ui/|ui$|@|node_modules|main|app|api|ui|format|text|design|pages)': PROXY },
  },
});
