import { reasonOf } from '../../src/core/errors.ts'
import { pathGet } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import { conversationOf, targetSchema } from './conversation.ts'
import type { Draft } from './inbound/delivery.ts'
import { isDirect } from './inbound/read-event.ts'
import type { SlackOptions } from './options.ts'
import { STOP_ACTION } from './outbound/post-blocks.ts'
import { markdownPosts } from './outbound/slack-fields.ts'
import type { Workspace } from './workspaces/workspace.ts'
import type { Workspaces } from './workspaces/workspaces.ts'

/** Interval (ms) at which a run checks for Stop, which another daemon may have received. */
const LOOK = 1000
/** How long (ms) stops and thread titles are remembered. */
const KEPT = 90 * 86_400_000

/**
 * Slack's features for agents (https://docs.slack.dev/ai) besides replies: greeting, prompts, thread titles, a status while a model
 * works, and Stop. Best effort: never delays anything. `ended` is called with the message of a finished run.
 */
export function createAssistant(
  { assistant, progress }: SlackOptions,
  { gateway, kv, log, now, note }: TransportDeps,
  workspaces: Workspaces,
  ended: (messageId: string) => void,
) {
  const nameOf = (what: string, conversation: string) => `slack/${gateway}/${what}/${conversation}`

  const attempt = (action: () => Promise<unknown>): Promise<unknown> =>
    action().catch((error) => log.debug({ reason: reasonOf(error) }, 'something of an agent was not shown'))

  return {
    /** Side effects of an accepted message. A Bolt app greets by itself. Never rejects. */
    arrived: (draft: Draft, { isListened }: { isListened: boolean }) =>
      attempt(async () => {
        const { event, extra, team, user } = draft
        if (event === 'agent_session_stopped' || extra.action === STOP_ACTION) {
          await kv.set(nameOf('stop', conversationOf(draft)), { at: now(), by: user }, { ttl: KEPT })
        }
        if (isListened) return
        const workspace = asksForGreeting(draft) ? await workspaces.find(team) : undefined
        if (workspace) await greet(draft, workspace, assistant)
      }),
    /** `Transport.working`. */
    working({ id, conversation, receivedAt, text, data }: Message, stop: () => void) {
      const { data: target } = targetSchema.safeParse(data.replyTarget)
      const place = { channel_id: target?.channel ?? '', thread_ts: target?.thread ?? '' }
      let looking: NodeJS.Timeout | undefined
      let last: Promise<unknown> = Promise.resolve()

      /** Shows changes in order. Only threads have a status, and ephemeral messages are in none. */
      const show = (call: (workspace: Workspace) => unknown) => {
        const { team, thread, responseUrl } = target ?? {}
        if (!team || !thread || responseUrl || progress === 'off') return
        const run = () => workspaces.find(team).then((workspace) => workspace && call(workspace))
        last = last.then(() => attempt(run))
      }
      const say = (status: string) => show(({ api }) => api.assistant.threads.setStatus({ ...place, status }))
      const look = async () => {
        const stopped = (await kv.get(nameOf('stop', conversation)))?.value
        if (!(Number(pathGet(stopped, 'at')) > receivedAt)) return
        clearInterval(looking)
        note(id, 'stopped', { by: String(pathGet(stopped, 'by')) })
        stop()
      }
      const begin = async (workspace: Workspace) => {
        const { api } = workspace
        const begun = api.agents.sessions.setStatus({ ...place, status: 'processing' })
        workspace.isAgent = await begun.then(() => true).catch(() => false)
        const title = text.trim().split('\n')[0]?.slice(0, 80)
        if (!title || !isDirect(place.channel_id)) return
        const isNew = await kv.set(nameOf('title', conversation), true, { ttl: KEPT, ifVersion: 0 })
        if (isNew) await api.assistant.threads.setTitle({ ...place, title })
      }

      return {
        tool(name?: string) {
          if (!looking) show(begin)
          looking ??= setInterval(() => void attempt(look), LOOK)
          say(name === undefined ? 'is thinking…' : `is using ${name}…`)
        },
        end() {
          ended(id)
          if (!looking) return
          clearInterval(looking)
          say('')
          show(({ api, isAgent }) => isAgent && api.agents.sessions.setStatus({ ...place, status: 'active' }))
        },
      }
    },
  }
}

/** The home of an app that has direct messages, all of which belong to the assistant; another app has assistant threads. */
const isHomeOpened = ({ event, extra }: Draft) => event === 'app_home_opened' && extra.tab === 'messages'

const asksForGreeting = (draft: Draft) => isHomeOpened(draft) || draft.event === 'assistant_thread_started'

/** Greets in a new thread, and suggests prompts. */
async function greet(
  draft: Draft,
  { api, threads }: Workspace,
  { greeting = '', prompts = [] }: NonNullable<SlackOptions['assistant']> = {},
): Promise<void> {
  const { channel, thread } = draft
  await threads.join(channel, thread)
  const place = defined({ thread_ts: thread })
  const [shown] = isHomeOpened(draft) ? [] : markdownPosts(greeting)
  if (shown) await api.chat.postMessage({ channel, ...place, ...shown })
  if (prompts.length === 0) return
  await api.assistant.threads.setSuggestedPrompts({ channel_id: channel, ...place, prompts })
}
