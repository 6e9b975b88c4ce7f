import { z } from 'zod'
import { askedBySchema } from '../../core/asked-by.ts'
import type { KeyValues } from '../../core/store.ts'
import { replySchema } from '../../core/transport.ts'
import { updateKv } from '../../core/update-kv.ts'

/**
 * States of a planned send. `sent`: it is in the outbox. `unsent`: it was due, but the outbox did
 * not accept it.
 */
const laterStates = ['waiting', 'sending', 'sent', 'unsent', 'cancelled'] as const

const sendingSchema = replySchema.pick({
  ...{ key: true, text: true, subject: true, attachments: true, data: true, by: true, moreTo: true },
  ...{ cc: true, bcc: true, replyAll: true, calendar: true },
})

/**
 * A planned send, kept for a week after its end. A compare-and-set from `waiting` to `sending` or
 * `cancelled` decides between the two. A `sending` one is added to the outbox, again after a crash,
 * where its key counts once.
 */
const laterSchema = z.object({
  state: z.enum(laterStates),
  /** Unix ms. */
  at: z.number(),
  created: z.number(),
  /** The owner, as of a note. */
  owner: z.string(),
  gateway: z.string(),
  /** The message to answer. Absent: the send goes to `to`. */
  message: askedBySchema.exactOptional(),
  to: z.string().exactOptional(),
  sending: sendingSchema,
  /** The run that adds it to the outbox. After a crash, another run takes its place. */
  run: z.string().exactOptional(),
})
export type Later = z.infer<typeof laterSchema>

/** Reserves the chosen key of an immediate send, so that no planned send can use it. */
const claimSchema = z.object({ state: z.literal('now'), at: z.number() })
/** The owner of a key: the first send that used it, immediate or planned. */
export type Holder = Later | z.infer<typeof claimSchema>
const holderSchema = z.union([laterSchema, claimSchema])

const RECORD = 'send-later:'
/** Prefix of index entries, which sort by due time. */
const DUE = 'send-due:'
const WEEK = 7 * 86_400_000

const dueKey = ({ at, sending: { key } }: Later) => `${DUE}${String(at).padStart(15, '0')}:${key}`

/** Planned sends in the store. */
export function createLaterRecords(kv: KeyValues) {
  const holder = async (key: string): Promise<Holder | undefined> =>
    holderSchema.safeParse((await kv.get(RECORD + key))?.value).data
  const find = async (key: string): Promise<Later | undefined> => {
    const found = await holder(key)
    return found?.state === 'now' ? undefined : found
  }

  return {
    find,
    holder,
    /** Reserves a key for an immediate send. If a planned send has the key, returns that instead. */
    async claim(key: string, at: number): Promise<Later | undefined> {
      let found: Holder | undefined
      await updateKv(kv, RECORD + key, (current) => {
        found = holderSchema.safeParse(current).data
        return found ? undefined : { value: { state: 'now', at }, ttl: WEEK }
      })
      return found?.state === 'now' ? undefined : found
    },
    /**
     * False if the key exists. The index entry is written before the record, so that the send is
     * found when due even after a crash in between.
     */
    async add(later: Later): Promise<boolean> {
      const name = dueKey(later)
      await kv.set(name, later.sending.key)
      const isNew = (await kv.set(RECORD + later.sending.key, later, { ifVersion: 0 })) !== undefined
      if (isNew) await kv.set(name, later.sending.key)
      else if ((await find(later.sending.key))?.at !== later.at) await kv.delete(name)
      return isNew
    },
    /**
     * Changes the state if the current one is in `may`. Returns the resulting state; undefined if
     * there is no such send.
     */
    async move(key: string, may: readonly Later['state'][], state: Later['state']) {
      let found: Later | undefined
      await updateKv(kv, RECORD + key, (current) => {
        found = laterSchema.safeParse(current).data
        if (!found || !may.includes(found.state)) return undefined
        found = { ...found, state }
        return state === 'sending' ? { value: found } : { value: found, ttl: WEEK }
      })
      return found
    },
    /** Starts a run that adds it to the outbox. `isFirst`: there was no earlier run. */
    async begin(key: string, run: string): Promise<{ later: Later; isFirst: boolean } | undefined> {
      let begun: { later: Later; isFirst: boolean } | undefined
      await updateKv(kv, RECORD + key, (current) => {
        const found = laterSchema.safeParse(current).data
        begun = undefined
        if (found?.state !== 'waiting' && found?.state !== 'sending') return undefined
        begun = { later: { ...found, state: 'sending', run }, isFirst: found.state === 'waiting' }
        return { value: begun.later }
      })
      return begun
    },
    /** Ends a run whose send the outbox rejected. False: another run has started, and decides. */
    async unsent(key: string, run: string): Promise<boolean> {
      let isMine = false
      await updateKv(kv, RECORD + key, (current) => {
        const found = laterSchema.safeParse(current).data
        isMine = found?.state === 'sending' && found.run === run
        return found && isMine ? { value: { ...found, state: 'unsent' }, ttl: WEEK } : undefined
      })
      return isMine
    },
    /** The first index entries, by due time. */
    async due(limit: number): Promise<{ name: string; at: number; key: string }[]> {
      return (await kv.list(DUE, limit)).map((name) => {
        const [, at, key = ''] = /^send-due:(\d+):(.*)$/s.exec(name) ?? []
        return { name, at: Number(at), key }
      })
    },
    /** Removes an index entry once nothing is left to do. */
    forget: (name: string) => kv.delete(name),
    forgetDue: (later: Later) => kv.delete(dueKey(later)),
  }
}
