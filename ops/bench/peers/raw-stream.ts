import { Redis } from 'ioredis'
import { z } from 'zod'
import { githubBody } from '../lib/github-webhook.ts'
import { redisOptions } from '../lib/redis-options.ts'
import { servePeer } from '../lib/serve-peer.ts'

// The yardstick of the receive road: a consumer group on a bare stream.
const redis = new Redis(redisOptions())
const schema = z.object({ count: z.number(), parallel: z.number().default(32) })

servePeer(
  {
    async fill(params) {
      const { count } = schema.parse(params)
      const body = githubBody()
      await redis.xgroup('CREATE', 'raw', 'takers', '$', 'MKSTREAM').catch(() => 'there already')
      for (let done = 0; done < count; done += 500) {
        const pipeline = redis.pipeline()
        for (let i = done; i < Math.min(count, done + 500); i++) pipeline.xadd('raw', '*', 'body', body)
        await pipeline.exec()
      }
      return {}
    },

    /** XREADGROUP of one entry, then XACK, several takers at once on one connection. */
    async takeAndAck(params) {
      const { count, parallel } = schema.parse(params)
      const began = performance.now()
      let left = count
      const taker = async (_: unknown, index: number) => {
        while (left-- > 0) {
          const reply = await redis.xreadgroup(
            'GROUP',
            'takers',
            `t${index}`,
            'COUNT',
            1,
            'STREAMS',
            'raw',
            '>',
          )
          const id = idOf(reply)
          if (id === undefined) throw new Error('the stream is empty')
          await redis.xack('raw', 'takers', id)
        }
      }
      await Promise.all(Array.from({ length: parallel }, taker))
      return { rate: count / ((performance.now() - began) / 1000) }
    },
  },
  () => redis.disconnect(),
)

const replySchema = z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), z.array(z.string())]))]))

function idOf(reply: unknown): string | undefined {
  return replySchema.parse(reply ?? [])[0]?.[1][0]?.[0]
}
