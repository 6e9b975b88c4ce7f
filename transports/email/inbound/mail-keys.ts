import { hash } from 'node:crypto'
import type { Accepted } from '../../../src/core/message.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Mail } from './parse.ts'

/**
 * What mails are deduplicated by. The key is the Message-ID, and the content where there is none. Some devices and
 * programs write the same Message-ID into each of their mails: a mail with a known one and another Date is another
 * mail, and gets a key of its own. Nothing else tells them apart: lists change Subject and From of one and the same
 * mail, and every server adds to its headers. Without a Date, or where the Date of the first is not known any more,
 * it is the same mail.
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

export function createMailKeys({ kv, gateway }: { kv: KeyValues; gateway: string }): MailKeys {
  const dateKey = (key: string) => `email/${gateway}/date/${hash('sha256', key, 'base64url').slice(0, 22)}`

  /** True where the key is known to be of a mail with another Date. */
  const isOfAnother = async (key: string, date: number) => {
    const first = (await kv.get(dateKey(key)))?.value
    return typeof first === 'number' && first !== UNKNOWN && first !== date
  }

  return {
    async seen({ date }, key, known) {
      const ownKey = keyWithDate(key, date)
      if (known.has(keyHash(ownKey))) return ownKey
      if (!known.has(keyHash(key))) return undefined
      return date !== undefined && (await isOfAnother(key, date)) ? undefined : key
    },

    async accept({ date }, key, accept) {
      if (date === undefined) return { key, accepted: await accept(key) }
      const accepting = accept(key)
      const noting = kv.set(dateKey(key), date, { ttl: KEEP, ifVersion: 0 })
      const [accepted, noted] = await Promise.all([accepting, noting])
      const isNew = noted !== undefined
      if (accepted.duplicate === isNew) {
        // A key that is older than the note, or a note that is older than the key.
        await kv.set(dateKey(key), isNew ? UNKNOWN : date, { ttl: KEEP })
        return { key, accepted }
      }
      if (!accepted.duplicate || !(await isOfAnother(key, date))) return { key, accepted }
      const ownKey = keyWithDate(key, date)
      return { key: ownKey, accepted: await accept(ownKey) }
    },
  }
}

function keyWithDate(key: string, date: number | undefined): string {
  return date === undefined ? key : `${key}#${date}`
}

/** Keys are remembered by this, so that the memory stays small whatever senders put into a Message-ID. */
export function keyHash(key: string): string {
  return hash('sha256', key, 'base64url').slice(0, 12)
}
