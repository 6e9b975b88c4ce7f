import { reasonOf } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Health, Transport, TransportDeps } from '../../src/core/transport.ts'
import { pause } from '../../src/lib/pause.ts'
import { checkSlack } from './check.ts'
import type { Envelope } from './frames.ts'
import { createGapFill } from './gap-fill.ts'
import { createHttpListener } from './http.ts'
import { createAnswers, type Taken } from './inbound/answers.ts'
import { createInbound, type PayloadKind } from './inbound/inbound.ts'
import type { SlackOptions, SocketOptions } from './options.ts'
import { createSender } from './outbound/sender.ts'
import { createProgress } from './progress.ts'
import { createSocketMode } from './socket.ts'
import { createWorkspaces, withSlash } from './workspaces.ts'

/** What brings payloads in: a socket or a path on the public listener. */
type Listener = { start(): void; stop(): Promise<void>; health(): Health }

/** How long `start` waits for the first connection; a daemon is not held up by a Slack that is away. */
const START = 300
/** How long a start may take before health calls it a fault. */
const PATIENCE = 10_000
const AGAIN = { first: 500, longest: 30_000 }

/** Wires one Slack gateway. Does no I/O before `start`, or the first `send`. */
export function createSlackTransport(options: SlackOptions, deps: TransportDeps): Transport {
  const workspaces = createWorkspaces(options, deps)
  const progress = createProgress(options, deps)
  const inbound = createInbound(options, deps, workspaces, (where, accepted, workspace) => {
    progress.follow(where, accepted, workspace)
    gaps.seen(where)
  })
  const answer = createAnswers(options, deps, workspaces, inbound.take)
  const gaps = createGapFill(options, deps, workspaces, inbound)
  const take = (kind: PayloadKind, payload: JsonObject): Promise<Taken> =>
    gaps.watch(kind, payload, () => answer(kind, payload))
  const sender = createSender(options, deps, workspaces)
  const stopping = new AbortController()
  const connected = Promise.withResolvers<void>()
  let startedAt: number | undefined
  let fault = ''
  let identified = false

  const listener =
    options.mode === 'socket' ? socketListener(options) : createHttpListener(options, deps, take)

  function socketListener(socket: SocketOptions): Listener {
    return createSocketMode({
      appToken: socket.appToken,
      apiUrl: withSlash(socket.apiUrl),
      ping: socket.ping,
      maxSilence: socket['max-silence'],
      take: takeEnvelope,
      connected() {
        connected.resolve()
        gaps.connected()
      },
      lost: gaps.lost,
      log: deps.log,
      now: deps.now,
    })
  }

  function takeEnvelope({ type, payload }: Envelope): Promise<Taken> {
    const kind = ENVELOPES[type]
    return kind === undefined ? Promise.resolve(undefined) : take(kind, payload)
  }

  /** Asks who we are until Slack tells, then listens. */
  const begin = async () => {
    for (let delay = AGAIN.first; !stopping.signal.aborted; delay = Math.min(AGAIN.longest, delay * 2)) {
      try {
        await workspaces.ready()
        identified = true
        if (stopping.signal.aborted) return
        listener.start()
        void progress.resume(workspaces)
        if (options.mode === 'http') {
          connected.resolve()
          gaps.connected()
        }
        return
      } catch (error) {
        fault = reasonOf(error)
        deps.log.warn({ err: error, wait: delay }, 'Slack does not tell who the bot is; asking again')
        await pause(delay, stopping.signal)
      }
    }
  }

  return {
    async start() {
      startedAt = deps.now()
      void begin()
      await Promise.race([connected.promise, pause(START, stopping.signal)])
    },
    send: sender.send,
    probe: sender.probe,
    stream: sender.stream,
    async stop() {
      stopping.abort()
      if (identified) await listener.stop()
      await inbound.stop()
      progress.stop()
      await gaps.stop()
    },
    async close() {
      sender.close()
      workspaces.close()
    },
    health,
    check: () => checkSlack(options, workspaces, startedAt === undefined ? undefined : health, deps.log),
  }

  function health(): Health {
    if (identified) return withFaults(withStatus(listener.health(), gaps.status()), workspaces.faults())
    const patient = fault === '' && deps.now() - (startedAt ?? 0) < PATIENCE
    return { ok: patient, detail: fault || 'asking Slack who the bot is' }
  }
}

const ENVELOPES: Record<string, 'event' | 'command' | 'interaction'> = {
  events_api: 'event',
  slash_commands: 'command',
  interactive: 'interaction',
}

/** A gateway that hears only some of its workspaces is not well. */
function withFaults(health: Health, faults: readonly string[]): Health {
  if (faults.length === 0) return health
  return { ...health, ok: false, detail: [health.detail ?? '', ...faults].join('; ') }
}

function withStatus(health: Health, status: Health | undefined): Health {
  if (!status) return health
  return { ...health, ok: health.ok && status.ok, detail: [health.detail ?? '', status.detail].join('; ') }
}
