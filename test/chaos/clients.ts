import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import { until } from '../fixtures/until.ts'
import type { Random } from './random.ts'
import type { Stage } from './stage.ts'

/** A message that was acknowledged, with the ids that its client got for it. */
export type Promised = { gateway: string; conversation: string; n: number; ids: Set<string>; poison: boolean }

/** Answers that clients did not expect. */
export type Complaints = string[]

/** Until when clients send. */
export type Load = { isOver(): boolean }

/** A restarted Redis skips more numbers of replies than this. */
const RESTART_SKIP = 10_000

type ClientOptions = {
  stage: Stage
  /** What each client waits for, by its name, for the error of a run that times out. */
  waits: Map<string, () => unknown>
  name: string
  load: Load
  random: Random
  promised: Promised[]
  complaints: Complaints
}

/**
 * Posts messages one after the other, and repeats each with the same key until it gets a 2xx, as
 * providers do. Repeats some of them once more.
 */
export async function runWebhookClient(options: ClientOptions & { gateway: string }): Promise<void> {
  const { name, gateway, load, random, promised, waits } = options
  for (let n = 0; !load.isOver(); n++) {
    waits.set(name, () => `the answer to ${name}-${n}`)
    const poison = random.chance(0.01)
    const body = { conversation: name, n, poison, ...trouble(random) }
    const key = `${name}-${n}`
    const ids = new Set([await deliver(options, gateway, key, body)])
    if (random.chance(0.1)) ids.add(await deliver(options, gateway, key, body))
    promised.push({ gateway, conversation: name, n, ids, poison })
    waits.delete(name)
    await pause(random.between(5, 40))
  }
}

/** Some messages make the skill fail a few times, some make it slow. */
function trouble(random: Random): { failures: number; slow: number } {
  return {
    failures: random.chance(0.05) ? random.between(1, 2) : 0,
    slow: random.chance(0.1) ? random.between(20, 200) : 0,
  }
}

async function deliver(options: ClientOptions, gateway: string, key: string, body: object): Promise<string> {
  for (;;) {
    const daemon = await options.stage.daemon()
    const headers = { 'content-type': 'application/json', 'webhook-id': key }
    const answer = await daemon
      .post(`/hooks/${gateway}`, JSON.stringify(body), headers)
      .catch(() => undefined)
    if (answer?.status === 202 || answer?.status === 200) return String(Object(answer.body).id)
    if (answer && !(answer.status === 503 && answer.headers.has('retry-after'))) {
      options.complaints.push(`${key} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    }
    await pause(20)
  }
}

/** Maximum number of unacknowledged messages on one connection. */
const WINDOW = 4

/**
 * Sends messages over WebSocket, repeats unacknowledged ones, resumes after each disconnect, and
 * ends when it has a reply to each of its messages.
 */
export async function runChatClient(options: ClientOptions): Promise<void> {
  const { stage, name, load, random, promised, complaints } = options
  const unacknowledged = new Map<string, JsonObject>()
  const unanswered = new Set<string>()
  const answered = new Set<string>()
  let conversation = ''
  let seq = 0
  let n = 0

  const onAck = (frame: JsonObject) => {
    const sent = unacknowledged.get(String(frame.id))
    const id = String(frame.messageId)
    if (!sent || !unacknowledged.delete(String(frame.id))) return
    promised.push({
      gateway: 'chat',
      conversation: name,
      n: Number(sent.n),
      ids: new Set([id]),
      poison: false,
    })
    if (!answered.has(id)) unanswered.add(id)
  }
  const onReply = (frame: JsonObject) => {
    const id = String(frame.inReplyTo)
    const step = Number(frame.seq) - seq
    const isAfterRestart = step > RESTART_SKIP
    if (step !== 1 && !isAfterRestart) complaints.push(`${name}: reply ${frame.seq} came after ${seq}`)
    if (answered.has(id)) complaints.push(`${name}: ${id} was answered twice`)
    seq = Number(frame.seq)
    answered.add(id)
    unanswered.delete(id)
  }
  const take = (socket: WebSocket, frame: JsonObject) => {
    if (frame.type === 'welcome') {
      conversation = String(frame.conversation)
      for (const sent of unacknowledged.values()) socket.send(JSON.stringify(sent))
    } else if (frame.type === 'ack') onAck(frame)
    else if (frame.type === 'message') onReply(frame)
    else if (!/^(store_unavailable|stopping)$/.test(String(frame.code)))
      complaints.push(`${name}: ${JSON.stringify(frame)}`)
    else {
      const sent = unacknowledged.get(String(frame.id))
      if (sent) setTimeout(() => trySend(socket, sent), 20)
    }
  }
  const isDone = () => load.isOver() && unacknowledged.size === 0 && unanswered.size === 0
  let state: () => unknown = () => 'no socket'
  options.waits.set(name, () => ({
    conversation,
    seq,
    socket: state(),
    unacknowledged: [...unacknowledged.keys()],
    unanswered: [...unanswered],
  }))

  while (!isDone()) {
    const { url } = await stage.daemon()
    const query = conversation === '' ? '' : `?conversation=${encodeURIComponent(conversation)}&after=${seq}`
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws${query}`)
    let open = true
    state = () => ({ readyState: socket.readyState, url: socket.url })
    socket.on('error', () => {})
    socket.on('close', () => {
      open = false
    })
    socket.on('message', (data) => {
      const frame: unknown = JSON.parse(String(data))
      if (isJsonObject(frame)) take(socket, frame)
    })
    while (open && !isDone()) {
      await pause(random.between(5, 40))
      if (socket.readyState !== socket.OPEN || conversation === '') continue
      if (load.isOver() || unacknowledged.size >= WINDOW) continue
      const frame = { type: 'message', id: `${name}-${n}`, text: `${name} ${n}`, n, ...trouble(random) }
      unacknowledged.set(frame.id, frame)
      n += 1
      socket.send(JSON.stringify(frame))
    }
    socket.terminate()
    await until(() => !open, 'the end of a connection')
  }
  options.waits.delete(name)
}

function trySend(socket: WebSocket, frame: JsonObject) {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame))
}
