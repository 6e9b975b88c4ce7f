import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { toJson } from '../../core/json.ts'
import type { CallbackService } from '../../core/services.ts'
import type { Skill } from '../../core/skill.ts'
import type { Store } from '../../core/store.ts'
import { formatDuration } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../bounded.ts'

/** One invocation, until its caller has the answer or has given up. `until`: of a caller that died nothing stays after it. */
const invocation = z.object({
  args: z.json(),
  until: z.number(),
  taken: z.boolean(),
  answer: z.object({ ok: z.boolean(), result: z.json() }).exactOptional(),
})

/** What the store keeps of a callback, in one value, so that each step is atomic. Times are Unix ms. */
const callbackRecord = z.object({
  timeout: z.number(),
  expiresAt: z.number(),
  rootId: z.string(),
  released: z.boolean(),
  calls: z.record(z.string(), invocation).default({}),
})

type CallbackRecord = z.infer<typeof callbackRecord>

const callbackKey = (ref: string) => `callback:${ref}`
const rootKey = (rootId: string, ref: string) => `callback-root:${rootId}:${ref}`

/** A released ref is told from an unknown one for that long. */
const TOMBSTONE = 3_600_000
/** An invocation outlives its caller's patience by that. */
const LEFTOVER = 60_000

/** Callbacks on the message store: whoever holds a ref invokes it, whoever waits on it answers, in any process. */
export function createCallbackService(deps: { store: Pick<Store, 'kv' | 'onSignal'>; now: () => number }) {
  const { now } = deps
  const { kv, onSignal } = deps.store

  /** Changes a callback; where `work` returns undefined, nothing is written, and one that was released is an error. */
  const change = async <T>(ref: string, work: (record: CallbackRecord) => T | undefined) => {
    let outcome: T | undefined
    await updateKv(kv, callbackKey(ref), (value) => {
      if (value === undefined) throw new TriviumError('callback_not_found', { ref })
      const record = callbackRecord.parse(value)
      outcome = work(record)
      if (outcome === undefined && record.released) throw new TriviumError('callback_released', { ref })
      const calls = Object.fromEntries(Object.entries(record.calls).filter(([, { until }]) => until > now()))
      const left = record.released ? TOMBSTONE : Math.max(1, record.expiresAt - now())
      return outcome === undefined ? undefined : { value: { ...record, calls }, ttl: left }
    })
    return outcome
  }

  /** Changes a callback as soon as that is possible; undefined after `timeout` ms. */
  const changeLater = async <T>(
    ref: string,
    work: (record: CallbackRecord) => T | undefined,
    { what, ...waiting }: { what: string; timeout: number; signal: AbortSignal },
  ): Promise<T | undefined> => {
    let retryAt = 0
    const changed = await waitFor({
      attempt: async () => {
        const value = await change(ref, (record) => {
          retryAt = record.expiresAt
          return work(record)
        })
        return value === undefined ? { retryAt } : { value }
      },
      watch: (wake) => onSignal(`kv:${callbackKey(ref)}`, wake),
      ...waiting,
    })
    if (changed === undefined && waiting.signal.aborted) throw abortError(waiting.signal, `${what} ${ref}`)
    return changed
  }

  return {
    async create({ label, timeout, ttl }, { rootId }) {
      for (;;) {
        const ref = `${label}-${randomBytes(4).toString('hex')}`
        const record: CallbackRecord = { timeout, expiresAt: now() + ttl, released: false, rootId, calls: {} }
        const made = await kv.set(callbackKey(ref), record, { ttl, ifVersion: 0 })
        if (made === undefined) continue
        await kv.set(rootKey(rootId, ref), ref, { ttl })
        return { ref }
      }
    },

    async wait({ ref, timeout }, { signal }) {
      const take = ({ calls }: CallbackRecord) => {
        const [id, call] = Object.entries(calls).find(([, { taken }]) => !taken) ?? []
        if (id === undefined || !call) return undefined
        call.taken = true
        return { id, args: call.args }
      }
      return (await changeLater(ref, take, { what: 'Waiting on', timeout, signal })) ?? null
    },

    async respond({ ref, id, result = null, error }) {
      const answered = await change(ref, ({ calls }) => {
        const call = Object.hasOwn(calls, id) ? calls[id] : undefined
        if (!call?.taken || call.answer) return undefined
        call.answer = { ok: error === undefined, result: error ?? result }
        return true
      })
      return { ok: answered ?? false }
    },

    async release({ ref }) {
      const released = await change(ref, (record) => {
        if (record.released) return undefined
        // Who answered before has answered.
        const answered = Object.entries(record.calls).filter(([, { answer }]) => answer)
        return Object.assign(record, { released: true, calls: Object.fromEntries(answered) })
      }).catch(unlessGone)
      if (released) await kv.delete(rootKey(released.rootId, ref))
      return { ok: released !== undefined }
    },

    async list(rootId) {
      const prefix = rootKey(rootId, '')
      return (await kv.list(prefix, 1000)).map((key) => key.slice(prefix.length))
    },

    async invoke(ref, args, signal) {
      const id = randomUUID()
      let timeout = 0
      await change(ref, (record) => {
        timeout = record.timeout
        if (record.released) return undefined
        record.calls[id] = { args, until: now() + timeout + LEFTOVER, taken: false }
        return true
      })
      try {
        const waiting = { what: 'Invoking', timeout, signal }
        const answer = await changeLater(ref, ({ calls }) => calls[id]?.answer, waiting)
        if (!answer) throw new TriviumError('callback_timeout', { ref, timeout: formatDuration(timeout) })
        if (answer.ok) return answer.result
        throw new TriviumError('callback_failed', { ref, reason: reasonOf(answer.result) })
      } finally {
        await change(ref, ({ calls }) => delete calls[id]).catch(unlessGone)
      }
    },
  } satisfies CallbackService
}

function unlessGone(error: unknown): undefined {
  if (!(error instanceof TriviumError && error.code.startsWith('callback_'))) throw error
}

const REF = /^[a-z0-9][a-z0-9-]*-[0-9a-f]{8}$/

/** True for a name that has the form of a callback ref: `{label}-{8 hex digits}`. */
export function isCallbackName(name: string): boolean {
  return REF.test(name)
}

/** A callback as a skill, so that a ref is invoked like any other. */
export function callbackSkill(ref: string): Skill {
  return {
    name: ref,
    description: `Callback ${ref}`,
    args: z.json(),
    run: (ctx) => ctx.services.callbacks.invoke(ref, toJson(ctx.args), ctx.signal),
  }
}
