import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { type CallJournal, type CallRecord, isUnfinished } from './ledger.ts'

const DAY = 86_400_000
const PREFIX = 'call:'
const ATTEMPTS = 20

/**
 * Calls on the message store, for all daemons that share it. `keep` (ms, default 7 days) is how long a call is
 * remembered; `by` names this daemon in the records.
 */
export function createStoreCallJournal(options: {
  kv: KeyValues
  by: string
  keep?: number
  now?: () => number
}): CallJournal {
  const { kv, by, keep = 7 * DAY } = options
  const now = options.now ?? Date.now
  const time = () => new Date(now()).toISOString()
  const write = (record: CallRecord, ifVersion?: number) =>
    kv.set(`${PREFIX}${record.key}`, record, { ttl: keep, ...(ifVersion === undefined ? {} : { ifVersion }) })

  return {
    async begin(key) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const found = await kv.get(`${PREFIX}${key}`)
        if (found && isRecord(found.value) && found.value.state !== 'failed') return found.value
        const started: CallRecord = { key, state: 'started', time: time(), by }
        if ((await write(started, found?.version ?? 0)) !== undefined) return undefined
      }
      throw new TriviumError('state_conflict', { what: `call ${key}` })
    },
    async end(key, outcome) {
      await write({ key, time: time(), by, ...outcome })
    },
    async get(key) {
      const found = await kv.get(`${PREFIX}${key}`)
      return found && isRecord(found.value) ? found.value : undefined
    },
    async unfinished() {
      const records: CallRecord[] = []
      for (const key of await kv.list(PREFIX, Number.MAX_SAFE_INTEGER)) {
        const value = (await kv.get(key))?.value ?? null
        if (isRecord(value) && isUnfinished(value)) records.push(value)
      }
      return records.sort((a, b) => (a.time < b.time ? -1 : 1))
    },
    close: async () => {},
  }
}

function isRecord(value: Json): value is Json & CallRecord {
  return isJsonObject(value) && typeof value.key === 'string' && typeof value.state === 'string'
}
