import { AsyncLocalStorage } from 'node:async_hooks'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, type JsonObject, objectsAt, textAt } from '../../../src/core/json.ts'
import type { Transport } from '../../../src/core/transport.ts'
import { formatDuration } from '../../../src/core/units.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { fetchSlack } from '../api.ts'
import type { SlackDeps } from '../host.ts'
import { type Delivery, isAcknowledgedByApp } from '../inbound/delivery.ts'
import type { SlackOptions } from '../options.ts'
import type { createCalls } from '../outbound/calls.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { ACK_TIMEOUT_MS, createAcks } from './acks.ts'
import { createApps } from './apps.ts'
import { waitingForLimits } from './rate-limit-wait.ts'
import { createInspection } from './try-app.ts'

/** The `fetch` used by listeners. */
const listenerFetch = waitingForLimits(fetchSlack)

/** A result that only says why there is no reply. */
type Silence = { noReply: string }

type Listening = Parameters<NonNullable<Transport['runListeners']>>[1]

/**
 * Runs existing Bolt apps on a gateway (https://docs.slack.dev/tools/bolt-js), with Trivium as
 * their receiver. Payloads are accepted before listeners get them, listeners run in the lane of the
 * conversation, and their errors are failed attempts.
 */
export function createBolt(
  options: SlackOptions,
  deps: SlackDeps,
  workspaces: Workspaces,
  { recordDuring }: ReturnType<typeof createCalls>,
) {
  const { log } = deps
  const apps = createApps(options, deps, workspaces)
  const acks = createAcks(deps)

  return {
    ...apps,
    inspection: createInspection(apps.files, options['api-url'], log),
    /** Loads the apps named by routes, so that errors show at the start. Never rejects. */
    async prepare(): Promise<void> {
      await Promise.allSettled(apps.files().map(apps.get))
    },
    /** `Transport.runListeners`. */
    async runListeners(
      file: string,
      { message, route, signal, timeout }: Listening,
    ): Promise<Silence | undefined> {
      const { id, data } = message
      const { payload } = data
      const ended = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
      try {
        if (!isJsonObject(payload))
          throw new Error('a Bolt app only gets events from Slack, and this message came from elsewhere')
        const app = await inTime(apps.get(file), ended)
        const workspace = await workspaces.find(textAt(data, 'team') ?? '')
        // Events are acknowledged on acceptance, as in Bolt.
        const ack = isAcknowledgedByApp(payload)
          ? (content: unknown) => acks.acknowledge(message, content)
          : undefined
        const urls = responseUrlsIn(payload)
        const run = { key: `${id}:${route}`, workspace, signal: ended, responseUrls: urls }
        let matched: boolean | undefined
        await recordDuring(run, async () => {
          const inRun = AsyncLocalStorage.snapshot()
          const call: typeof fetch = (input, init) => inRun(listenerFetch, input, init)
          matched = await app?.process({ payload, urls, ack, call, signal: ended })
        })
        if (ended.aborted) throw new Error(`it took longer than ${formatDuration(timeout)}`)
        if (isAcknowledgedByApp(payload)) await acks.finish(id)
        return matched === false ? { noReply: 'no listener of the Bolt app matched' } : undefined
      } catch (cause) {
        signal.throwIfAborted()
        throw new TriviumError('listener_failed', { file, reason: reasonOf(cause) }, { cause })
      }
    },
    answer: acks.answer,
    /**
     * Resolves with the options of a select, from the first app that returns some; with undefined
     * if none does. Nothing is stored. Never rejects.
     */
    async suggest({ payload }: Delivery): Promise<object | undefined> {
      const timeout = AbortSignal.timeout(ACK_TIMEOUT_MS)
      for (const file of apps.files()) {
        const responses: unknown[] = []
        const ack = async (response?: unknown) => void responses.push(response)
        const urls = responseUrlsIn(payload)
        const run = apps
          .get(file)
          .then((app) => app.process({ payload, urls, ack, call: listenerFetch, signal: timeout }))
        await inTime(run, timeout).catch((err) =>
          log.error({ app: file, err }, 'a listener for options failed'),
        )
        if (isJsonObject(responses[0])) return responses[0]
      }
      return undefined
    },
  }
}

/** The response URLs of a payload. */
function responseUrlsIn(payload: JsonObject): string[] {
  return [payload, ...objectsAt(payload, 'response_urls')].flatMap(
    (each) => textAt(each, 'response_url') ?? [],
  )
}
