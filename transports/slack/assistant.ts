import { reasonOf } from '../../src/core/errors.ts'
import { pathGet } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { DAY } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { conversationOf, targetSchema } from './conversation.ts'
import type { Draft } from './inbound/delivery.ts'
import { isDirect } from './inbound/read-event.ts'
import type { SlackOptions } from './options.ts'
import { STOP_ACTION } from './outbound/post-blocks.ts'
import { markdownPosts } from './outbound/slack-fields.ts'
import type { Workspace } from './workspaces/workspace.ts'
import type { Workspaces } from './workspaces/workspaces.ts'

/** Interval at which a run checks for Stop, which another daemon may have received. */
const STOP_POLL_MS = 1_000
/** How long stops and thread titles are remembered. */
const RECORD_TTL_MS = 90 * DAY
/** Maximum characters of the title of a thread. */
const MAX_TITLE = 80

/**
 * Slack's features for agents (https://docs.slack.dev/ai) besides replies: greeting, prompts,
 * thread titles, a status while a model works, and Stop. Best effort: nothing waits for them.
 * `ended` is called with the id of the message whose run ended.
 */
export function createAssistant(
  { assistant, progress }: SlackOptions,
  { gateway, kv, log, now, note }: TransportDeps,
  workspaces: Workspaces,
  ended: (messageId: string) => void,
) {
  const nameOf = (what: string, conversation: string) => `slack/${gateway}/${what}/${conversation}`

  const attempt = createAttempt(log)

  return {
    /**
     * Records a stop, or greets, after a message was accepted. `isListened`: a Bolt app gets it
     * and does the greeting. Never rejects.
     */
    onAccepted: (draft: Draft, { isListened }: { isListened: boolean }) =>
      attempt(async () => {
        const { event, extra, team, user } = draft
        if (event === 'agent_session_stopped' || extra.action === STOP_ACTION)
          await kv.set(nameOf('stop', conversationOf(draft)), { at: now(), by: user }, { ttl: RECORD_TTL_MS })
        if (isListened) return
        const workspace = asksForGreeting(draft) ? await workspaces.find(team) : undefined
        if (workspace) await greet(draft, workspace, assistant)
      }),
    /** `Transport.working`. */
    working({ id, conversation, receivedAt, text, data }: Message, stop: () => void) {
      const { data: target } = targetSchema.safeParse(data.replyTarget)
      const place = { channel_id: target?.channel ?? '', thread_ts: target?.thread ?? '' }
      let stopTimer: NodeJS.Timeout | undefined
      let hasEnded = false
      let last: Promise<unknown> = Promise.resolve()

      /**
       * Makes a call after the previous ones. Does nothing for ephemeral messages, and outside
       * threads, because only threads have a status.
       */
      const show = (call: (workspace: Workspace) => unknown) => {
        const { team, thread, responseUrl } = target ?? {}
        if (!team || !thread || responseUrl || progress === 'off') return
        const run = () => workspaces.find(team).then((workspace) => workspace && call(workspace))
        last = last.then(() => attempt(run))
      }
      const setStatus = (status: string) =>
        show(({ api }) => api.assistant.threads.setStatus({ ...place, status }))
      const checkStop = async () => {
        const stopped = (await kv.get(nameOf('stop', conversation)))?.value
        if (!(Number(pathGet(stopped, 'at')) > receivedAt)) return
        clearInterval(stopTimer)
        note(id, 'stopped', { by: String(pathGet(stopped, 'by')) })
        stop()
      }
      const begin = async (workspace: Workspace) => {
        const { api } = workspace
        const accepted = api.agents.sessions.setStatus({ ...place, status: 'processing' })
        workspace.isAgent = await accepted.then(() => true).catch(() => false)
        const title = text.trim().split('\n')[0]?.slice(0, MAX_TITLE)
        if (!title || !isDirect(place.channel_id)) return
        const isNew = await kv.set(nameOf('title', conversation), true, { ttl: RECORD_TTL_MS, ifVersion: 0 })
        if (isNew) await api.assistant.threads.setTitle({ ...place, title })
      }

      return {
        tool(name?: string) {
          if (hasEnded) return // a skill may continue after its timeout
          if (!stopTimer) show(begin)
          stopTimer ??= setInterval(() => void attempt(checkStop), STOP_POLL_MS)
          setStatus(name === undefined ? 'is thinking…' : `is using ${name}…`)
        },
        end() {
          hasEnded = true
          ended(id)
          if (!stopTimer) return
          clearInterval(stopTimer)
          setStatus('')
          show(({ api, isAgent }) => isAgent && api.agents.sessions.setStatus({ ...place, status: 'active' }))
        },
      }
    },
  }
}

/** Creates the function that runs an action and logs its failure. It never rejects. */
function createAttempt(log: TransportDeps['log']) {
  return (action: () => Promise<unknown>): Promise<unknown> =>
    action().catch((error) => log.debug({ reason: reasonOf(error) }, 'a Slack feature for agents failed'))
}

/**
 * Whether someone opened the direct messages of the app. In such an app, they belong to the
 * assistant as a whole; other apps have assistant threads.
 */
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
  const [post] = isHomeOpened(draft) ? [] : markdownPosts(greeting)
  if (post) await api.chat.postMessage({ channel, ...place, ...post })
  if (prompts.length === 0) return
  await api.assistant.threads.setSuggestedPrompts({ channel_id: channel, ...place, prompts })
}
