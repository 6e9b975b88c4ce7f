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

/** The record of a run, which the assertions in `promises.ts` check. */
export type CrashRun = Awaited<ReturnType<typeof runOn>>

export type CrashOptions = {
  store: StoreKind
  random: Random
  /** How long clients send and things crash, in ms. */
  duration: number
  daemons?: number
  shards?: number
  /** Share of network faults, between clients and daemons and between daemons and Redis. */
  network?: number
  /** Maximum ms between two crashes, and duration of a network fault. */
  pace?: number
}

/** Minimum number of messages of a run. */
const MIN_MESSAGES = 20
/** Timeout for a busy machine (ms). */
const PATIENCE = 600_000
/** Ms within which a daemon returns messages whose delivery failed, after its Redis is back. */
const RETURN_TIME = 3_000

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

/**
 * Adds a byte to a file per attempt, so that a message can fail a given number of times, and a line
 * on success.
 */
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

/** Runs clients and readers while processes are killed, and waits until every road is empty. */
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
  // Only the first error is reported.
  for (const work of [clients, readers]) work.catch(() => {})

  const crashes = await crashFor(stage, { random: random.fork(), duration, daemons, pace, network })
  // A busy machine may have sent few messages.
  await until(() => promised.length > MIN_MESSAGES, 'enough messages', PATIENCE)
  loadIsOver = true
  const ended = performance.now()
  const waiting = () => JSON.stringify(Array.from(waits, ([name, what]) => [name, what()]))
  await within(clients, PATIENCE, () => `the clients: ${waiting()}`)
  await untilDrained(stage, PATIENCE)
  const drainedIn = performance.now() - ended
  isRead = true
  await within(readers, PATIENCE, 'the readers')

  return {
    crashes,
    daemons,
    shards,
    /**
     * Ms by which events of several shards may be out of order. Unlimited if shards can be
     * unreachable.
     */
    tolerance: shards === 1 ? 0 : stage.relays.length > 0 ? Number.POSITIVE_INFINITY : 1_000,
    promised,
    complaints,
    /** Message ids in the order of their successful dispatches. */
    dispatched: readFileSync(join(stage.site.dir, 'dispatched'), 'utf8').split('\n').slice(0, -1),
    /** Messages of the takers with leases, and of the one without. */
    taken,
    plain,
    groups,
    /** Ids of all messages in the journal, in the order of the ids. */
    journal: await allMessages(stage),
    deadLetters: idsOf((await stage.invoke('dead-letter-list', { limit: 1000 })).result),
    /** From the end of the load until every road was empty, in ms. */
    drainedIn,
    output: stage.output(),
  }
}

/**
 * Kills a daemon, redis-server, or both, with pauses, until the time is up. `network` is the share
 * of network faults instead. `both` counts daemons that died together with their Redis or its
 * connection, or soon after it.
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
      if (performance.now() - lastRedis < RETURN_TIME) crashes.both += 1
    }
    await Promise.all(crashing)
    // Redis is back now.
    if (stage.redis && draw < 0.5) lastRedis = performance.now()
  }
  return crashes
}

/** Resolves when every road is empty. After `ms`, throws an error with the status. */
async function untilDrained(stage: Stage, ms: number): Promise<void> {
  let status: unknown
  const check = async () => {
    status = await stage
      .daemon()
      .then((daemon) => daemon.get('/v1/status'))
      .catch((error: unknown) => error)
    return isDrained(status)
  }
  await until(check, 'empty roads', ms).catch((error: Error) => {
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
  return Object.values(Object(list)).map((item) => String(Object(item).id))
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
