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
const PAGE_HEADERS = ['content-security-policy', 'referrer-policy', 'cross-origin-opener-policy']

/** Read on the first request, once per process. */
let bundle: Promise<ConsoleBundle> | undefined

/** Serves the operator console. The files are public; the pages sign in and then call the API. */
export function createConsoleFiles(): Router {
  const router = Router()
  router.get(['/', '/index.html'], async (_request, response) => {
    const { page } = await readBundle()
    response.type('html').send(page)
  })
  router.use(CONSOLE_PATH, async (request, response, next) => {
    const name = request.path.slice(1)
    const content = (await readBundle()).files.get(name)
    if (!content || (request.method !== 'GET' && request.method !== 'HEAD')) return next()
    const { encoding, body } = await compressed(name, content, request)
    if (encoding) response.set('content-encoding', encoding)
    for (const header of PAGE_HEADERS) response.removeHeader(header)
    response
      .set('cache-control', 'public, max-age=31536000, immutable')
      .set('vary', 'accept-encoding')
      .set('content-type', TYPES[extname(name)] ?? 'application/octet-stream')
      .send(body)
  })
  return router
}

/** Reads the bundle once. After a failure, the next request tries again. */
function readBundle(): Promise<ConsoleBundle> {
  bundle ??= readConsole(FOLDER).catch((error) => {
    bundle = undefined
    throw error
  })
  return bundle
}

const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) }

const ENCODINGS = ['br', 'gzip'] as const

/** By encoding and name. */
const compressedFiles = new Map<string, Promise<Buffer>>()

/** Compresses each file once, on its first request. */
async function compressed(name: string, content: Uint8Array, request: Request) {
  // Browsers list gzip first, but brotli is smaller.
  const encoding = ENCODINGS.find((each) => request.acceptsEncodings(each) === each)
  if (!encoding) return { encoding, body: Buffer.from(content) }
  const key = `${encoding} ${name}`
  const body = compressedFiles.get(key) ?? COMPRESS[encoding](content)
  compressedFiles.set(key, body)
  return { encoding, body: await body }
}
