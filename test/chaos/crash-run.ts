import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import { inTime } from '../../src/lib/pause.ts'
import { until } from '../fixtures/until.ts'
import { type Promised, runChatClient, runWebhookClient } from './clients.ts'
import { networkFaults } from './network-faults.ts'
import type { Random } from './random.ts'
import {
  type Mode,
  type Reading,
  runGroupReader,
  runLeaseTaker,
  runPlainTaker,
  type TakenMessage,
} from './readers.ts'
import { createStage, type Stage, type StoreKind } from './stage.ts'

/** Everything that happened, for the promises in `promises.ts` to be held against. */
export type CrashRun = Awaited<ReturnType<typeof runOn>>

export type CrashOptions = {
  store: StoreKind
  random: Random
  /** How long clients send and things crash, in ms. */
  duration: number
  daemons?: number
  shards?: number
  /** This share of the faults is of the network: between clients and daemons, and between daemons and their Redis. */
  network?: number
  /** Ms between two crashes, and for which the network is away, at most. */
  pace?: number
}

const LEAST = 20
/** How long a busy machine may take, in ms. */
const PATIENCE = 600_000
/** Ms in which a daemon gives back what it took, after its Redis is back; that may take `downFor` and a pause between attempts to connect. */
const GIVES_BACK = 3_000

const routesOf = (shards: number) => `
redis: { shards: ${shards} }
gateways:
  orders: { transport: webhook, path: /hooks/orders, verify: { scheme: none }, conversation: data.body.conversation }
  single: { transport: webhook, path: /hooks/single, verify: { scheme: none } }
  chat:   { transport: websocket, path: /ws }
routes:
  - name: poison
    match: { transport: webhook, data.body.poison: "true" }
    skill: record
    retry: { attempts: 2, delay: 20ms }
    args: { hopeless: true }
  - name: rest
    skill: record
    retry: { attempts: 50, delay: 20ms, backoff: fixed }
`

/** Each attempt leaves a byte behind, so that a message can fail as often as it asks for; success leaves a line. */
const RECORD = `
import { appendFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
export default {
  description: 'records what is dispatched',
  async run({ args, message, signal }) {
    const { failures, slow } = message.transport === 'websocket' ? message.data : message.data.body
    const attempts = 'attempts/' + message.id
    appendFileSync(attempts, '.')
    if (args.hopeless) throw new Error('this message is poison')
    if (statSync(attempts).size <= failures) throw new Error('not yet')
    if (slow > 0) await pause(slow, undefined, { signal })
    appendFileSync('dispatched', message.id + '\\n')
    return 'done ' + message.text.slice(0, 20)
  },
}`

/** Lets clients send and readers read while processes die, and waits until every road is drained. */
export async function runCrashes(options: CrashOptions) {
  const { store, daemons = 1, shards = 1, network = 0 } = options
  const skills = { record: RECORD }
  const stage = await createStage({
    store,
    routes: routesOf(shards),
    skills,
    daemons,
    isRelayed: network > 0,
  })
  stage.site.write('attempts/.keep', '')
  stage.site.write('dispatched', '')
  try {
    return await runOn(stage, options)
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${stage.output().slice(-8_000)}`, {
      cause: error,
    })
  } finally {
    await stage.close()
  }
}

async function runOn(stage: Stage, options: CrashOptions) {
  const { random, duration, daemons = 1, shards = 1, pace = 1_000, network = 0 } = options
  const promised: Promised[] = []
  const complaints: string[] = []
  const taken: TakenMessage[] = []
  const plain = emptyReading()
  const groups: Record<Mode, Reading> = {
    peek: emptyReading(),
    lease: emptyReading(),
    consume: emptyReading(),
  }
  let loadIsOver = false
  let isRead = false
  const modes = ['peek', 'lease', 'consume'] as const
  for (const queue of modes) await stage.invoke('event-subscribe', { topic: MESSAGE_TOPIC, queue })

  const waits = new Map<string, () => unknown>()
  const client = (name: string) => {
    const load = { isOver: () => loadIsOver }
    return { stage, waits, name, load, random: random.fork(), promised, complaints }
  }
  const clients = Promise.all([
    runWebhookClient({ ...client('alice'), gateway: 'orders' }),
    runWebhookClient({ ...client('bob'), gateway: 'orders' }),
    runWebhookClient({ ...client('carol'), gateway: 'single' }),
    runChatClient(client('dave')),
    runChatClient(client('erin')),
  ])
  const reader = { stage, isOver: () => isRead }
  const readers = Promise.all([
    runLeaseTaker(reader, 'orders', taken),
    runLeaseTaker(reader, 'orders', taken),
    runLeaseTaker(reader, 'chat', taken),
    runPlainTaker(reader, 'single', plain),
    ...modes.map((mode) => runGroupReader(reader, mode, groups[mode])),
    runGroupReader(reader, 'lease', groups.lease),
  ])
  // What failed first is told; that these then find nobody is no news.
  for (const rest of [clients, readers]) rest.catch(() => {})

  const crashes = await crashFor(stage, { random: random.fork(), duration, daemons, pace, network })
  // A busy machine may have sent few until now.
  await until(() => promised.length > LEAST, 'messages worth looking at', PATIENCE)
  loadIsOver = true
  const ended = performance.now()
  const waiting = () => JSON.stringify(Array.from(waits, ([name, what]) => [name, what()]))
  await within(clients, PATIENCE, () => `clients that have what they were promised: ${waiting()}`)
  await drained(stage, PATIENCE)
  const drainedIn = performance.now() - ended
  isRead = true
  await within(readers, PATIENCE, 'readers that have ended')

  return {
    crashes,
    daemons,
    shards,
    /** Ms by which what is told of several shards may be out of order; one that is away is left out. */
    tolerance: shards === 1 ? 0 : stage.relays.length > 0 ? Number.POSITIVE_INFINITY : 1_000,
    promised,
    complaints,
    /** Message ids in the order of their successful dispatches. */
    dispatched: readFileSync(join(stage.site.dir, 'dispatched'), 'utf8').split('\n').slice(0, -1),
    /** What the takers with leases got, and the one without. */
    taken,
    plain,
    groups,
    /** Ids of all messages that the journal holds. */
    journal: await allMessages(stage),
    deadLetters: idsOf((await stage.invoke('dead-letter-list', { limit: 1000 })).result),
    /** From the end of the load until every road was drained, in ms. */
    drainedIn,
    output: stage.output(),
  }
}

/**
 * Kills a daemon, or redis-server where there is one, or both at once, until the time is up; things run a while between.
 * `network` is the share of faults of the network instead. `both` counts the daemons that died with
 * their Redis or the way to it, or too soon after it.
 */
async function crashFor(
  stage: Stage,
  { random, duration, daemons, pace, network }: Omit<Required<CrashOptions>, 'store' | 'shards'>,
) {
  const crashes = { daemon: 0, redis: 0, both: 0, clients: 0, network: 0 }
  const deadline = performance.now() + duration
  const toClients = stage.relays.flatMap((relay) => Object.values(networkFaults(() => relay, random, pace)))
  const { relay } = stage.redis ?? {}
  const toRedis = relay ? Object.values(networkFaults(() => relay, random, pace)) : []
  const networks = [...toClients, ...toRedis]
  let lastRedis = Number.NEGATIVE_INFINITY
  while (performance.now() < deadline) {
    await pause(random.between(pace / 10, pace))
    const fault = networks[random.between(0, networks.length - 1)]
    if (fault && random.chance(network)) {
      const isRedis = toRedis.includes(fault)
      await fault()
      crashes[isRedis ? 'network' : 'clients'] += 1
      if (isRedis) lastRedis = performance.now()
      continue
    }
    const draw = random.next()
    const crashing: Promise<void>[] = []
    if (stage.redis && draw < 0.5) {
      crashing.push(stage.crashRedis(random.between(0, 500)))
      crashes.redis += 1
      lastRedis = performance.now()
    }
    if (!stage.redis || draw > 0.35) {
      crashing.push(stage.crashDaemon(random.between(0, daemons - 1)))
      crashes.daemon += 1
      if (performance.now() - lastRedis < GIVES_BACK) crashes.both += 1
    }
    await Promise.all(crashing)
    // From here on it is there.
    if (stage.redis && draw < 0.5) lastRedis = performance.now()
  }
  return crashes
}

/** Resolves when nothing waits on any road; throws after `ms`, with what does. */
async function drained(stage: Stage, ms: number): Promise<void> {
  let status: unknown
  const look = async () => {
    status = await stage
      .daemon()
      .then((daemon) => daemon.get('/v1/status'))
      .catch((error: unknown) => error)
    return isDrained(status)
  }
  await until(look, 'roads that are drained', ms).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(Object(status).result ?? String(status))}`)
  })
}

function isDrained(status: unknown): boolean {
  const { stats, groups } = Object(Object(status).result)
  if (!stats) return false
  const jobs = Object.values(stats.jobs).map((queue) => Object(queue))
  const lags = Object.values(groups).map((group) => Object(group))
  return (
    stats.dispatch.unpumped === 0 &&
    stats.receive.ready + stats.receive.leased === 0 &&
    jobs.every(({ waiting, running }) => waiting + running === 0) &&
    lags.every(({ lag, pending }) => lag + pending === 0)
  )
}

async function allMessages(stage: Stage): Promise<string[]> {
  const all: string[] = []
  for (;;) {
    const before = all.at(-1)
    const args = { limit: 500, ...(before === undefined ? {} : { before }) }
    const page = idsOf((await stage.invoke('message-list', args)).result)
    if (page.length === 0) return all.reverse()
    all.push(...page)
  }
}

function idsOf(list: unknown): string[] {
  return Object.values(Object(list)).map((one) => String(Object(one).id))
}

function emptyReading(): Reading {
  return { seen: [], cuts: 0, seenAfterAck: [] }
}

async function within<T>(work: Promise<T>, ms: number, what: string | (() => string)): Promise<void> {
  assert.ok(
    await inTime(
      work.then(() => true),
      AbortSignal.timeout(ms),
    ),
    `waited ${ms} ms in vain for: ${typeof what === 'string' ? what : what()}`,
  )
}
