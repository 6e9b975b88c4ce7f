import type { WebSocket } from 'ws'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'
import { createLoop } from '../../src/lib/loop.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Peer } from './admission.ts'
import type { WebsocketOptions } from './config.ts'
import { type ClientFrame, readFrame } from './frames.ts'

export type Connection = ReturnType<typeof serveConnection>

/** A client that may come in: the replies after `after` are sent to it; the newest that there is is `end`. */
export type Admitted = { peer: Peer; conversation: string; after: number; end: number }

/** Frames of one connection that may wait for the store at once; then its socket is not read. */
const MAX_IN_FLIGHT = 256
/** Replies that are read from the log at once. */
const PAGE = 64

/** Serves a client's socket to its end. `accepting`: what all connections of the gateway have on its way into the store. */
export function serveConnection(
  socket: WebSocket,
  { peer, conversation, after, end }: Admitted,
  options: WebsocketOptions,
  accepting: ReturnType<typeof createInFlight>,
  deps: TransportDeps,
) {
  const log = deps.log.child({ conversation })
  let inFlight = 0
  let isAlive = true

  const { 'rate-limit': limit } = options
  const takeToken = createTokenBucket(limit, deps.now)
  const rate = limit === 'off' ? '' : `${limit.count} frames in ${formatDuration(limit.per)}`
  const isFull = () => socket.bufferedAmount > options['max-buffer']

  /** Resolves once there is room for more: whoever waits for that sends no reader more than it takes. */
  async function send(frame: JsonObject): Promise<void> {
    if (socket.readyState !== socket.OPEN) return
    // What is lost here with a broken socket is in the log, or the client repeats it by its id.
    const written = new Promise<void>((resolve) => socket.send(JSON.stringify(frame), () => resolve()))
    if (!isFull()) return
    const tooSlow = setTimeout(() => {
      if (socket.readyState !== socket.OPEN) return
      log.info({ buffered: socket.bufferedAmount }, 'a reader is too slow; it can resume where it is')
      close(1013, 'too slow; reconnect and resume')
    }, options['stall-timeout'])
    await written
    clearTimeout(tooSlow)
  }

  /** Whoever does not read the answers is not read either. */
  async function receive(raw: string, isBinary: boolean) {
    isAlive = true
    inFlight++
    if (inFlight >= MAX_IN_FLIGHT) socket.pause()
    accepting.enter()
    const written = send(await take(raw, isBinary))
    accepting.leave()
    await written
    inFlight--
    if (inFlight === MAX_IN_FLIGHT / 2 && socket.readyState === socket.OPEN) socket.resume()
  }

  /** Takes one frame; resolves, never rejects, with the ack or the error that answers it. */
  async function take(raw: string, isBinary: boolean): Promise<JsonObject> {
    const frame = readFrame(raw, isBinary)
    const { id } = frame
    const refusal = refusalOf(frame)
    try {
      if (refusal || 'error' in frame) throw refusal
      const accepted = await deps.accept(messageOf(frame))
      const duplicate = accepted.duplicate || undefined
      return { type: 'ack', messageId: accepted.id, ...defined({ id, duplicate }) }
    } catch (thrown) {
      const error = toTriviumError(thrown)
      const { code, message, retryable } = error
      // What `accept` refuses, it tells itself.
      if (refusal) deps.refused(code, { from: peer.subject ?? peer.address, why: message, body: raw })
      // A store that is away refuses thousands of times a second; its own part says so once.
      log[code === 'internal' ? 'error' : 'debug']({ err: error }, 'a frame was refused')
      return { type: 'error', code, message, retryable, ...defined({ id }) }
    }
  }

  function refusalOf(frame: ReturnType<typeof readFrame>): TriviumError | undefined {
    if (takeToken() > 0) return new TriviumError('rate_limited', { gateway: deps.gateway, rate })
    if ('error' in frame) return frame.error
    return accepting.isStopping() ? stoppingError() : expiryOf(peer, deps)
  }

  function messageOf({ id, text, extra }: ClientFrame): NewMessage {
    return {
      gateway: deps.gateway,
      transport: 'websocket',
      conversation,
      from: peer.subject === undefined ? { id: peer.address } : { id: peer.subject, verified: true },
      text,
      data: extra,
      // Two clients may both call their first message `1`.
      ...(id === undefined ? {} : { key: `${conversation}:${id.toWellFormed()}` }),
    }
  }

  /**
   * Writes the replies after `position`, in order, each once, and tells whether there may be more. The log is the truth: signals
   * only say when to look, so one that is late, doubled or lost in a reconnect does no harm.
   */
  async function writePage() {
    const entries = await deps.replies.read(conversation, position, PAGE)
    for (const { seq, data } of entries) {
      await tellGap(seq - 1)
      await send({ ...shown(data), type: 'message', seq })
      position = seq
    }
    // What is not there up to the end of the log at the beginning was removed.
    if (entries.length === 0) await tellGap(end)
    return entries.length > 0 ? 'again' : undefined
  }

  /** Retention removes the oldest first: while one that was read is there, the numbers have only leapt. */
  async function tellGap(seq: number) {
    if (seq <= position) return
    const [oldest] = await deps.replies.read(conversation, 0, 1)
    const isGone = !oldest || oldest.seq > position
    if (isGone) await send({ type: 'gap', missed: seq - position, seq })
    position = seq
  }

  function stopFollowing() {
    unsubscribe()
    void following.stop()
  }

  function close(code: number, reason: string) {
    stopFollowing()
    socket.resume()
    socket.close(code, reason)
  }

  socket.on('error', (error) => log.debug({ err: error }, 'a connection broke'))
  const ended = new Promise<void>((resolve) => socket.once('close', resolve)).then(stopFollowing)
  socket.on('pong', () => {
    isAlive = true
  })
  socket.on('message', (raw, isBinary) => void receive(String(raw), isBinary))
  void send({ type: 'welcome', conversation, seq: after })
  let position = after
  const following = createLoop({
    step: writePage,
    failed: (err) => log.warn({ err }, 'cannot read the replies; trying again'),
  })
  const unsubscribe = deps.replies.onAppend(conversation, following.wake)
  following.start()

  return {
    /** Called at every heartbeat: cuts a peer that did not answer the last one, and asks again. */
    beat() {
      if (socket.isPaused || isFull()) {
        // Who is not read is not heard either, and how long one may not read has a limit of its own.
        isAlive = true
      } else if (isAlive) {
        isAlive = false
        socket.ping()
      } else socket.terminate()
    },
    conversation,
    /** Resolves when its socket is closed. */
    ended,
    /** Sends a frame that the reply log does not hold; a reader that cannot keep up does without. */
    show(frame: JsonObject) {
      if (!isFull()) void send(frame)
    },
    close,
  }
}

/** Where a file lies is nothing for the other end. */
function shown({ attachments, ...said }: JsonObject): JsonObject {
  if (!Array.isArray(attachments)) return said
  return {
    ...said,
    attachments: objectsIn(attachments).map(({ path: _path, sha256: _sha256, ...file }) => file),
  }
}

/** The timer that closes the connection at the end of its token may be late. */
function expiryOf({ until }: Peer, { gateway, now }: TransportDeps): TriviumError | undefined {
  if (until === undefined || until > now()) return undefined
  return new TriviumError('signature_invalid', { gateway, reason: 'the token has expired' })
}
