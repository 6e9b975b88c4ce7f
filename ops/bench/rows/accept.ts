import { type Bench, type Contender, interleave, type Line, type Row, type StoreName } from '../lib/bench.ts'
import { comparison } from '../lib/comparison.ts'
import { createProject, startDaemon } from '../lib/daemon.ts'
import type { OtherCommit } from '../lib/other-commit.ts'
import { CORE, cpuMicros, type Figures, type Peer, startPeer } from '../lib/peer.ts'
import { redisWork } from '../lib/redis-info.ts'
import { ALL_TO_BENCH, BUSY_SKILL, NO_OP_SKILL } from '../lib/skills.ts'
import { ratio, spread } from '../lib/statistics.ts'

/**
 * Signed 1 KB webhooks, accepted onto three roads, compared with a bare server and with what a user
 * would write instead. All runs of the route are busy meanwhile, as with skills that wait for a
 * model, so that only accepting is measured; `accept+dispatch` includes the work that follows.
 */
export const accept: Row = {
  name: 'accept',
  title: 'signed 1 KB webhook accepted onto three roads',
  run: (bench) => run(bench, 'accept', BUSY_SKILL),
}

/** The same as `accept`, while every message is also dispatched to a skill that does nothing. */
export const acceptAndDispatch: Row = {
  name: 'accept+dispatch',
  title: 'the same while each message is dispatched to a no-op skill',
  run: (bench) => run(bench, 'accept+dispatch', NO_OP_SKILL),
}

async function run(bench: Bench, row: string, source: string): Promise<Line[]> {
  const load = await startPeer('http-load', CORE.load)
  bench.defer(load.end)
  const bare = await server(bench, load, 'bare-http', 'bare node:http', undefined)
  const contenders = [bare]
  for (const store of bench.stores) {
    const redis = await bench.redis(store)
    contenders.push(await trivium(bench, load, store, redis, source))
    if (bench.against) {
      const otherRedis = await bench.redis(store, 'against')
      contenders.push(await trivium(bench, load, `${store}, other`, otherRedis, source, bench.against))
    }
    if (row !== 'accept' || bench.against) continue
    if (redis === undefined) {
      contenders.push(await server(bench, load, 'http-sqlite', 'HTTP + SQLite', undefined))
      continue
    }
    contenders.push(await server(bench, load, 'express-bullmq', `Express + BullMQ, ${store}`, redis))
    contenders.push(await server(bench, load, 'http-xadd', `HTTP + XADD, ${store}`, redis))
  }
  const rounds = await interleave(bench, contenders)
  return bench.stores.flatMap((store) => lines(row, store, bench, rounds))
}

function lines(row: string, store: StoreName, bench: Bench, rounds: (name: string) => Figures[]): Line[] {
  const mine = rounds(store)
  const bare = rounds('bare node:http')
  // The embedded store is compared with the alternatives on Redis with everysec, as most people run
  // it.
  const redis = store === 'embedded' ? bench.stores.find((name) => name !== 'embedded') : store
  const line = (figure: string, unit: string, value: Line['value'], target?: Line['target']): Line => ({
    row,
    store,
    figure,
    unit,
    value,
    ...(target ? { target } : {}),
  })
  if (bench.against) {
    return [
      ...comparison({ row, store }, bench.against.name, mine, rounds(`${store}, other`)),
      line('rate / bare node:http', 'x', ratio(mine, bare, 'rate')),
      line('processor time a message', 'µs', spread(mine, 'cpu')),
    ]
  }
  const least = store === 'embedded' ? 0.5 : 0.45
  const isAccept = row === 'accept'
  const ratesToAlternatives: Line[] = []
  if (isAccept && redis !== undefined) {
    const express = ratio(mine, rounds(`Express + BullMQ, ${redis}`), 'rate')
    const xadd = ratio(mine, rounds(`HTTP + XADD, ${redis}`), 'rate')
    ratesToAlternatives.push(
      line(`rate / Express + BullMQ add, ${redis}`, 'x', express, { least: 2 }),
      line(`rate / HTTP + XADD, ${redis}`, 'x', xadd),
    )
  }
  if (isAccept && store === 'embedded') {
    const sqlite = ratio(mine, rounds('HTTP + SQLite'), 'rate')
    ratesToAlternatives.push(line('rate / HTTP + SQLite', 'x', sqlite))
  }
  const result = [
    line('rate / bare node:http', 'x', ratio(mine, bare, 'rate'), isAccept ? { least } : undefined),
    ...ratesToAlternatives,
    line('p99 / bare p99', 'x', ratio(mine, bare, 'p99'), isAccept ? { most: 2.5 } : undefined),
    line('rate', 'msg/s', spread(mine, 'rate')),
    line('p99', 'ms', spread(mine, 'p99')),
    line('processor time a message', 'µs', spread(mine, 'cpu')),
    line('processor time a message, bare', 'µs', spread(bare, 'cpu')),
  ]
  if (store === 'embedded') return result
  return [
    ...result,
    line('processor time a message, Redis', 'µs', spread(mine, 'redisCpu')),
    line('bytes a message, to Redis and back', 'B', spread(mine, 'redisBytes')),
  ]
}

async function trivium(
  bench: Bench,
  load: Peer,
  name: string,
  redis: string | undefined,
  source: string,
  commit?: OtherCommit,
): Promise<Contender> {
  const dir = createProject(bench, { routes: ALL_TO_BENCH, skills: { bench: source } })
  const daemon = await startDaemon(dir, redis, commit?.root)
  bench.defer(daemon.stop)
  return contender(load, name, daemon.pid, daemon.port, redis)
}

async function server(
  bench: Bench,
  load: Peer,
  peer: string,
  name: string,
  redis: string | undefined,
): Promise<Contender> {
  const started = await startPeer(peer, CORE.server, redis === undefined ? {} : { env: { REDIS_URL: redis } })
  bench.defer(started.end)
  const { port = 0 } = await started.call('listen')
  return contender(load, name, started.pid, port)
}

function contender(load: Peer, name: string, pid: number, port: number, redis?: string): Contender {
  return {
    name,
    async measure(seconds) {
      const before = cpuMicros(pid)
      const redisBefore = redis === undefined ? undefined : await redisWork(redis)
      const figures = await load.call('run', { port, path: '/hooks/github', seconds })
      const { total = 1 } = figures
      const cpu = (cpuMicros(pid) - before) / total
      if (redis === undefined || !redisBefore) return { ...figures, cpu }
      const { redisCpu, redisIn, redisOut } = await redisWork(redis)
      return {
        ...figures,
        cpu,
        redisCpu: (redisCpu - redisBefore.redisCpu) / total,
        redisBytes: (redisIn + redisOut - redisBefore.redisIn - redisBefore.redisOut) / total,
      }
    },
  }
}
