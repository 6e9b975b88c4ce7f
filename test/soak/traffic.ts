import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { DaemonProcess } from '../fixtures/daemon.ts'
import { readStream } from '../fixtures/event-stream.ts'
import { parsedMail } from '../fixtures/parsed-mail.ts'
import type { Roads } from '../fixtures/roads.ts'
import { until } from '../fixtures/until.ts'
import type { Ledger } from './ledger.ts'

/** Number of events, by their name. */
export type Counts = Record<string, number>

/**
 * Readers that must get every order. `skill`: the skill or the worker of the queue, by its route.
 */
export const READERS = ['receive', 'group', 'push', 'skill']

const TAKERS = 4
/** Maximum backlog of a reader: a fraction of the orders within the retention. */
const MAX_BEHIND = 200

type Traffic = {
  daemon: DaemonProcess
  servers: Roads
  signal: AbortSignal
  counts: Counts
  /** The orders. */
  ledger: Ledger
  /** Questions by mail and on Slack, which get one answer each. */
  answers: Ledger
}

/**
 * Sends and reads on every road until the signal. Then it continues reading until each reader has
 * every order, or for two minutes, and resolves.
 */
export async function runTraffic({
  daemon,
  servers,
  signal,
  counts,
  ledger,
  answers,
}: Traffic): Promise<void> {
  const count = (what: string, by = 1) => {
    counts[what] = (counts[what] ?? 0) + by
  }
  const drained = new AbortController()
  const every = async (ms: number, what: string, step: () => Promise<unknown>, end = signal) => {
    while (!end.aborted) {
      await step().then(
        () => count(what),
        (error: Error) => {
          // On a busy machine, an answer may come after the timeout of a fixture.
          count(`${what}, late`)
          console.log(`${what}: ${error.message.split('\n')[0]}`)
        },
      )
      await pause(ms, undefined, { signal: end }).catch(() => {})
    }
  }
  const roads = await servers.roads(daemon)
  const talk = (name: string, ms: number) => {
    const road = roads.find((each) => each.name === name)
    return every(ms, name, async () => {
      const id = randomUUID()
      const text = `hello ${id}`
      const waitForReply = await road?.say(text)
      if (name === 'slack') answers.promise(id)
      await waitForReply?.(new RegExp(text))
    })
  }
  /** Sends an order, unless a reader is far behind and retention would remove its messages. */
  const orderMore = async (kind: string) => {
    if (READERS.some((reader) => reader !== 'skill' && ledger.missing(reader) > MAX_BEHIND))
      return count('too busy')
    ledger.promise(await order(daemon, kind))
  }
  // A group gets messages from its creation on.
  await daemon.invoke('event-subscribe', { topic: MESSAGE_TOPIC, queue: 'audit' })
  const reading = Promise.all([
    // Several takers, so that no message exceeds the retention, even on a busy machine.
    ...Array.from({ length: TAKERS }, () =>
      every(10, 'receive', () => receive(daemon, count, ledger), drained.signal),
    ),
    every(50, 'events', () => readGroup(daemon, count, ledger), drained.signal),
  ])
  await Promise.all([
    every(250, 'orders', () => orderMore('plain')),
    every(500, 'queue', () => orderMore('queue')),
    talk('slack', 2_000),
    talk('webhook', 2_000),
    // Less often, as `answered` parses all mails.
    every(4_000, 'email', async () => answers.promise(await mail(servers))),
    every(4_000, 'websocket', () => chat(daemon)),
    every(15_000, 'operator', () => operate(daemon)),
  ])
  const isComplete = () => ['receive', 'group', 'push'].every((reader) => ledger.missing(reader) === 0)
  const isAnswered = async () => answers.isCoveredBy(await answered(servers))
  await until(async () => isComplete() && (await isAnswered()), 'all readers', 120_000).catch(() => {})
  drained.abort()
  await reading
}

/** The ids of questions that were answered by mail or on Slack, once per answer. */
export async function answered({ smtp, slack }: Roads): Promise<string[]> {
  const mails = await Promise.all(smtp.taken.map(parsedMail))
  const texts = [...mails.map(({ text }) => text), ...slack.posts.map(({ text }) => text)]
  return texts.flatMap((text) => /You said: hello ([\da-f-]{36})/.exec(`${text}`)?.[1] ?? [])
}

/** Posts an order. Resolves with the id of the message. */
async function order(daemon: DaemonProcess, kind: string): Promise<string> {
  const body = JSON.stringify({ id: randomUUID(), room: `room ${Math.floor(Math.random() * 50)}`, kind })
  const { status, body: answer } = await daemon.post('/orders', body)
  if (status !== 202) throw new Error(`an order was answered ${status}`)
  return String(Object(answer).id)
}

/** Number of different files in mails. Each is kept for a day after the last message with it. */
const FILES = 20

/** Delivers a mail of its own thread, with a file. Resolves with the id in its text. */
async function mail(servers: Roads): Promise<string> {
  const id = randomUUID()
  await servers.mail([
    'From: Ada <ada@example.net>',
    'To: bot@example.com',
    `Subject: Order ${id}`,
    `Message-ID: <${id}@example.net>`,
    `Date: ${new Date().toUTCString()}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=part',
    '',
    '--part',
    'Content-Type: text/plain; charset=utf-8',
    '',
    `hello ${id}`,
    '--part',
    'Content-Type: text/csv',
    'Content-Disposition: attachment; filename=order.csv',
    '',
    `${Math.floor(Math.random() * FILES)},7`.repeat(200),
    '--part--',
    '',
  ])
  return id
}

/** Opens a connection, asks three questions, and closes it. */
async function chat(daemon: DaemonProcess): Promise<void> {
  const visit = await daemon.chat("/chat?token=bob's%20long%20token")
  for (let turn = 0; turn < 3; turn++) await visit.ask(`hello ${randomUUID()}`)
  visit.close()
  await visit.closed
}

async function receive(daemon: DaemonProcess, count: (what: string) => void, ledger: Ledger): Promise<void> {
  const taken = await daemon.invoke('gateway-receive', { timeout: 1_000, lease: 30_000 })
  if (taken === null) return
  const { id, receipt } = Object(taken)
  // One in ten is released.
  const isNacked = Math.random() < 0.1
  const settled = await daemon.invoke(isNacked ? 'gateway-nack' : 'gateway-ack', { receipt })
  if (!isNacked && Object(settled).ok === true) ledger.had('receive', String(id))
  count(isNacked ? 'nacked' : 'received')
}

async function readGroup(
  daemon: DaemonProcess,
  count: (what: string, by: number) => void,
  ledger: Ledger,
): Promise<void> {
  const group = { topic: MESSAGE_TOPIC, queue: 'audit' }
  const events = await daemon.invoke('event-wait', { ...group, ack: false, max: 50, timeout: 1_000 })
  const ids = Object.values(Object(events)).map((event) => String(Object(event).id))
  if (ids.length > 0) await daemon.invoke('event-ack', { ...group, ids })
  for (const id of ids) ledger.had('group', id)
  count('acknowledged', ids.length)
}

/** Reads what an operator reads: the stream of the console, the status, the metrics, a search. */
async function operate(daemon: DaemonProcess): Promise<void> {
  const stream = await readStream(`${daemon.control}/v1/stream`, { authorization: `Bearer ${daemon.token}` })
  await stream.one('now')
  stream.close()
  await daemon.get('/v1/status')
  await (await fetch(`${daemon.control}/metrics`)).text()
  await daemon.invoke('message-search', { text: 'hello', limit: 20 })
}
