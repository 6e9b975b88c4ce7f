import { hash } from 'node:crypto'
import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Mail } from './parse.ts'

/** Longer than a store knows a key, so that the Date of a key that it knows is known as well. */
const KEEP = 8 * 86_400_000
/** The Date of the first mail with a Message-ID (Unix ms), and what it says. */
const firstSchema = z.tuple([z.number(), z.string()])

/**
 * Gives the key that a mail is deduplicated by: the Message-ID, and the content where there is none. Some devices and
 * programs write the same Message-ID into each of their mails: a mail with a known one, another Date and another text is
 * another mail, and gets a key of its own. Nothing less tells them apart: lists change Subject, From and text of one and
 * the same mail, every server adds to its headers, and who sends a mail again may date it anew.
 */
export function createMailKeys({ kv, gateway }: { kv: KeyValues; gateway: string }) {
  return async (mail: Mail, raw: Buffer): Promise<string> => {
    if (!mail.messageId) return `sha256:${hash('sha256', raw)}`
    const key = `mid:${mail.messageId}`
    const { date } = mail
    if (date === undefined) return key
    const note = `email/${gateway}/date/${hash('sha256', key, 'base64url').slice(0, 22)}`
    const text = hash('sha256', mail.text || mail.html || '', 'base64url').slice(0, 12)
    if (await kv.set(note, [date, text], { ttl: KEEP, ifVersion: 0 })) return key
    const first = firstSchema.safeParse((await kv.get(note))?.value).data
    return first && first[0] !== date && first[1] !== text ? `${key}#${date}` : key
  }
}
