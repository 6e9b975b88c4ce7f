import type { JsonObject } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { HOUR } from '../../../src/core/units.ts'

/**
 * How long a workspace is reported after an event of it was logged, and the interval of log lines
 * about it.
 */
const REPORT_MS = HOUR

/**
 * Reports workspaces that send events but have no token here: in the log, the metrics and the
 * status.
 */
export function createUnknownWorkspaces(
  { log, now, refused }: Pick<TransportDeps, 'log' | 'now' | 'refused'>,
  { isInstalled }: { isInstalled: boolean },
) {
  /** Time of the last log line per workspace (Unix ms). */
  const logged = new Map<string, number>()
  const isRecent = (at = 0) => at > now() - REPORT_MS
  const cause = isInstalled
    ? 'nobody installed the app there'
    : 'no bot token belongs to it; add one to bot-token'
  const whyRefused = (team: string) =>
    `events of the workspace ${team} are refused: ${cause}, or remove the app there`

  return {
    /** Reports a refused payload of a workspace. */
    refuse(team: string, payload: JsonObject): void {
      refused('unknown_team', { from: team, why: whyRefused(team), body: JSON.stringify(payload) })
      if (isRecent(logged.get(team))) return
      logged.set(team, now())
      log.warn({ team }, whyRefused(team))
    },
    /** Ends the report about a workspace, which has a token now. */
    forget: (team: string) => void logged.delete(team),
    faults: () => [...logged].flatMap(([team, at]) => (isRecent(at) ? [whyRefused(team)] : [])),
  }
}
