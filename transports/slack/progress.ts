import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import type { Accepted } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import { CALL_TIMEOUT, slackFailure } from './api.ts'
import type { Draft } from './inbound/delivery.ts'
import type { SlackOptions } from './options.ts'
import type { Workspaces } from './workspaces/workspaces.ts'

const EMOJI = { working: 'eyes', done: 'white_check_mark', failed: 'warning' }
/** Messages that are done this soon (ms), or have no route, get no reaction. */
const SOON = 400
const LONGEST = 15 * 60_000
/** Maximum number of messages with reactions at a time, because of Slack's rate limits. */
const MAX_FOLLOWED = 100
/** How long (ms) a killed daemon may be away. */
const KEPT = 86_400_000

/** The sender, and how to message only them. */
const askerSchema = z.object({
  user: z.string(),
  thread: z.string().exactOptional(),
  responseUrl: z.string().exactOptional(),
})

type Asker = z.infer<typeof askerSchema>

/** A message by Slack's ids and ours. Commands and clicks have no `ts`. */
type Followed = { team: string; channel: string; ts: string; id: string }

/**
 * Shows the progress of a message by reactions and, if it fails, by a note that only its author
 * sees. Best effort: never delays anything.
 */
export function createProgress({ progress }: SlackOptions, deps: TransportDeps, workspaces: Workspaces) {
  const { kv, log, settled } = deps
  const prefix = `slack/${deps.gateway}/working/`
  const nameOf = ({ team, channel, ts, id }: Followed) => prefix + [team, channel, ts, id].join('/')
  let count = 0
  let ended = progress === 'off'
  const react = createReactions(workspaces, log)

  const show = async (followed: Followed, asker: Asker) => {
    const early = await settled(followed.id, SOON)
    if (early === 'unrouted' || ended) return
    if (early !== undefined) return conclude(followed, asker, early)
    // Stored first, so that a killed daemon leaves no reaction behind.
    await kv.set(nameOf(followed), asker, { ttl: KEPT })
    await react(followed, 'add', EMOJI.working)
    await showEnd(followed, asker)
  }

  const showEnd = async (followed: Followed, asker: Asker) => {
    const outcome = await settled(followed.id, LONGEST)
    // Of several waiting daemons, one shows it.
    if (ended || !(await kv.delete(nameOf(followed)))) return
    await react(followed, 'remove', EMOJI.working)
    if (outcome === 'done' || outcome === 'failed') await conclude(followed, asker, outcome)
  }

  const conclude = async (followed: Followed, asker: Asker, outcome: 'done' | 'failed') => {
    await react(followed, 'add', EMOJI[outcome])
    if (outcome === 'failed') await tellFailed(followed, asker, workspaces)
  }

  /** Runs in the background, up to the maximum number. Never rejects. */
  const beside = async (run: () => Promise<void>) => {
    if (ended || count >= MAX_FOLLOWED) return
    count++
    await run().catch((error) => log.debug({ reason: reasonOf(error) }, 'progress could not be shown'))
    count--
  }

  return {
    follow({ team, channel, ts = '', ...draft }: Draft, { id }: Accepted): void {
      // Ephemeral messages are invisible in a thread that does not exist yet.
      const thread = draft.startsThread ? undefined : draft.thread
      const asker = defined({ user: draft.user, thread, responseUrl: draft.responseUrl })
      void beside(() => show({ team, channel, ts, id }, asker))
    },
    /** Removes reactions left by earlier or killed daemons. Never rejects. */
    resume: () =>
      beside(async () => {
        for (const key of await kv.list(prefix, MAX_FOLLOWED)) {
          const [team = '', channel = '', ts = '', id = ''] = key.slice(prefix.length).split('/')
          const asker = askerSchema.safeParse((await kv.get(key))?.value).data ?? { user: '' }
          void beside(() => showEnd({ team, channel, ts, id }, asker))
        }
      }),
    stop(): void {
      ended = true
    },
  }
}

/** Sets reactions, except in workspaces whose token does not allow it. Never rejects. */
function createReactions(workspaces: Workspaces, log: TransportDeps['log']) {
  const without = new Set<string>()

  return async ({ team, channel, ts: timestamp }: Followed, verb: 'add' | 'remove', name: string) => {
    if (without.has(team) || timestamp === '') return
    try {
      const workspace = await workspaces.find(team)
      await workspace?.api.reactions[verb]({ channel, name, timestamp })
    } catch (error) {
      const { code, reason } = slackFailure(error)
      log.debug({ reason }, 'a reaction could not be set')
      if (code !== 'missing_scope') return
      without.add(team)
      log.warn({ team }, 'no reactions: the bot token lacks the scope reactions:write')
    }
  }
}

/** Tells the author that there is no answer, without the error, which may be confidential. */
async function tellFailed(
  { team, channel, id }: Followed,
  { user, thread, responseUrl }: Asker,
  workspaces: Workspaces,
): Promise<void> {
  if (!/^[UW]/.test(user)) return
  const text = `I could not answer that. For whoever runs me: \`trivium message show ${id}\` says why.`
  const body = JSON.stringify({ response_type: 'ephemeral', replace_original: false, text })
  const headers = { 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(CALL_TIMEOUT)
  if (responseUrl) return void (await fetch(responseUrl, { method: 'POST', headers, body, signal }))
  const workspace = await workspaces.find(team)
  await workspace?.api.chat.postEphemeral({ channel, user, text, ...defined({ thread_ts: thread }) })
}
