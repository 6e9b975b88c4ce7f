import { reasonOf } from '../../src/core/errors.ts'
import { pathGet } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { conversationOf, targetSchema } from './conversation.ts'
import type { Draft } from './inbound/delivery.ts'
import type { SlackOptions } from './options.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

/** How often a run looks whether somebody stopped it (ms): another daemon may have heard of that. */
const LOOK = 1000
/** For so long is known that somebody stopped an answer, of which the daemon may have died (ms). */
const KEPT = 86_400_000

/**
 * What Slack has for agents (https://docs.slack.dev/ai) beside their replies: a status while a model works, and its end
 * where somebody presses Stop. Best effort: none of it holds up anything. `ended` is told that a run is over, by its message.
 */
export function createAssistant(
  { progress }: SlackOptions,
  { gateway, kv, log, now, note }: TransportDeps,
  workspaces: Workspaces,
  ended: (messageId: string) => void,
) {
  const stopOf = (conversation: string) => `slack/${gateway}/stop/${conversation}`

  const attempt = (action: () => Promise<unknown>): Promise<unknown> =>
    action().catch((error) => log.debug({ reason: reasonOf(error) }, 'something of an agent was not shown'))

  return {
    /** What an accepted message does besides waiting for a route. Never rejects. */
    async arrived({ event, ...draft }: Draft): Promise<void> {
      if (event !== 'agent_session_stopped') return
      const stopped = { at: now(), by: draft.user }
      await attempt(() => kv.set(stopOf(conversationOf(draft)), stopped, { ttl: KEPT }))
    },
    /** `Transport.working`. */
    working({ id, conversation, receivedAt, data }: Message, stop: () => void) {
      const { data: target } = targetSchema.safeParse(data.replyTarget)
      const place = { channel_id: target?.channel ?? '', thread_ts: target?.thread ?? '' }
      let looking: NodeJS.Timeout | undefined
      let last: Promise<unknown> = Promise.resolve()

      /** One after another. Only threads have a status, and what one person alone sees is in none. */
      const show = (call: (workspace: Workspace) => unknown) => {
        const { team, thread, responseUrl } = target ?? {}
        if (!team || !thread || responseUrl || progress === 'off') return
        const run = () => workspaces.find(team).then((workspace) => workspace && call(workspace))
        last = last.then(() => attempt(run))
      }
      const say = (status: string) => show(({ api }) => api.assistant.threads.setStatus({ ...place, status }))
      const look = async () => {
        const stopped = (await kv.get(stopOf(conversation)))?.value
        if (!(Number(pathGet(stopped, 'at')) > receivedAt)) return
        clearInterval(looking)
        note(id, 'stopped', { by: String(pathGet(stopped, 'by')) })
        stop()
      }
      const setSession = (status: string) =>
        show(({ api }) => api.agents.sessions.setStatus({ ...place, status }))

      return {
        tool(name?: string) {
          if (!looking) setSession('processing')
          looking ??= setInterval(() => void attempt(look), LOOK)
          say(name === undefined ? 'is thinking…' : `is using ${name}…`)
        },
        end() {
          ended(id)
          if (!looking) return
          clearInterval(looking)
          say('')
          setSession('active')
        },
      }
    },
  }
}
