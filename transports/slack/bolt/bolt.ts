import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, textAt, toJson } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { formatDuration } from '../../../src/core/units.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { waitFor } from '../../../src/lib/wait-for.ts'
import type { Delivery, Taken } from '../inbound/delivery.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces.ts'
import { createApps } from './apps.ts'
import { createPosts, type Run } from './posts.ts'

/** How long the acknowledgement waits for what a listener says in it (ms): Slack waits 3 s, and has its own way to go. */
const HOLD = 2500
/** Another daemon may run the listener; so often its answer is looked for (ms). */
const LOOK_AGAIN = 100
/** A click that comes again gets the first answer (ms). */
const KEPT = 3_600_000

/**
 * Existing Bolt apps on a gateway (https://docs.slack.dev/tools/bolt-js), with Trivium as their receiver: a payload is accepted
 * before listeners see it, they run from the lane of its conversation, and what they throw is a failed attempt. What they
 * say in `ack` is on the store, as the listener may run on another daemon, and again.
 */
export function createBolt(options: SlackOptions, deps: TransportDeps, workspaces: Workspaces) {
  const { gateway, kv, log, now } = deps
  const posts = createPosts(options.apiUrl, deps, workspaces)
  const apps = createApps(options, deps, workspaces, posts.fetch)
  const waiting = new Map<string, () => void>()
  const ackOf = (messageId: string) => `slack/${gateway}/ack/${messageId}`

  /** The first that is said counts. What was said too late for the acknowledgement is shown where it would have been. */
  const acknowledge = async ({ id, data, receivedAt }: Message, said: unknown) => {
    const response = toJson(typeof said === 'string' ? { text: said } : said)
    if ((await kv.set(ackOf(id), { response }, { ttl: KEPT, ifVersion: 0 })) === undefined) return
    waiting.get(id)?.()
    const url = textAt(data.payload, 'response_url')
    if (!url || !response || now() - receivedAt < HOLD) return
    const headers = { 'content-type': 'application/json' }
    // Not a call of the listeners: in a repeated run it does not come again.
    await fetch(url, { method: 'POST', headers, body: JSON.stringify(response) })
  }

  return {
    ...apps,
    /** Loads what the routes name, so that what is wrong shows at once. Never rejects. */
    async prepare(): Promise<void> {
      await Promise.allSettled(apps.files().map(apps.of))
    },
    /** `Transport.listen`. */
    async listen(file: string, { timeout, ...run }: Run & { timeout: number }): Promise<void> {
      const { message, signal } = run
      const { payload } = message.data
      const late = AbortSignal.timeout(timeout)
      try {
        if (!isJsonObject(payload)) throw new Error('it gets what Slack sent, and this came from elsewhere')
        const app = await apps.of(file)
        // Events are acknowledged by Bolt itself.
        const ack = async (said?: unknown) => {
          if (payload.type !== 'event_callback') await acknowledge(message, said)
        }
        const either = AbortSignal.any([signal, late])
        const listen = () => app.processEvent({ body: structuredClone(payload), ack })
        await posts.during({ ...run, signal: either }, listen)
        signal.throwIfAborted()
        if (late.aborted) throw new Error(`it took longer than ${formatDuration(timeout)}`)
      } catch (cause) {
        signal.throwIfAborted()
        throw new TriviumError('listener_failed', { file, reason: reasonOf(cause) }, { cause })
      }
    },
    /**
     * What the acknowledgement of an accepted click, command or submission says. Rejects where a modal waits for a verdict
     * that nobody gave in time: Slack asks the person to try again.
     */
    async answer(messageId: string, { payload }: Delivery): Promise<Taken> {
      if (payload.type === 'event_callback') return undefined
      const said = await waitFor({
        async attempt() {
          const kept = await kv.get(ackOf(messageId))
          return kept ? { value: kept.value } : { retryAt: now() + LOOK_AGAIN }
        },
        watch(wake) {
          waiting.set(messageId, wake)
          return () => void waiting.delete(messageId)
        },
        timeout: HOLD,
      })
      if (said === undefined && payload.type === 'view_submission') {
        const reason = 'no listener acknowledged it in time'
        throw new TriviumError('store_unavailable', { store: 'Bolt', reason })
      }
      return isJsonObject(said) && isJsonObject(said.response) ? { response: said.response } : undefined
    },
    /** The options of a select: nothing is kept of the asking, so the listeners answer at once. */
    async suggest({ payload }: Delivery): Promise<object | undefined> {
      const late = AbortSignal.timeout(HOLD)
      for (const file of apps.files()) {
        const said: unknown[] = []
        const ack = async (one?: unknown) => void said.push(one)
        const asked = apps.of(file).then((app) => app.processEvent({ body: structuredClone(payload), ack }))
        const failed = (err: unknown) => log.error({ app: file, err }, 'a listener for options failed')
        await inTime(asked, late).catch(failed)
        if (isJsonObject(said[0])) return said[0]
      }
      return undefined
    },
  }
}
