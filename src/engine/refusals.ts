import type { Log } from '../core/log.ts'
import type { Refusal } from '../core/services.ts'
import type { Refused } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { createRareLog } from '../lib/log-rarely.ts'
import { withoutSecrets } from '../lib/secrets.ts'
import { createRefusalTally } from './refusal-tally.ts'

/** How many refusals of a gateway are kept, and how many characters of what was sent. */
const KEPT = 50
const SHOWN = 500

/** The newest refusals of each gateway, in the memory of this daemon. Each is counted, and logged at debug; one of many of a kind at info. */
export function createRefusals(options: {
  count(gateway: string, reason: string): void
  /** Texts that must not be shown. */
  secrets(): readonly string[]
  log: Log
  now(): number
}) {
  const { log } = options
  const logRarely = createRareLog(log)
  const newest = new Map<string, Refusal[]>()
  const tally = createRefusalTally(options.now)
  const shown = ({ body, ...refusal }: Refusal): Refusal => {
    if (body === undefined) return refusal
    const clean = withoutSecrets(body, options.secrets()).replaceAll(LIKELY_SECRET, '$1[secret]')
    return { ...refusal, body: clean.slice(0, SHOWN) }
  }
  return {
    add(gateway: string, reason: string, { body, ...who }: Refused = {}): void {
      options.count(gateway, reason)
      tally.refused(gateway, reason, who)
      log.debug({ gateway, reason, ...who }, 'it was refused')
      logRarely(`${gateway} ${reason}`, 'info', 'what came in is refused', { gateway, reason, ...who })
      const one = { at: options.now(), gateway, reason, ...who, ...defined({ body: beginOf(body) }) }
      newest.set(gateway, [one, ...(newest.get(gateway) ?? [])].slice(0, KEPT))
    },
    /** A delivery of the gateway was accepted. */
    accepted: tally.accepted,
    /** What this daemon refused within the last hour, by gateway and reason. */
    counts: tally.list,
    /** Newest first, of these gateways. Secrets go only here: whoever floods a gateway must not have us search for them. */
    list: (gateways: readonly string[]): Refusal[] =>
      gateways
        .flatMap((name) => newest.get(name) ?? [])
        .sort((a, b) => b.at - a.at)
        .map(shown),
  }
}

/** More than is shown, so that no secret is cut in two before it is looked for. Copied: a slice keeps the whole alive. */
function beginOf(body: string | Buffer | undefined): string | undefined {
  const begin = body?.slice(0, 4 * SHOWN)
  return typeof begin === 'string' ? Buffer.from(begin).toString() : begin?.toString()
}

/** A value that JSON or a form calls a secret. */
const LIKELY_SECRET = /((?:token|secret|passw(?:or)?d|api[-_]?key)"?\s*[:=]\s*"?)[^"&\s,}]+/gi
