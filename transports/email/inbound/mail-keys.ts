import { hash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'
import { header, type Mail } from './parse.ts'

/** Longer than a store knows a key, so that the Date of a key that it knows is known as well. */
const KEEP = 8 * 86_400_000
/** The Date of the first mail with a Message-ID (Unix ms), what it says, and who wrote it. */
const firstSchema = z.tuple([z.number(), z.string(), z.string()])

/**
 * Gives the key that a mail is deduplicated by: the Message-ID, and the content where there is none. Some devices write
 * the same id into each of their mails, and so may a forger: one with another text, and another Date or sender, gets a
 * key of its own. Less tells nothing: lists change Subject, From and text, and who sends again may date anew.
 */
export function createMailKeys({ kv, gateway }: { kv: KeyValues; gateway: string }) {
  return async (mail: Mail, raw: Buffer): Promise<string> => {
    if (!mail.messageId) return `sha256:${hash('sha256', raw)}`
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
}
