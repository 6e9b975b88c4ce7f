import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { slackFailure } from './failure.ts'
import type { OnAccepted } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

/** Reactions that show on a message what becomes of it. Best effort: none of it holds up anything. */
export type Progress = {
  follow: OnAccepted
  /** Ends what an earlier daemon, or one that was killed, had left as being worked on. Never rejects. */
  resume(workspaces: Pick<Workspaces, 'find'>): Promise<void>
  stop(): void
}

const EMOJI = { working: 'eyes', done: 'white_check_mark', failed: 'warning' }
/** What is done this fast needs no "working", and what no route wants gets no reaction at all. */
const SOON = 400
const LONGEST = 15 * 60_000
/** Under a flood nobody looks at reactions, and Slack would refuse them. */
const MAX_FOLLOWED = 100
/** For so long a daemon that was killed may be away. */
const KEPT = 86_400_000

const placeSchema = z.object({ team: z.string(), channel: z.string(), ts: z.string() })

type Place = z.infer<typeof placeSchema>

export function createProgress({ progress }: SlackOptions, deps: TransportDeps): Progress {
  if (progress === 'off') return { follow() {}, async resume() {}, stop() {} }
  const prefix = `slack/${deps.gateway}/working/`
  let followed = 0
  let ended = false

  const react = async ({ api }: Workspace, verb: 'add' | 'remove', name: string, place: Place) => {
    try {
      const { channel, ts: timestamp } = place
      await api.call(`reactions.${verb}`, (web) => web.reactions[verb]({ channel, name, timestamp }))
    } catch (error) {
      const { code, reason } = slackFailure(error)
      deps.log.debug({ reason }, 'a reaction was not set')
      if (code !== 'missing_scope') return
      ended = true
      deps.log.warn({}, 'no reactions: the bot token lacks the scope reactions:write')
    }
  }

  const show = async (messageId: string, place: Place, workspace: Workspace) => {
    const early = await deps.settled(messageId, SOON)
    if (early === 'unrouted' || ended) return
    if (early !== undefined) return react(workspace, 'add', EMOJI[early], place)
    // Kept first: a daemon that is killed would leave the reaction for good.
    await deps.kv.set(prefix + messageId, place, { ttl: KEPT })
    await react(workspace, 'add', EMOJI.working, place)
    await showEnd(messageId, place, workspace)
  }

  const showEnd = async (messageId: string, place: Place, workspace: Workspace) => {
    const outcome = await deps.settled(messageId, LONGEST)
    // Of several daemons that wait for it, one shows it.
    if (ended || !(await deps.kv.delete(prefix + messageId))) return
    await react(workspace, 'remove', EMOJI.working, place)
    if (outcome === 'done' || outcome === 'failed') await react(workspace, 'add', EMOJI[outcome], place)
  }

  /** Runs beside all else, for as many as anybody looks at. Never rejects. */
  const beside = async (run: () => Promise<void>) => {
    if (ended || followed >= MAX_FOLLOWED) return
    followed++
    try {
      await run()
    } catch (error) {
      deps.log.debug({ reason: reasonOf(error) }, 'progress was not shown')
    }
    followed--
  }

  return {
    follow({ team, channel, ts, source }, { id }, workspace) {
      if (source && ts) void beside(() => show(id, { team, channel, ts }, workspace))
    },
    resume: (workspaces) =>
      beside(async () => {
        for (const key of await deps.kv.list(prefix, MAX_FOLLOWED)) {
          const place = placeSchema.safeParse((await deps.kv.get(key))?.value).data
          const workspace = place && workspaces.find(place.team)
          if (workspace) void beside(() => showEnd(key.slice(prefix.length), place, workspace))
        }
      }),
    stop() {
      ended = true
    },
  }
}
