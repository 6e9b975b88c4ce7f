import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Log } from '../../../src/core/log.ts'
import type { Store } from '../../../src/core/store.ts'
import { openStore } from '../../../src/daemon/open-store.ts'
import { sampleMessage } from '../lib/sample-message.ts'
import { servePeer } from '../lib/serve-peer.ts'

// A process that works on a store directly, without a daemon.
const silent: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (fields) => console.error(fields),
  child: () => silent,
}
let store: Store | undefined

const openSchema = z.object({ dir: z.string(), redis: z.string().optional() })
const fillSchema = z.object({ count: z.number(), batch: z.number().default(256) })
const takeSchema = z.object({ count: z.number(), parallel: z.number().default(32) })

servePeer(
  {
    async open(params) {
      const { dir, redis } = openSchema.parse(params)
      const daemon = {
        dataDir: dir,
        redisPrefix: 'trivium',
        redis: { replicas: 0 },
        ...(redis === undefined ? {} : { redisUrl: redis }),
      }
      store = await openStore(daemon, { log: silent })
      return {}
    },

    /** Accepts messages, some calls at once as a busy daemon makes them; `micros` is the cost of one. */
    async fill(params) {
      const { count, batch } = fillSchema.parse(params)
      const { journal } = opened()
      const began = performance.now()
      for (let done = 0; done < count; done += batch) {
        const size = Math.min(batch, count - done)
        await journal.accept(Array.from({ length: size }, () => sampleMessage(randomUUID())))
      }
      return { micros: ((performance.now() - began) * 1000) / Math.max(1, count) }
    },

    /** Takes and acknowledges messages, several takers at once. */
    async takeAndAck(params) {
      const { count, parallel } = takeSchema.parse(params)
      const { receive } = opened()
      const began = performance.now()
      let left = count
      const taker = async () => {
        while (left-- > 0) {
          const taken = await receive.take({}, 30_000)
          if (!taken?.receipt) throw new Error('the queue is empty')
          await receive.ack(taken.receipt)
        }
      }
      await Promise.all(Array.from({ length: parallel }, taker))
      const seconds = (performance.now() - began) / 1000
      return { rate: count / seconds, micros: (seconds * 1e6) / count }
    },
  },
  () => store?.close(),
)

function opened(): Store {
  if (!store) throw new Error('call open first')
  return store
}
