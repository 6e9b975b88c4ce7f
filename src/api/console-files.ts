import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { type Request, Router } from 'express'

const FOLDER = fileURLToPath(new URL('../console', import.meta.url))

/** Libraries of the console, served directly from their packages, without a build. */
const LIBRARIES = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  htm: 'htm',
  '@preact/signals-core': '@preact/signals-core',
  '@preact/signals': '@preact/signals',
  uplot: 'uplot/dist/uPlot.esm.js',
}
const UPLOT_STYLES = 'uplot/dist/uPlot.min.css'
/** Loaded after the first view. */
const LATE = 'vendor/uplot.js'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** All files by their path below `base`; nothing else is served. */
const files = readFiles()
/** The folder name is a content hash, so browsers can cache files indefinitely, and versions never mix. */
const base = `/console/${versionOf(files)}/`

const importMap = JSON.stringify({
  imports: Object.fromEntries(Object.keys(LIBRARIES).map((name) => [name, base + fileOf(name)])),
})
const page = readFileSync(join(FOLDER, 'index.html'), 'utf8')
  .replace('{}', importMap)
  .replace('<!-- preload -->', preloads())
  .replaceAll('{base}', base)

/** Hash of the page's only inline script, for the Content-Security-Policy. */
export const IMPORT_MAP_HASH = `'sha256-${createHash('sha256').update(importMap).digest('base64')}'`

/** Serves the operator console. The files are public; the pages sign in and then call the API. */
export function createConsoleFiles(): Router {
  const router = Router()
  const encoded = createEncoder()
  router.get(['/', '/index.html'], (_request, response) => void response.type('html').send(page))
  router.use(base, async (request, response, next) => {
    const name = request.path.slice(1)
    const content = files.get(name)
    if (!content || (request.method !== 'GET' && request.method !== 'HEAD')) return next()
    const { encoding, body } = await encoded(name, content, request)
    if (encoding) response.set('content-encoding', encoding)
    response
      .set('cache-control', 'public, max-age=31536000, immutable')
      .set('vary', 'accept-encoding')
      .set('content-type', TYPES[extname(name)] ?? 'application/octet-stream')
      .send(body)
  })
  return router
}

const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) }

const ENCODINGS = ['br', 'gzip'] as const

/** Compresses each file once, on its first request. */
function createEncoder() {
  const done = new Map<string, Promise<Buffer>>()
  return async (name: string, content: Buffer, request: Request) => {
    // Browsers list gzip first, but brotli is smaller.
    const encoding = ENCODINGS.find((each) => request.acceptsEncodings(each) === each)
    if (!encoding) return { encoding, body: content }
    const key = `${encoding} ${name}`
    const body = done.get(key) ?? COMPRESS[encoding](content)
    done.set(key, body)
    return { encoding, body: await body }
  }
}

function readFiles(): Map<string, Buffer> {
  const own = globSync('**/*.{js,css,svg}', { cwd: FOLDER }).map(
    (name) => [name, join(FOLDER, name)] as const,
  )
  const libraries = Object.entries(LIBRARIES).map(([name, path]) => [fileOf(name), pathOf(path)] as const)
  const all = [...own, ...libraries, ['vendor/uplot.css', pathOf(UPLOT_STYLES)] as const]
  return new Map(all.map(([name, path]) => [name.replaceAll('\\', '/'), readFileSync(path)]))
}

function versionOf(contents: ReadonlyMap<string, Buffer>): string {
  const hash = createHash('sha256')
  for (const [name, content] of [...contents].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${name}\n${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Preloads all modules of the first view at once instead of one after another. */
function preloads(): string {
  const found = new Set<string>()
  const visit = (name: string) => {
    if (found.has(name) || name === LATE) return
    found.add(name)
    for (const [, wanted = ''] of String(files.get(name)).matchAll(
      /^(?:import|export)\b[^'"]*['"]([^'"]+)['"]/gm,
    )) {
      const path = wanted.startsWith('.') ? posix.join(posix.dirname(name), wanted) : fileOf(wanted)
      if (files.has(path)) visit(path)
    }
  }
  visit('app.js')
  for (const name of Object.keys(LIBRARIES)) visit(fileOf(name))
  return [...found].map((name) => `<link rel="modulepreload" href="{base}${name}" />`).join('\n    ')
}

function pathOf(specifier: string): string {
  return fileURLToPath(import.meta.resolve(specifier))
}

function fileOf(name: string): string {
  return `vendor/${name.replace(/^@/, '').replaceAll('/', '-')}.js`
}
