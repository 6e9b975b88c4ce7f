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
/** What is done this fast needs no "working", and what no route wants gets no reaction at all. */
const SOON = 400
const LONGEST = 15 * 60_000
/** Under a flood nobody looks at reactions, and Slack would refuse them. */
const MAX_FOLLOWED = 100
/** For so long a daemon that was killed may be away. */
const KEPT = 86_400_000

/** Who asked, and how only they can be told. */
const askerSchema = z.object({
  user: z.string(),
  thread: z.string().exactOptional(),
  responseUrl: z.string().exactOptional(),
})

type Asker = z.infer<typeof askerSchema>

/** A message as Slack knows it and as we do. Commands and clicks have no `ts`. */
type Followed = { team: string; channel: string; ts: string; id: string }

/**
 * Shows what becomes of a message: reactions on it, and where it fails, a note to its author alone. Best effort: none of it
 * holds up anything.
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
    // Kept first: a daemon that is killed would leave the reaction there.
    await kv.set(nameOf(followed), asker, { ttl: KEPT })
    await react(followed, 'add', EMOJI.working)
    await showEnd(followed, asker)
  }

  const showEnd = async (followed: Followed, asker: Asker) => {
    const outcome = await settled(followed.id, LONGEST)
    // Of several daemons that wait for it, one shows it.
    if (ended || !(await kv.delete(nameOf(followed)))) return
    await react(followed, 'remove', EMOJI.working)
    if (outcome === 'done' || outcome === 'failed') await conclude(followed, asker, outcome)
  }

  const conclude = async (followed: Followed, asker: Asker, outcome: 'done' | 'failed') => {
    await react(followed, 'add', EMOJI[outcome])
    if (outcome === 'failed') await tellFailed(followed, asker, workspaces)
  }

  /** Runs beside all else, for as many as anybody looks at. Never rejects. */
  const beside = async (run: () => Promise<void>) => {
    if (ended || count >= MAX_FOLLOWED) return
    count++
    await run().catch((error) => log.debug({ reason: reasonOf(error) }, 'progress was not shown'))
    count--
  }

  return {
    follow({ team, channel, ts = '', ...draft }: Draft, { id }: Accepted): void {
      // An ephemeral message does not show in a thread that has none yet.
      const thread = draft.startsThread ? undefined : draft.thread
      const asker = defined({ user: draft.user, thread, responseUrl: draft.responseUrl })
      void beside(() => show({ team, channel, ts, id }, asker))
    },
    /** Ends what an earlier daemon, or one that was killed, had left as being worked on. Never rejects. */
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

/** Sets reactions, except in workspaces whose token may not react. Never rejects. */
function createReactions(workspaces: Workspaces, log: TransportDeps['log']) {
  const without = new Set<string>()

  return async ({ team, channel, ts: timestamp }: Followed, verb: 'add' | 'remove', name: string) => {
    if (without.has(team) || timestamp === '') return
    try {
      const workspace = await workspaces.find(team)
      await workspace?.api.reactions[verb]({ channel, name, timestamp })
    } catch (error) {
      const { code, reason } = slackFailure(error)
      log.debug({ reason }, 'a reaction was not set')
      if (code !== 'missing_scope') return
      without.add(team)
      log.warn({ team }, 'no reactions: the bot token lacks the scope reactions:write')
    }
  }
}

/** Tells who asked that there is no answer, without the reason: an error may hold what is not for them. */
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
