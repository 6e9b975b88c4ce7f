import { reasonOf } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { slackFailure } from './failure.ts'
import type { OnAccepted } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspace } from './workspaces.ts'

/** Reactions that show on a message what becomes of it. Best effort: none of it holds up anything. */
export type Progress = { follow: OnAccepted; stop(): void }

/** What is done this fast needs no "working", and what no route wants gets no reaction at all. */
const SOON = 400
const LONGEST = 15 * 60_000
/** Under a flood nobody looks at reactions, and Slack would refuse them. */
const MAX_FOLLOWED = 100

export function createProgress(options: SlackOptions, deps: TransportDeps): Progress {
  const { progress } = options
  let followed = 0
  let ended = false

  const react = async (workspace: Workspace, verb: 'add' | 'remove', name: string, place: Place) => {
    try {
      const { channel, ts: timestamp } = place
      await workspace.api.tryCall(`reactions.${verb}`, (web) =>
        web.reactions[verb]({ channel, name, timestamp }),
      )
    } catch (error) {
      const failure = slackFailure(error)
      if (failure.kind === 'rejected' && failure.code === 'missing_scope') {
        ended = true
        deps.log.warn({}, 'no reactions: the bot token lacks the scope reactions:write')
      } else deps.log.debug({ reason: failure.reason }, 'a reaction was not set')
    }
  }

  const show = async (messageId: string, place: Place, workspace: Workspace) => {
    if (progress === 'off') return
    const early = await deps.settled(messageId, SOON)
    if (early === 'unrouted' || ended) return
    if (early !== undefined) return react(workspace, 'add', progress[early], place)
    await react(workspace, 'add', progress.working, place)
    const outcome = await deps.settled(messageId, LONGEST)
    if (ended) return
    await react(workspace, 'remove', progress.working, place)
    if (outcome === 'done' || outcome === 'failed') await react(workspace, 'add', progress[outcome], place)
  }

  return {
    follow({ channel, ts, source }, { id }, workspace) {
      if (source === undefined || !channel || !ts || ended || progress === 'off' || followed >= MAX_FOLLOWED)
        return
      followed++
      void show(id, { channel, ts }, workspace)
        .catch((error: unknown) => deps.log.debug({ reason: reasonOf(error) }, 'progress was not shown'))
        .finally(() => {
          followed--
        })
    },
    stop() {
      ended = true
    },
  }
}

type Place = { channel: string; ts: string }
