import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { type Request, Router } from 'express'
import { CONSOLE_PATH, type ConsoleBundle, readConsole } from './console-bundle.ts'

const FOLDER = fileURLToPath(new URL('../console', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Headers that browsers obey for pages only. */
const OF_PAGES = ['content-security-policy', 'referrer-policy', 'cross-origin-opener-policy']

/** Read on the first request, once in a process. */
let bundle: Promise<ConsoleBundle> | undefined

/** Serves the operator console. The files are public; the pages sign in and then call the API. */
export function createConsoleFiles(): Router {
  const router = Router()
  router.get(['/', '/index.html'], async (_request, response) => {
    const { page } = await bundled()
    response.type('html').send(page)
  })
  router.use(CONSOLE_PATH, async (request, response, next) => {
    const name = request.path.slice(1)
    const content = (await bundled()).files.get(name)
    if (!content || (request.method !== 'GET' && request.method !== 'HEAD')) return next()
    const { encoding, body } = await encoded(name, content, request)
    if (encoding) response.set('content-encoding', encoding)
    for (const header of OF_PAGES) response.removeHeader(header)
    response
      .set('cache-control', 'public, max-age=31536000, immutable')
      .set('vary', 'accept-encoding')
      .set('content-type', TYPES[extname(name)] ?? 'application/octet-stream')
      .send(body)
  })
  return router
}

/** A failure is tried again: somebody corrects the sources. */
function bundled(): Promise<ConsoleBundle> {
  bundle ??= readConsole(FOLDER).catch((error) => {
    bundle = undefined
    throw error
  })
  return bundle
}

const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) }

const ENCODINGS = ['br', 'gzip'] as const

const compressed = new Map<string, Promise<Buffer>>()

/** Compresses each file once, on its first request. */
async function encoded(name: string, content: Uint8Array, request: Request) {
  // Browsers list gzip first, but brotli is smaller.
  const encoding = ENCODINGS.find((each) => request.acceptsEncodings(each) === each)
  if (!encoding) return { encoding, body: Buffer.from(content) }
  const key = `${encoding} ${name}`
  const body = compressed.get(key) ?? COMPRESS[encoding](content)
  compressed.set(key, body)
  return { encoding, body: await body }
}
