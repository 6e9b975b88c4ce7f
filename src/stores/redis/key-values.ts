import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { isNothing, listOf, numberOf, textOf } from './reply.ts'
import type { Server } from './scripts.ts'

export function createKeyValues({ run, roots: { kv } }: Server): KeyValues {
  return {
    get: async (key) => {
      const reply = await run('kv', kv, 'get', key)
      if (isNothing(reply)) return undefined
      const [version, text] = listOf(reply)
      const value: Json = JSON.parse(textOf(text))
      return { value, version: numberOf(version) }
    },
    set: async (key, value, { ttl, ifVersion } = {}) => {
      const reply = await run('kv', kv, 'set', key, JSON.stringify(value), ttl ?? '', ifVersion ?? '')
      return isNothing(reply) ? undefined : numberOf(reply)
    },
    delete: async (key) => numberOf(await run('kv', kv, 'delete', key)) === 1,
    list: async (prefix, limit) => listOf(await run('kv', kv, 'list', prefix, limit)).map(textOf),
  }
}
