import { reasonOf } from '../../src/core/errors.ts'
import type { Accepted } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { slackFailure } from './api.ts'
import type { Draft } from './inbound/delivery.ts'
import type { SlackOptions } from './options.ts'
import type { Workspaces } from './workspaces.ts'

const EMOJI = { working: 'eyes', done: 'white_check_mark', failed: 'warning' }
/** What is done this fast needs no "working", and what no route wants gets no reaction at all. */
const SOON = 400
const LONGEST = 15 * 60_000
/** Under a flood nobody looks at reactions, and Slack would refuse them. */
const MAX_FOLLOWED = 100
/** For so long a daemon that was killed may be away. */
const KEPT = 86_400_000

/** Reactions that show on a message what becomes of it. Best effort: none of it holds up anything. */
export function createProgress({ progress }: SlackOptions, deps: TransportDeps, workspaces: Workspaces) {
  const { kv, log, settled } = deps
  const prefix = `slack/${deps.gateway}/working/`
  let followed = 0
  let ended = progress === 'off'
  /** Workspaces whose token may not react. */
  const without = new Set<string>()

  /** `marked`: TEAM/CHANNEL/TS/ID, the message as Slack knows it and as we do. */
  const react = async (marked: string, verb: 'add' | 'remove', name: string) => {
    const [team = '', channel = '', timestamp = ''] = marked.split('/')
    if (without.has(team)) return
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

  const show = async (marked: string, id: string) => {
    const early = await settled(id, SOON)
    if (early === 'unrouted' || ended) return
    if (early !== undefined) return react(marked, 'add', EMOJI[early])
    // Kept first: a daemon that is killed would leave the reaction for good.
    await kv.set(prefix + marked, true, { ttl: KEPT })
    await react(marked, 'add', EMOJI.working)
    await showEnd(marked, id)
  }

  const showEnd = async (marked: string, id: string) => {
    const outcome = await settled(id, LONGEST)
    // Of several daemons that wait for it, one shows it.
    if (ended || !(await kv.delete(prefix + marked))) return
    await react(marked, 'remove', EMOJI.working)
    if (outcome === 'done' || outcome === 'failed') await react(marked, 'add', EMOJI[outcome])
  }

  /** Runs beside all else, for as many as anybody looks at. Never rejects. */
  const beside = async (run: () => Promise<void>) => {
    if (ended || followed >= MAX_FOLLOWED) return
    followed++
    await run().catch((error) => log.debug({ reason: reasonOf(error) }, 'progress was not shown'))
    followed--
  }

  return {
    follow({ team, channel, ts }: Draft, { id }: Accepted): void {
      void beside(() => show([team, channel, ts, id].join('/'), id))
    },
    /** Ends what an earlier daemon, or one that was killed, had left as being worked on. Never rejects. */
    resume: () =>
      beside(async () => {
        for (const key of await kv.list(prefix, MAX_FOLLOWED)) {
          const marked = key.slice(prefix.length)
          void beside(() => showEnd(marked, marked.split('/').at(-1) ?? ''))
        }
      }),
    stop(): void {
      ended = true
    },
  }
}
