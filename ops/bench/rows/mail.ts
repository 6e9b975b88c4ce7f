import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import {
  type Bench,
  type Contender,
  interleave,
  type Line,
  type Row,
  type StoreName,
  storesWithOneRedis,
} from '../lib/bench.ts'
import { type BenchDaemon, createProject, startDaemon, writeRoutes } from '../lib/daemon.ts'
import { CORE, cpuMicros, type Peer, residentMegabytes, startPeer } from '../lib/peer.ts'
import { ALL_TO_BENCH, BUSY_SKILL } from '../lib/skills.ts'
import { percentile, ratio, spread, spreadOf } from '../lib/statistics.ts'

/**
 * Three durations with a real Dovecot:
 *
 * - Backlog: from the reload that adds the gateway until the last mail is accepted. It is compared
 *   with a bare imapflow client that fetches the same mails with one command.
 * - IDLE: from the server's announcement of a mail until a waiter has the event.
 * - Take-over: from the death of the reading daemon until another one has accepted the next mail.
 */
export const mail: Row = {
  name: 'mail',
  title: 'reading 20,000 mails (quick: 2,000) compared with a bare imapflow fetch; IDLE to event; take-over',
  async run(bench) {
    const count = bench.quick ? 2_000 : 20_000
    const server = await startPeer('mail-server', CORE.load)
    bench.defer(server.end)
    const client = await startPeer('mail-client', CORE.server)
    bench.defer(client.end)
    // The relay in front of Dovecot records when a mail is announced.
    const { imap = 0, relay = 0 } = await server.call('ports')
    bench.progress(`filling the mailbox with ${count.toLocaleString('en')} mails`)
    await server.call('fill', { count })
    const stores = storesWithOneRedis(bench)
    const bare = { name: 'bare', measure: () => client.call('fetch', { port: imap, count }) }
    const readers = stores.map((store) => backlogReader(bench, store, imap, count))
    const rounds = await interleave(bench, [bare, ...readers])
    const lines: Line[] = []
    for (const store of stores) {
      const mine = rounds(store)
      const line = { row: 'mail', store }
      const limited = (figure: string, most: number) => ({ ...line, figure, target: { most } })
      const latencies = await idleLatencies(bench, store, server, relay)
      lines.push(
        { ...limited('time / bare fetch', 1.5), unit: 'x', value: ratio(mine, rounds('bare'), 'duration') },
        { ...line, figure: 'time', unit: 's', value: spread(mine, 'duration') },
        { ...line, figure: 'processor time a mail', unit: 'µs', value: spread(mine, 'cpu') },
        { ...limited('resident at most', 200), unit: 'MB', value: spread(mine, 'resident') },
        { ...line, figure: 'IDLE to event, p50', unit: 'ms', value: spreadOf([percentile(latencies, 50)]) },
        { ...limited('IDLE to event, p99', 50), unit: 'ms', value: spreadOf([percentile(latencies, 99)]) },
      )
      if (store === 'embedded') continue
      const takeOvers = spreadOf(await takeOverTimes(bench, store, server, imap))
      lines.push({ ...limited('take-over', 8), unit: 's', value: takeOvers })
    }
    return lines
  },
}

/** The gateway for the mailbox. */
const mailbox = (port: number, since: string) => `  mail:
    transport: email
    address: support@example.com
    imap: { host: 127.0.0.1, port: ${port}, tls: none, user: support@example.com, pass: secret-of-dovecot }
    smtp: { host: 127.0.0.1, port: 1, tls: none }
    authentication: 'off'
    since: ${since}
`

/** Starts a daemon without a mailbox. Daemons with the same purpose share a Redis. */
async function startReader(bench: Bench, store: StoreName, purpose: string): Promise<BenchDaemon> {
  const dir = createProject(bench, { routes: ALL_TO_BENCH, skills: { bench: BUSY_SKILL } })
  const daemon = await startDaemon(dir, await bench.redis(store, purpose))
  bench.defer(daemon.stop)
  return daemon
}

/** Adds the mailbox to a running daemon. */
function addMailbox(daemon: BenchDaemon, port: number, since: string): void {
  writeRoutes(daemon.dir, ALL_TO_BENCH, mailbox(port, since))
  process.kill(daemon.pid, 'SIGHUP')
}

/** How long (ms) to wait until a daemon surely reads its new mailbox. */
const SETTLE_MS = 2000

const newestSchema = z.array(z.object({ data: z.object({ uid: z.int() }) }))

async function newestUid(daemon: BenchDaemon): Promise<number> {
  const [newest] = newestSchema.parse(await daemon.invoke('message-list', { gateway: 'mail', limit: 1 }))
  return newest?.data.uid ?? 0
}

let readings = 0

/** Measures reading the whole mailbox with a new daemon. */
function backlogReader(bench: Bench, store: StoreName, port: number, count: number): Contender {
  return {
    name: store,
    async measure() {
      const daemon = await startReader(bench, store, `backlog ${readings++}`)
      const before = { cpu: cpuMicros(daemon.pid), at: performance.now() }
      addMailbox(daemon, port, 'all')
      while ((await newestUid(daemon)) < count) await pause(100)
      const duration = (performance.now() - before.at) / 1000
      const cpu = (cpuMicros(daemon.pid) - before.cpu) / count
      const resident = residentMegabytes(daemon.pid, 'VmHWM')
      await daemon.stop()
      return { duration, cpu, resident }
    },
  }
}

/**
 * Latencies (ms) from the announcement of a mail until its event, sorted. One mail after the other,
 * because Dovecot announces new mails only every half second.
 */
async function idleLatencies(bench: Bench, store: StoreName, server: Peer, port: number): Promise<number[]> {
  const mails = bench.quick ? 20 : 200
  const daemon = await startReader(bench, store, 'idle')
  const wait = (timeout = 30_000) =>
    daemon.invoke('event-wait', { topic: 'gateway-message', queue: 'bench', timeout })
  await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'bench' })
  addMailbox(daemon, port, 'now')
  await pause(SETTLE_MS)
  const latencies: number[] = []
  for (let number = 1; number <= mails; number++) {
    bench.progress(`${store}, IDLE: mail ${number}/${mails}`)
    const waiting = wait()
    await server.call('deliver')
    await waiting
    const { at = 0 } = await server.call('announcedAt')
    latencies.push(Date.now() - at)
  }
  await daemon.stop()
  return latencies.sort((a, b) => a - b)
}

/**
 * Seconds from the death of the reading daemon until another one has accepted a mail that came
 * meanwhile.
 */
async function takeOverTimes(bench: Bench, store: StoreName, server: Peer, port: number): Promise<number[]> {
  const first = await startReader(bench, store, 'take-over')
  addMailbox(first, port, 'now')
  await pause(SETTLE_MS)
  const seconds: number[] = []
  let reader = first
  const nextMail = async (daemon: BenchDaemon) => {
    const { uid = 0 } = await server.call('deliver')
    while ((await newestUid(daemon)) < uid) await pause(20)
  }
  for (let round = 0; round < bench.rounds; round++) {
    bench.progress(`${store}, take-over ${round + 1}/${bench.rounds}`)
    const next = await startReader(bench, store, 'take-over')
    addMailbox(next, port, 'now')
    await pause(SETTLE_MS)
    process.kill(reader.pid, 'SIGKILL')
    const start = performance.now()
    await nextMail(next)
    seconds.push((performance.now() - start) / 1000)
    reader = next
  }
  return seconds
}
