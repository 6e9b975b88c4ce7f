import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import express, { Router } from 'express'

const FOLDER = fileURLToPath(new URL('../console', import.meta.url))

/** What the console's modules import by name, as the browser gets it: straight from the packages, without a build. */
const LIBRARIES = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  htm: 'htm',
  '@preact/signals-core': '@preact/signals-core',
  '@preact/signals': '@preact/signals',
  uplot: 'uplot/dist/uPlot.esm.js',
}
const UPLOT_STYLES = 'uplot/dist/uPlot.min.css'

const importMap = JSON.stringify({
  imports: Object.fromEntries(Object.keys(LIBRARIES).map((name) => [name, `/vendor/${fileOf(name)}`])),
})
const page = readFileSync(new URL('../console/index.html', import.meta.url), 'utf8').replace('{}', importMap)

/** The one script in the page itself, for its Content-Security-Policy. */
export const IMPORT_MAP_HASH = `'sha256-${createHash('sha256').update(importMap).digest('base64')}'`

/** The operator console: files that anybody may read. They ask for the token, and then call the API with it. */
export function createConsoleFiles(): Router {
  const router = Router()
  router.get(['/', '/index.html'], (_request, response) => void response.type('html').send(page))
  const vendored = [...Object.entries(LIBRARIES).map(([name, path]) => [fileOf(name), path] as const)]
  for (const [file, path] of [...vendored, ['uplot.css', UPLOT_STYLES] as const]) {
    const from = fileURLToPath(import.meta.resolve(path))
    router.get(`/vendor/${file}`, (_request, response) =>
      response.sendFile(from, { etag: false, lastModified: false, dotfiles: 'allow' }),
    )
  }
  router.use(express.static(FOLDER, { etag: false, lastModified: false, index: false }))
  return router
}

function fileOf(name: string): string {
  return `${name.replace(/^@/, '').replaceAll('/', '-')}.js`
}
