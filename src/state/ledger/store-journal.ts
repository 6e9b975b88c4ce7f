import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { type CallJournal, type CallRecord, KEEP_CALLS } from './ledger.ts'

const PREFIX = 'call:'
const ATTEMPTS = 20

/** Calls on the message store, for all daemons that share it. */
export function createStoreCallJournal(kv: KeyValues): CallJournal {
  const read = async (key: string): Promise<{ record: CallRecord | undefined; version: number }> => {
    const found = await kv.get(key)
    const record = found && isRecord(found.value) ? found.value : undefined
    return { record, version: found?.version ?? 0 }
  }

  return {
    async swap(key, work) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const { record, version } = await read(`${PREFIX}${key}`)
        const next = work(record)
        const options = { ttl: KEEP_CALLS, ifVersion: version }
        if (!next || (await kv.set(`${PREFIX}${key}`, next, options)) !== undefined) return record
      }
      throw new TriviumError('state_conflict', { what: `call ${key}` })
    },
    async all() {
      const keys = await kv.list(PREFIX, Number.MAX_SAFE_INTEGER)
      const found = await Promise.all(keys.map(read))
      return found.map(({ record }) => record).filter((record) => record !== undefined)
    },
    close: async () => {},
  }
}

function isRecord(value: Json): value is Json & CallRecord {
  return isJsonObject(value) && typeof value.key === 'string' && typeof value.state === 'string'
}
