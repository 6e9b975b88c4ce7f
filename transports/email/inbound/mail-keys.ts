import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Accepted } from '../../../src/core/message.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Mail } from './parse.ts'

/**
 * What mails are deduplicated by. The key is the Message-ID, and the content where there is none. Some devices and
 * programs write the same Message-ID into each of their mails: a mail with a known one, another Date and another text is
 * another mail, and gets a key of its own. Nothing less tells them apart: lists change Subject, From and text of one and
 * the same mail, every server adds to its headers, and who sends a mail again may date it anew. Without a Date, or where
 * that of the first is not known any more, it is the same mail.
 */
export type MailKeys = {
  /** The key under which the mail was dealt with before, by the hashes of keys in `known`; undefined: never. */
  seen(mail: Mail, key: string, known: ReadonlySet<string>): Promise<string | undefined>
  /**
   * Accepts the mail under `key`, or under one of its own where that belongs to another mail. The first call of
   * `accept` is made at once, so that the caller keeps the order of mails.
   */
  accept(
    mail: Mail,
    key: string,
    accept: (key: string) => Promise<Accepted>,
  ): Promise<{ key: string; accepted: Accepted }>
}

/** An hour less than a store knows a key, so that no Date outlives the key that it belongs to. */
const KEEP = 7 * 86_400_000 - 3_600_000
/** Some mail with this Message-ID was here before its Date was kept. */
const UNKNOWN = 0
/** The Date of the first mail with a Message-ID (Unix ms), and what it says. */
const firstSchema = z.tuple([z.number(), z.string()])

export function createMailKeys({ kv, gateway }: { kv: KeyValues; gateway: string }): MailKeys {
  const dateKey = (key: string) => `email/${gateway}/date/${hash('sha256', key, 'base64url').slice(0, 22)}`

  /** True where the key is known to be of a mail with another Date and another text. */
  const isOfAnother = async (key: string, date: number, mail: Mail) => {
    const first = firstSchema.safeParse((await kv.get(dateKey(key)))?.value).data
    return first !== undefined && first[0] !== date && first[1] !== textHash(mail)
  }

  return {
    async seen(mail, key, known) {
      // Nearly always: only a renumbered folder is looked through again.
      if (known.size === 0) return undefined
      const { date } = mail
      const ownKey = keyWithDate(key, date)
      if (known.has(keyHash(ownKey))) return ownKey
      if (!known.has(keyHash(key))) return undefined
      return date !== undefined && (await isOfAnother(key, date, mail)) ? undefined : key
    },

    async accept(mail, key, accept) {
      const { date } = mail
      if (date === undefined) return { key, accepted: await accept(key) }
      const accepting = accept(key)
      const note = [date, textHash(mail)]
      const noting = kv.set(dateKey(key), note, { ttl: KEEP, ifVersion: 0 })
      const [accepted, noted] = await Promise.all([accepting, noting])
      const isNew = noted !== undefined
      if (accepted.duplicate === isNew) {
        // A key that is older than the note, or a note that is older than the key.
        await kv.set(dateKey(key), isNew ? UNKNOWN : note, { ttl: KEEP })
        return { key, accepted }
      }
      if (!accepted.duplicate || !(await isOfAnother(key, date, mail))) return { key, accepted }
      const ownKey = keyWithDate(key, date)
      return { key: ownKey, accepted: await accept(ownKey) }
    },
  }
}

function keyWithDate(key: string, date: number | undefined): string {
  return date === undefined ? key : `${key}#${date}`
}

function textHash({ text, html }: Mail): string {
  return hash('sha256', text || html || '', 'base64url').slice(0, 12)
}

/** Keys are remembered by this, so that the memory stays small whatever senders put into a Message-ID. */
export function keyHash(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, 12)
}
