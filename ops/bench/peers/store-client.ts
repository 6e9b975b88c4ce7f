// A process that uses a store directly, without a daemon.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Log } from '../../../src/core/log.ts'
import type { Store } from '../../../src/core/store.ts'
import { openStore } from '../../../src/daemon/open-store.ts'
import { sampleMessage } from '../lib/sample-message.ts'
import { servePeer } from '../lib/serve-peer.ts'

const onlyErrors: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (fields) => console.error(fields),
  child: () => onlyErrors,
}
let store: Store | undefined

/** How long a taken message is reserved for its taker. */
const LEASE_MS = 30_000

const openSchema = z.object({ dir: z.string(), redis: z.string().optional() })
const fillSchema = z.object({ count: z.number(), batch: z.number().default(256) })
const takeSchema = z.object({ count: z.number(), parallel: z.number().default(32) })

servePeer(
  {
    async open(params) {
      const { dir, redis } = openSchema.parse(params)
      const settings = {
        dataDir: dir,
        redisPrefix: 'trivium',
        redis: { replicas: 0 },
        ...(redis === undefined ? {} : { redisUrl: redis }),
      }
      store = await openStore(settings, { log: onlyErrors })
      return {}
    },

    /** Accepts messages in batches, as a busy daemon does; `micros` is the cost of one message. */
    async fill(params) {
      const { count, batch } = fillSchema.parse(params)
      const { journal } = opened()
      const start = performance.now()
      for (let done = 0; done < count; done += batch) {
        const size = Math.min(batch, count - done)
        await journal.accept(Array.from({ length: size }, () => sampleMessage(randomUUID())))
      }
      return { micros: ((performance.now() - start) * 1000) / Math.max(1, count) }
    },

    /**
     * Takes and acknowledges messages with `parallel` takers; `micros` is the cost of one message.
     */
    async takeAndAck(params) {
      const { count, parallel } = takeSchema.parse(params)
      const { receive } = opened()
      const start = performance.now()
      let remaining = count
      const taker = async () => {
        while (remaining-- > 0) {
          const message = await receive.take({}, LEASE_MS)
          if (!message?.receipt) throw new Error('the queue is empty')
          await receive.ack(message.receipt)
        }
      }
      await Promise.all(Array.from({ length: parallel }, taker))
      const seconds = (performance.now() - start) / 1000
      return { rate: count / seconds, micros: (seconds * 1e6) / count }
    },
  },
  () => store?.close(),
)

function opened(): Store {
  if (!store) throw new Error('call open first')
  return store
}
