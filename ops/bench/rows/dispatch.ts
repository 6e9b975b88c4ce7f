import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type Bench, type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { comparison } from '../lib/comparison.ts'
import { createProject, fillStore, startDaemon } from '../lib/daemon.ts'
import type { OtherCommit } from '../lib/other-commit.ts'
import { CORE, startPeer } from '../lib/peer.ts'
import { redisWork } from '../lib/redis-info.ts'
import { ALL_TO_BENCH, skillSource } from '../lib/skills.ts'
import { ratio, spread } from '../lib/statistics.ts'

const BARE = 'bare BullMQ worker'
const MESSAGES_PER_SECOND = 5_000
const DISPATCH_TIMEOUT_MS = 120_000
/**
 * Messages before those that count. Each round has a new daemon, whose code V8 has not optimised
 * yet; the BullMQ worker keeps its process.
 */
const WARM_UP = 10_000

/**
 * How fast a backlog is dispatched to a skill that does nothing: pump, match, lane, invocation,
 * history. Compared with a BullMQ worker that processes as many jobs; both run 64 at a time.
 */
export const dispatch: Row = {
  name: 'dispatch',
  title: 'dispatch of a no-op skill end to end, against a bare BullMQ worker',
  async run(bench) {
    const count = Math.round(bench.seconds * MESSAGES_PER_SECOND)
    const contenders: Contender[] = []
    for (const store of bench.stores) {
      const redis = await bench.redis(store)
      contenders.push(await trivium(bench, store, redis, count))
      if (bench.against) {
        const otherRedis = await bench.redis(store, 'against')
        contenders.push(await trivium(bench, `${store}, other`, otherRedis, count, bench.against))
        continue
      }
      if (redis === undefined) continue
      const worker = await startPeer('bullmq-worker', CORE.server, { env: { REDIS_URL: redis } })
      bench.defer(worker.end)
      contenders.push({ name: `${BARE}, ${store}`, measure: () => worker.call('drain', { count }) })
    }
    const rounds = await interleave(bench, contenders)
    return bench.stores.flatMap((store): Line[] => {
      const line = { row: 'dispatch', store }
      const mine = rounds(store)
      const redis = store === 'embedded' ? bench.stores.find((name) => name !== 'embedded') : store
      const absolute: Line[] = [
        { ...line, figure: 'rate', unit: 'msg/s', value: spread(mine, 'rate') },
        { ...line, figure: 'processor time a message', unit: 'µs', value: spread(mine, 'cpu') },
      ]
      if (store !== 'embedded') {
        const value = spread(mine, 'redisCpu')
        absolute.push({ ...line, figure: 'processor time a message, Redis', unit: 'µs', value })
      }
      if (bench.against) {
        return [...comparison(line, bench.against.name, mine, rounds(`${store}, other`)), ...absolute]
      }
      if (redis === undefined) return absolute
      const value = ratio(mine, rounds(`${BARE}, ${redis}`), 'rate')
      const target = { least: store === 'embedded' ? 0.9 : 0.7 }
      return [{ ...line, figure: `rate / ${BARE}, ${redis}`, unit: 'x', value, target }, ...absolute]
    })
  },
}

const figuresSchema = z.object({ rate: z.number(), cpu: z.number() })

async function trivium(
  bench: Bench,
  name: string,
  redis: string | undefined,
  count: number,
  commit?: OtherCommit,
): Promise<Contender> {
  const dir = createProject(bench, { routes: ALL_TO_BENCH, skills: { bench: countingSkill(count) } })
  const result = join(dir, 'drained.json')
  return {
    name,
    // Each round has a new process, because another client fills the store before it starts.
    async measure() {
      rmSync(result, { force: true })
      await fillStore(join(dir, '.trivium'), redis, WARM_UP + count, commit?.root)
      const before = redis === undefined ? undefined : await redisWork(redis)
      const daemon = await startDaemon(dir, redis, commit?.root)
      const deadline = Date.now() + DISPATCH_TIMEOUT_MS
      while (!existsSync(result)) {
        if (Date.now() > deadline) throw new Error('the backlog was not dispatched within two minutes')
        await pause(20)
      }
      await daemon.stop()
      const figures = figuresSchema.parse(JSON.parse(readFileSync(result, 'utf8')))
      if (redis === undefined || !before) return figures
      const { redisCpu } = await redisWork(redis)
      return { ...figures, redisCpu: (redisCpu - before.redisCpu) / (WARM_UP + count) }
    },
  }
}

/**
 * A skill that writes the rate and processor time of the `count` runs after the warm-up to a file.
 */
function countingSkill(count: number): string {
  return skillSource(
    `run() {
      done++
      if (done === ${WARM_UP}) [start, cpuAtStart] = [performance.now(), process.cpuUsage()]
      if (done !== ${WARM_UP + count}) return
      const rate = ${count} / ((performance.now() - start) / 1000)
      const { user, system } = process.cpuUsage(cpuAtStart)
      const cpu = (user + system) / ${count}
      writeFileSync('drained.tmp', JSON.stringify({ rate, cpu }))
      renameSync('drained.tmp', 'drained.json')
    }`,
    `import { renameSync, writeFileSync } from 'node:fs'\nlet done = 0, start = 0, cpuAtStart`,
  )
}
