import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import type { Accepted } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { DAY, MINUTE } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { slackFailure } from './api.ts'
import type { Draft } from './inbound/delivery.ts'
import type { SlackOptions } from './options.ts'
import { responseRequest } from './response-url.ts'
import type { Workspaces } from './workspaces/workspaces.ts'

const EMOJI = { working: 'eyes', done: 'white_check_mark', failed: 'warning' }
/** A message that is done sooner gets only the reaction for its outcome. */
const WORKING_AFTER_MS = 400
/** After this time, the reaction for the progress is removed. */
const MAX_WORKING_MS = 15 * MINUTE
/** Maximum number of messages with reactions at a time, because of Slack's rate limits. */
const MAX_FOLLOWED = 100
/**
 * How long a message with a reaction is remembered, so that a daemon that was killed can remove the
 * reaction.
 */
const RECORD_TTL_MS = DAY

/** The sender, and how to message only them. */
const askerSchema = z.object({
  user: z.string(),
  thread: z.string().exactOptional(),
  responseUrl: z.string().exactOptional(),
})

type Asker = z.infer<typeof askerSchema>

/** A message by Slack's ids and ours. `ts` is empty for commands and clicks. */
type Followed = { team: string; channel: string; ts: string; id: string }

/**
 * Shows the progress of a message by reactions and, if it fails, by a post that only its author
 * sees. Best effort: nothing waits for it.
 */
export function createProgress({ progress }: SlackOptions, deps: TransportDeps, workspaces: Workspaces) {
  const { kv, log, settled } = deps
  const prefix = `slack/${deps.gateway}/working/`
  const nameOf = ({ team, channel, ts, id }: Followed) => prefix + [team, channel, ts, id].join('/')
  let count = 0
  let isOff = progress === 'off'
  const react = createReactions(workspaces, log)

  const show = async (followed: Followed, asker: Asker) => {
    const early = await settled(followed.id, WORKING_AFTER_MS)
    if (early === 'unrouted' || isOff) return
    if (early !== undefined) return showOutcome(followed, asker, early)
    // Stored first, so that the reaction of a killed daemon is found.
    await kv.set(nameOf(followed), asker, { ttl: RECORD_TTL_MS })
    await react(followed, 'add', EMOJI.working)
    await showEnd(followed, asker)
  }

  const showEnd = async (followed: Followed, asker: Asker) => {
    const outcome = await settled(followed.id, MAX_WORKING_MS)
    // Of several waiting daemons, only the one that deletes the record continues.
    if (isOff || !(await kv.delete(nameOf(followed)))) return
    await react(followed, 'remove', EMOJI.working)
    if (outcome === 'done' || outcome === 'failed') await showOutcome(followed, asker, outcome)
  }

  const showOutcome = async (followed: Followed, asker: Asker, outcome: 'done' | 'failed') => {
    await react(followed, 'add', EMOJI[outcome])
    if (outcome === 'failed') await tellFailed(followed, asker, workspaces)
  }

  /** Runs in the background, up to the maximum number. Never rejects. */
  const inBackground = async (run: () => Promise<void>) => {
    if (isOff || count >= MAX_FOLLOWED) return
    count++
    await run().catch((error) => log.debug({ reason: reasonOf(error) }, 'progress could not be shown'))
    count--
  }

  return {
    /** Shows the progress of an accepted message. */
    follow({ team, channel, ts = '', ...draft }: Draft, { id }: Accepted): void {
      // Ephemeral messages are invisible in a thread that does not exist yet.
      const thread = draft.startsThread ? undefined : draft.thread
      const asker = defined({ user: draft.user, thread, responseUrl: draft.responseUrl })
      void inBackground(() => show({ team, channel, ts, id }, asker))
    },
    /**
     * Continues with the messages of stopped or killed daemons, which may have left reactions.
     * Never rejects.
     */
    resume: () =>
      inBackground(async () => {
        for (const key of (await kv.list(prefix, MAX_FOLLOWED)).items) {
          const [team = '', channel = '', ts = '', id = ''] = key.slice(prefix.length).split('/')
          // Without a readable record nobody can be notified of a failure.
          const asker = askerSchema.safeParse((await kv.get(key))?.value).data ?? { user: '' }
          void inBackground(() => showEnd({ team, channel, ts, id }, asker))
        }
      }),
    stop(): void {
      isOff = true
    },
  }
}

/**
 * Creates the function that sets reactions, except in workspaces whose token does not allow it. It
 * never rejects.
 */
function createReactions(workspaces: Workspaces, log: TransportDeps['log']) {
  const withoutScope = new Set<string>()

  return async ({ team, channel, ts: timestamp }: Followed, verb: 'add' | 'remove', name: string) => {
    if (withoutScope.has(team) || timestamp === '') return
    try {
      const workspace = await workspaces.find(team)
      await workspace?.api.reactions[verb]({ channel, name, timestamp })
    } catch (error) {
      const { code, reason } = slackFailure(error)
      log.debug({ reason }, 'a reaction could not be set')
      if (code !== 'missing_scope') return
      withoutScope.add(team)
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
  const body = { response_type: 'ephemeral', replace_original: false, text }
  if (responseUrl) return void (await fetch(responseUrl, responseRequest(body)))
  const workspace = await workspaces.find(team)
  await workspace?.api.chat.postEphemeral({ channel, user, text, ...defined({ thread_ts: thread }) })
}
