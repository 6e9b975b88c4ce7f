import type { Incoming } from '../inbound/incoming.ts'
import { parseMail } from '../inbound/parse.ts'
import { MAX_HEAD, readHead } from '../mime/head.ts'
import type { EmailOptions } from '../options.ts'
import type { Verdict } from '../proof/claim.ts'
import { headOfPieces, mailOfPieces } from './pieces.ts'
import type { Delivered } from './provider.ts'

/** The verdict for a parsed mail: signatures cover the raw mail, which is missing. */
const UNVERIFIABLE: Verdict = {
  identity: {
    result: 'none',
    by: 'provider',
    detail:
      'the provider posts a parsed mail, whose signatures cannot be verified; configure it to post the raw mail',
  },
}

type Settings = Pick<EmailOptions, 'authentication' | 'max-size'> & {
  /** The provider. */
  source: string
  /** Unix ms. */
  now: number
}

/**
 * Converts a delivered mail to the form of one read from a mailbox. A mail over `max-size` becomes
 * its only attachment, so nothing is lost.
 */
export async function toIncoming(delivered: Delivered, settings: Settings): Promise<Incoming> {
  const { source, now, authentication, 'max-size': maxSize } = settings
  const { id, at = now } = delivered
  const place = { source, ...(id === undefined ? {} : { id }), internalDate: Math.min(at, now) }
  if ('pieces' in delivered) {
    const { pieces } = delivered
    const raw = headOfPieces(pieces)
    let size = raw.length + Buffer.byteLength(pieces.text) + Buffer.byteLength(pieces.html)
    for (const { bytes } of pieces.files) size += bytes.length
    const verdict = authentication === 'off' ? {} : { verdict: UNVERIFIABLE }
    return { ...place, ...verdict, size, raw, mail: mailOfPieces(pieces) }
  }
  const { raw } = delivered
  const size = raw.length
  if (size <= maxSize) return { ...place, size, raw, mail: await parseMail(raw) }
  const head = raw.subarray(0, readHead(raw.subarray(0, MAX_HEAD)).body)
  const parts = [{ name: 'mail.eml', type: 'message/rfc822', content: raw }]
  const unreadable = `It has ${size} bytes; max-size is ${maxSize}. It is attached as mail.eml.`
  const { html: _, ...mail } = await parseMail(head)
  return { ...place, size, raw: head, mail: { ...mail, text: '', parts, unreadable } }
}
