import { z } from 'zod'
import { askedBySchema } from '../../core/asked-by.ts'
import { type Json, pathGet, toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createRecordReader } from '../../core/record-reader.ts'
import type { KeyValues, Page } from '../../core/store.ts'
import { replySchema } from '../../core/transport.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'

/**
 * States of a planned send. `sent`: it is in the outbox. `unsent`: the outbox did not accept it.
 */
const states = ['waiting', 'sending', 'sent', 'unsent', 'cancelled'] as const

const sendingSchema = replySchema.pick({
  key: true,
  text: true,
  subject: true,
  attachments: true,
  data: true,
  by: true,
  moreTo: true,
  cc: true,
  bcc: true,
  replyAll: true,
  calendar: true,
})

/**
 * A planned send, kept for a week after its end. A compare-and-set changes `waiting` to either
 * `sending` or `cancelled`, never both. In the state `sending` it is being added to the outbox, and
 * after a crash again: the outbox accepts its key only once.
 */
const plannedSendSchema = z.object({
  state: z.enum(states),
  /** When it is due (Unix ms). */
  at: z.number(),
  /** When it was planned (Unix ms). */
  created: z.number(),
  /** The caller that planned it, in the form of `viewerOf`. */
  owner: z.string(),
  gateway: z.string(),
  /** The message to answer. Absent: the send goes to `to`. */
  message: askedBySchema.exactOptional(),
  to: z.string().exactOptional(),
  sending: sendingSchema,
  /** Id of the run that adds it to the outbox. After a crash, another run takes its place. */
  run: z.string().exactOptional(),
})
export type PlannedSend = z.infer<typeof plannedSendSchema>

/** The record of an immediate send with a chosen key, so that no planned send can use the key. */
const claimSchema = z.object({ state: z.literal('now'), at: z.number() })
/** The owner of a key: the first send that used it, immediate or planned. */
export type Holder = PlannedSend | z.infer<typeof claimSchema>
const holderSchema = z.union([plannedSendSchema, claimSchema])

/** Prefix of records; the key of the send follows. */
const RECORD = 'send-later:'
/** Prefix of index entries, which sort by due time. */
const DUE = 'send-due:'
const WEEK = 7 * DAY

/** An index entry. `at`: Unix ms. */
type DueEntry = { indexKey: string; at: number; key: string }

const dueKey = ({ at, sending: { key } }: PlannedSend) => `${DUE}${String(at).padStart(15, '0')}:${key}`

/**
 * Planned sends in the store. A send that this version cannot read stays as it is: a newer version
 * has planned it.
 */
export function createPlannedSends(kv: KeyValues, log: Pick<Log, 'warn'>) {
  const holders = createRecordReader('planned sends', holderSchema, log)
  const holder = async (key: string): Promise<Holder | undefined> =>
    holders.read(RECORD + key, (await kv.get(RECORD + key))?.value)
  const find = async (key: string): Promise<PlannedSend | undefined> => {
    const found = await holder(key)
    return found?.state === 'now' ? undefined : found
  }

  return {
    find,
    holder,
    /**
     * Reserves a key for an immediate send. Returns the planned send that already has it, if any.
     * Throws `state_corrupt` if the key has an unreadable send.
     */
    async reserve(key: string, at: number): Promise<PlannedSend | undefined> {
      let found: Holder | undefined
      await updateKv(kv, RECORD + key, (current) => {
        found = current === undefined ? undefined : holders.require(`planned send ${key}`, current)
        return found ? undefined : { value: { state: 'now', at }, ttl: WEEK }
      })
      return found?.state === 'now' ? undefined : found
    },
    /**
     * Stores a new send. Returns false if the key exists. The index entry is written before the
     * record, so that the send is found when due even after a crash in between.
     */
    async add(planned: PlannedSend): Promise<boolean> {
      const { key } = planned.sending
      const indexKey = dueKey(planned)
      await kv.set(indexKey, key)
      const isNew = (await kv.set(RECORD + key, planned, { ifVersion: 0 })) !== undefined
      // Written again: a round may have found the first entry without its record, and deleted it.
      if (isNew) await kv.set(indexKey, key)
      else if (pathGet((await kv.get(RECORD + key))?.value, 'at') !== planned.at) await kv.delete(indexKey)
      return isNew
    },
    /**
     * Changes the state if the current one is in `from`. Returns the send with its resulting state;
     * undefined if there is none.
     */
    async move(key: string, from: readonly PlannedSend['state'][], state: PlannedSend['state']) {
      let found: PlannedSend | undefined
      await updateKv(kv, RECORD + key, (current) => {
        found = plannedSendSchema.safeParse(current).data
        if (!found || !from.includes(found.state)) return undefined
        found = { ...found, state }
        const value = changed(current, { state })
        return state === 'sending' ? { value } : { value, ttl: WEEK }
      })
      return found
    },
    ...createRuns(kv),
    ...createDueIndex(kv),
  }
}

/** The stored record with another state. Fields of a newer version stay. */
const changed = (stored: Json | undefined, to: Partial<Pick<PlannedSend, 'state' | 'run'>>) =>
  toJson({ ...Object(stored), ...to })

/** The runs that add planned sends to the outbox. */
function createRuns(kv: KeyValues) {
  return {
    /**
     * Starts a run that adds the send of an index entry to the outbox. `isFirst`: there was no
     * earlier run. Undefined if there is nothing left to add, or if the entry has another time than
     * the send: a crash in `add` can leave such an entry.
     */
    async begin(
      { indexKey, key }: DueEntry,
      run: string,
    ): Promise<{ planned: PlannedSend; isFirst: boolean } | undefined> {
      let begun: { planned: PlannedSend; isFirst: boolean } | undefined
      await updateKv(kv, RECORD + key, (current) => {
        const found = plannedSendSchema.safeParse(current).data
        begun = undefined
        if (found?.state !== 'waiting' && found?.state !== 'sending') return undefined
        if (dueKey(found) !== indexKey) return undefined
        begun = { planned: { ...found, state: 'sending', run }, isFirst: found.state === 'waiting' }
        return { value: changed(current, { state: 'sending', run }) }
      })
      return begun
    },
    /**
     * Whether the send of an index entry exists, but is unreadable: another version may send it.
     */
    async isUnreadable(key: string): Promise<boolean> {
      const entry = await kv.get(RECORD + key)
      return entry !== undefined && !holderSchema.safeParse(entry.value).success
    },
    /** Ends a run whose send the outbox rejected. Returns false if a later run decides instead. */
    async unsent(key: string, run: string): Promise<boolean> {
      let isMine = false
      await updateKv(kv, RECORD + key, (current) => {
        const found = plannedSendSchema.safeParse(current).data
        isMine = found?.state === 'sending' && found.run === run
        return isMine ? { value: changed(current, { state: 'unsent' }), ttl: WEEK } : undefined
      })
      return isMine
    },
  }
}

/** The index of planned sends by due time. */
function createDueIndex(kv: KeyValues) {
  return {
    /** The first entries after an index key. */
    async due(limit: number, after?: string): Promise<Page<DueEntry>> {
      const { items, more } = await kv.list(DUE, limit, after)
      const found = items.map((indexKey) => {
        const [, at, key = ''] = /^send-due:(\d+):(.*)$/s.exec(indexKey) ?? []
        return { indexKey, at: Number(at), key }
      })
      return { items: found, more }
    },
    /** Removes an entry once nothing is left to do. */
    forget: (indexKey: string) => kv.delete(indexKey),
    /** Writes the entry of a waiting send again. */
    restore: (planned: PlannedSend) => kv.set(dueKey(planned), planned.sending.key),
    forgetDue: (planned: PlannedSend) => kv.delete(dueKey(planned)),
  }
}
