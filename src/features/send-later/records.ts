import { z } from 'zod'
import { askedBySchema } from '../../core/asked-by.ts'
import type { KeyValues } from '../../core/store.ts'
import { replySchema } from '../../core/transport.ts'
import { updateKv } from '../../core/update-kv.ts'

/** Where a planned send may stand. `sent`: it is in the outbox. `unsent`: it was due, and the outbox did not take it. */
const laterStates = ['waiting', 'sending', 'sent', 'unsent', 'cancelled'] as const

const sendingSchema = replySchema.pick({
  ...{ key: true, text: true, subject: true, attachments: true, data: true, by: true, moreTo: true },
  ...{ cc: true, bcc: true, replyAll: true, calendar: true },
})

/**
 * A send that waits, and for a week what became of it. `waiting` becomes `sending` or `cancelled` by compare-and-set, which
 * decides between the two; what is `sending` is put into the outbox, again after a crash, where its key counts once.
 */
const laterSchema = z.object({
  state: z.enum(laterStates),
  /** Unix ms. */
  at: z.number(),
  created: z.number(),
  /** Whose it is, as of a note. */
  owner: z.string(),
  gateway: z.string(),
  /** What is answered; else `to`. */
  message: askedBySchema.exactOptional(),
  to: z.string().exactOptional(),
  sending: sendingSchema,
  /** The run that puts it into the outbox; another one takes its place after a crash. */
  run: z.string().exactOptional(),
})
export type Later = z.infer<typeof laterSchema>

/** An immediate send with a chosen key takes that key here, so that no planned send has it too. */
const claimSchema = z.object({ state: z.literal('now'), at: z.number() })
/** What has a key: the first that took it, immediate or planned. */
export type Holder = Later | z.infer<typeof claimSchema>
const holderSchema = z.union([laterSchema, claimSchema])

const RECORD = 'send-later:'
/** Names sorted by when they are due. */
const DUE = 'send-due:'
const WEEK = 7 * 86_400_000

const dueKey = ({ at, sending: { key } }: Later) => `${DUE}${String(at).padStart(15, '0')}:${key}`

/** What waits to be sent, on the store. */
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
    /** Takes a key for an immediate send; returns the planned send that has it, which then stands. */
    async claim(key: string, at: number): Promise<Later | undefined> {
      let found: Holder | undefined
      await updateKv(kv, RECORD + key, (current) => {
        found = holderSchema.safeParse(current).data
        return found ? undefined : { value: { state: 'now', at }, ttl: WEEK }
      })
      return found?.state === 'now' ? undefined : found
    },
    /** False: the key is there already. Found when it is due, whenever this was cut off: the name comes before the record. */
    async add(later: Later): Promise<boolean> {
      const name = dueKey(later)
      await kv.set(name, later.sending.key)
      const isNew = (await kv.set(RECORD + later.sending.key, later, { ifVersion: 0 })) !== undefined
      if (isNew) await kv.set(name, later.sending.key)
      else if ((await find(later.sending.key))?.at !== later.at) await kv.delete(name)
      return isNew
    },
    /** Moves it on where `may` its state; returns the state that it has then, undefined where there is none. */
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
    /** Lets a run put it into the outbox. `isFirst`: no other run began before. */
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
    /** Ends a run whose send the outbox did not take. False: another run has begun, and decides. */
    async unsent(key: string, run: string): Promise<boolean> {
      let isMine = false
      await updateKv(kv, RECORD + key, (current) => {
        const found = laterSchema.safeParse(current).data
        isMine = found?.state === 'sending' && found.run === run
        return found && isMine ? { value: { ...found, state: 'unsent' }, ttl: WEEK } : undefined
      })
      return isMine
    },
    /** The first names by when they are due. */
    async due(limit: number): Promise<{ name: string; at: number; key: string }[]> {
      return (await kv.list(DUE, limit)).map((name) => {
        const [, at, key = ''] = /^send-due:(\d+):(.*)$/s.exec(name) ?? []
        return { name, at: Number(at), key }
      })
    },
    /** Forgets a name once nothing is left to do. */
    forget: (name: string) => kv.delete(name),
    forgetDue: (later: Later) => kv.delete(dueKey(later)),
  }
}
