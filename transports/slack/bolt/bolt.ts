import { AsyncLocalStorage } from 'node:async_hooks'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, type JsonObject, objectsAt, textAt, toJson } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { Transport } from '../../../src/core/transport.ts'
import { formatDuration } from '../../../src/core/units.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { waitFor } from '../../../src/lib/wait-for.ts'
import { fetchSlack } from '../api.ts'
import type { SlackDeps } from '../host.ts'
import { type Delivery, isAcknowledgedByApp } from '../inbound/delivery.ts'
import type { SlackOptions } from '../options.ts'
import type { createCalls } from '../outbound/calls.ts'
import type { Workspaces } from '../workspaces.ts'
import { createApps } from './apps.ts'
import { patient } from './patient.ts'

/** How long (ms) the acknowledgement waits for a listener's content. Slack waits 3 s in total. */
const HOLD = 2500
/** Poll interval (ms) for the answer, as another daemon may run the listener. */
const LOOK_AGAIN = 100
/** How long (ms) the first answer is kept for a repeated click. */
const KEPT = 3_600_000

/**
 * Content of a listener's `ack`; without `response`, the acknowledgement was sent first. `unheard`: the listeners ended without
 * acknowledging, as for an unknown command.
 */
const ackSchema = z.object({ response: z.json().exactOptional(), unheard: z.literal(true).exactOptional() })

/** The `fetch` used by listeners. */
const calling = patient(fetchSlack)

type Listening = Parameters<NonNullable<Transport['listen']>>[1]

/**
 * Runs existing Bolt apps on a gateway (https://docs.slack.dev/tools/bolt-js), with Trivium as their receiver. Payloads are accepted
 * before listeners see them, listeners run from the lane of the conversation, and their errors are failed attempts. The content of
 * `ack` is kept in the store, because listeners may run on another daemon, and repeatedly.
 */
export function createBolt(
  options: SlackOptions,
  deps: SlackDeps,
  workspaces: Workspaces,
  { during }: ReturnType<typeof createCalls>,
) {
  const { gateway, kv, log, now } = deps
  const apps = createApps(options, deps, workspaces)
  const waiting = new Map<string, () => void>()
  const ackOf = (messageId: string) => `slack/${gateway}/ack/${messageId}`

  const said = async (id: string) => {
    const kept = await kv.get(ackOf(id))
    return kept && { version: kept.version, ...ackSchema.parse(kept.value) }
  }

  /** Stores the first acknowledgement. If Slack was already acknowledged, posts the content to the response URL instead. */
  const acknowledge = async (message: Message, saying: unknown): Promise<void> => {
    const { id, data } = message
    const response = toJson(typeof saying === 'string' ? { text: saying } : saying)
    const known = await said(id)
    if (known?.response !== undefined) return
    const kept = await kv.set(ackOf(id), { response }, { ttl: KEPT, ifVersion: known?.version ?? 0 })
    if (kept === undefined) return acknowledge(message, saying)
    const url = textAt(data.payload, 'response_url')
    if (!known) return waiting.get(id)?.()
    const headers = { 'content-type': 'application/json' }
    // Not counted as a call of the listeners, as a repeated run does not make it again.
    if (url && response) await fetch(url, { method: 'POST', headers, body: JSON.stringify(response) })
  }

  /** Called when all listeners of a click or command have ended. */
  const concluded = async (id: string): Promise<void> => {
    const isFirst = await kv.set(ackOf(id), { unheard: true }, { ttl: KEPT, ifVersion: 0 })
    if (isFirst !== undefined) waiting.get(id)?.()
  }

  return {
    ...apps,
    /** Loads the apps named by routes, so that errors show at the start. Never rejects. */
    async prepare(): Promise<void> {
      await Promise.allSettled(apps.files().map(apps.of))
    },
    /** `Transport.listen`. */
    async listen(file: string, { message, route, signal, timeout }: Listening): Promise<void> {
      const { id, data } = message
      const { payload } = data
      const ended = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
      try {
        if (!isJsonObject(payload)) throw new Error('it gets what Slack sent, and this came from elsewhere')
        const app = await inTime(apps.of(file), ended)
        const workspace = await workspaces.find(textAt(data, 'team') ?? '')
        // Events are acknowledged on acceptance, as in Bolt.
        const ack = isAcknowledgedByApp(payload)
          ? (saying: unknown) => acknowledge(message, saying)
          : undefined
        const urls = responseUrlsIn(payload)
        const run = { key: `${id}:${route}`, workspace, signal: ended, responseUrls: urls }
        await during(run, async () => {
          const inRun = AsyncLocalStorage.snapshot()
          const call: typeof fetch = (input, init) => inRun(calling, input, init)
          await app?.process({ payload, urls, ack, call, signal: ended })
        })
        if (ended.aborted) throw new Error(`it took longer than ${formatDuration(timeout)}`)
        if (isAcknowledgedByApp(payload)) await concluded(id)
      } catch (cause) {
        signal.throwIfAborted()
        throw new TriviumError('listener_failed', { file, reason: reasonOf(cause) }, { cause })
      }
    },
    /**
     * What the acknowledgement of an accepted click, command or submission says. Rejects where no listener acknowledged it, and
     * where a modal waits for a verdict that none gave in time: Slack shows the person its own error.
     */
    async answer(messageId: string, { payload }: Delivery): Promise<object | undefined> {
      if (!isAcknowledgedByApp(payload)) return undefined
      const early = await waitFor({
        async attempt() {
          const known = await said(messageId)
          return known ? { value: known } : { retryAt: now() + LOOK_AGAIN }
        },
        watch(wake) {
          waiting.set(messageId, wake)
          return () => void waiting.delete(messageId)
        },
        timeout: HOLD,
      })
      // Later acknowledgements are late, unless one has just arrived.
      if (!early) await kv.set(ackOf(messageId), {}, { ttl: KEPT, ifVersion: 0 })
      const { response, unheard } = early ?? (await said(messageId)) ?? {}
      if (unheard || (response === undefined && payload.type === 'view_submission')) {
        const reason = unheard ? 'no listener acknowledged it' : 'no listener acknowledged it in time'
        throw new TriviumError('store_unavailable', { store: 'Bolt', reason })
      }
      return isJsonObject(response) ? response : undefined
    },
    /** Options of a select from the first app that returns some; nothing is stored. Undefined if none does. Never rejects. */
    async suggest({ payload }: Delivery): Promise<object | undefined> {
      const late = AbortSignal.timeout(HOLD)
      for (const file of apps.files()) {
        const answers: unknown[] = []
        const ack = async (one?: unknown) => void answers.push(one)
        const once = { payload, urls: responseUrlsIn(payload), ack, call: calling, signal: late }
        const asked = apps.of(file).then((app) => app.process(once))
        const failed = (err: unknown) => log.error({ app: file, err }, 'a listener for options failed')
        await inTime(asked, late).catch(failed)
        if (isJsonObject(answers[0])) return answers[0]
      }
      return undefined
    },
  }
}

/** The response URLs of a payload. */
function responseUrlsIn(payload: JsonObject): string[] {
  return [payload, ...objectsAt(payload, 'response_urls')].flatMap((one) => textAt(one, 'response_url') ?? [])
}
