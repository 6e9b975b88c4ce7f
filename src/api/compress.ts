import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { RequestHandler } from 'express'

/** Shorter answers (in characters) are not compressed: they fit into one packet. */
const SHORTEST = 1_400

const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) }
/** With this quality, brotli compresses as well as gzip, and faster. */
const FAST_BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/**
 * Compresses the JSON answers to browsers, which may be on a slow line. They are recognised by
 * their cookie. Programs are usually near.
 */
export const compressForBrowsers: RequestHandler = (request, response, next) => {
  const encoding = (['br', 'gzip'] as const).find((each) => request.acceptsEncodings(each) === each)
  if (!encoding || request.get('cookie') === undefined) return next()
  const plain = response.json.bind(response)
  response.json = (body) => {
    const text = JSON.stringify(body)
    if (text.length < SHORTEST) return plain(body)
    const send = async () => {
      const compressed = await (encoding === 'br' ? COMPRESS.br(text, FAST_BROTLI) : COMPRESS.gzip(text))
      response.type('json').set('content-encoding', encoding).vary('accept-encoding').send(compressed)
    }
    send().catch(next)
    return response
  }
  next()
}
