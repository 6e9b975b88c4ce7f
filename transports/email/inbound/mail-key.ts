import { hash } from 'node:crypto'
import { z } from 'zod'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'
import { header } from '../mime/head.ts'
import type { Incoming } from './incoming.ts'

/** Longer than stores keep keys, so that the first mail of every known key can be compared. */
const FIRST_TTL_MS = 8 * DAY
/**
 * The Date (Unix ms), the hash of the content, and the sender of the first mail with a Message-ID.
 */
const firstSchema = z.tuple([z.number(), z.string(), z.string()])

/**
 * The deduplication key of a mail: the Message-ID, or the content if there is none. Some devices,
 * and forgers, use the same id for each mail. A mail with the same id, but another text and another
 * Date or sender, gets its own key. One difference is not enough: mailing lists change Subject,
 * From and text, and a resent mail may have a new date.
 */
export async function keyOf(
  { mail, raw, source, id }: Incoming,
  { kv, gateway }: Pick<TransportDeps, 'kv' | 'gateway'>,
): Promise<string> {
  if (!mail.messageId) return id ? `${source}:${id}` : `sha256:${hash('sha256', raw)}`
  const key = `mid:${mail.messageId}`
  const { date = 0 } = mail
  const from = mail.from[0]?.address ?? ''
  const firstKey = `email/${gateway}/date/${hash('sha256', key, 'base64url').slice(0, 22)}`
  const text = hash('sha256', mail.text || mail.html || '', 'base64url').slice(0, 12)
  if (await kv.set(firstKey, [date, text, from], { ttl: FIRST_TTL_MS, ifVersion: 0 })) return key
  const first = firstSchema.safeParse((await kv.get(firstKey))?.value).data
  if (!first) return key
  const [firstDate, firstText, firstFrom] = first
  if (firstText === text) return key
  const isOtherSender = firstFrom !== from && header(mail, 'list-id') === undefined
  if (isOtherSender) return `${key}#${date} ${from}`
  return firstDate === date ? key : `${key}#${date}`
}
