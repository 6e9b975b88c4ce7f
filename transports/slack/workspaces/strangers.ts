import type { JsonObject } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'

/** For so long a workspace without a token is told of after one of its events (ms), and then logged again. */
const STRANGE = 3_600_000

/** Reports workspaces that send events but have no token here: in the log, the metrics and the status. */
export function createStrangers(
  { log, now, refused }: Pick<TransportDeps, 'log' | 'now' | 'refused'>,
  { isInstalled }: { isInstalled: boolean },
) {
  /** When an event of a workspace was logged last (Unix ms). */
  const logged = new Map<string, number>()
  const isRecent = (at = 0) => at > now() - STRANGE
  const none = isInstalled
    ? 'nobody installed the app there'
    : 'no bot token here is for it; add one to botToken'
  const whyRefused = (team: string) =>
    `events of the workspace ${team} are refused: ${none}, or remove the app there`

  return {
    /** A workspace of which a payload was refused. */
    refuse(team: string, payload: JsonObject): void {
      refused('unknown_team', { from: team, why: whyRefused(team), body: JSON.stringify(payload) })
      if (isRecent(logged.get(team))) return
      logged.set(team, now())
      log.warn({ team }, whyRefused(team))
    },
    /** A workspace that has a token. */
    forget: (team: string) => void logged.delete(team),
    faults: () => [...logged].flatMap(([team, at]) => (isRecent(at) ? [whyRefused(team)] : [])),
  }
}
