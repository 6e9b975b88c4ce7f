import { hash } from 'node:crypto'
import { z } from 'zod'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { header } from '../mime/head.ts'
import type { Incoming } from './incoming.ts'

/** Longer than stores keep keys, so that the Date of every known key is available. */
const KEEP = 8 * 86_400_000
/** The Date (Unix ms), content and sender of the first mail with a Message-ID. */
const firstSchema = z.tuple([z.number(), z.string(), z.string()])

/**
 * The deduplication key of a mail: the Message-ID, or the content if there is none. Some devices, and
 * forgers, use the same id for each mail. A mail with the same id, but another text and another Date or
 * sender, gets its own key. Less is not enough: mailing lists change Subject, From and text, and a resend may
 * have a new date.
 */
export async function keyOf(
  { mail, raw, source, id }: Incoming,
  { kv, gateway }: Pick<TransportDeps, 'kv' | 'gateway'>,
): Promise<string> {
  if (!mail.messageId) return id ? `${source}:${id}` : `sha256:${hash('sha256', raw)}`
  const key = `mid:${mail.messageId}`
  const { date = 0 } = mail
  const from = mail.from[0]?.address ?? ''
  const note = `email/${gateway}/date/${hash('sha256', key, 'base64url').slice(0, 22)}`
  const text = hash('sha256', mail.text || mail.html || '', 'base64url').slice(0, 12)
  if (await kv.set(note, [date, text, from], { ttl: KEEP, ifVersion: 0 })) return key
  const first = firstSchema.safeParse((await kv.get(note))?.value).data
  if (!first || first[1] === text) return key
  const isOther = first[2] !== from && header(mail, 'list-id') === undefined
  return isOther ? `${key}#${date} ${from}` : first[0] === date ? key : `${key}#${date}`
}
