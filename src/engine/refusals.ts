import type { Log } from '../core/log.ts'
import type { Refused } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { createRareLog } from '../lib/log-rarely.ts'
import { startWithoutSecrets, withoutSecrets } from '../lib/secrets.ts'
import { createRefusalTally } from './refusal-tally.ts'
import { type Headers, shownHeaders } from './refused-headers.ts'

/** `at` in Unix ms; `body` is the start of the request body. Both are without credentials. */
export type Refusal = Omit<Refused, 'body' | 'headers' | 'secretHeader'> & {
  at: number
  gateway: string
  reason: string
  body?: string
  headers?: Record<string, string>
}

/** `begin`: the start of the request body, longer than shown because redaction may shorten it. */
type Kept = Omit<Refusal, 'body' | 'headers'> & {
  begin?: { text: string; isCut: boolean }
  headers?: Headers
  secretHeader?: string
}

/** Maximum number of kept refusals per gateway. */
const MAX_PER_GATEWAY = 50
/** Maximum characters of a body that are shown. */
const MAX_BODY = 500
/** Maximum characters of a body that are kept. */
const MAX_STORED = 4 * MAX_BODY

/**
 * Keeps the newest refusals of each gateway in memory. Each is counted and logged at debug; a
 * sample of each kind at info.
 */
export function createRefusals(options: {
  count(gateway: string, reason: string): void
  /** Counts a refused delivery in the history. */
  countDelivery?(gateway: string): void
  /** Secrets to redact. */
  secrets(): readonly string[]
  log: Log
  now(): number
}) {
  const { log } = options
  const logRarely = createRareLog(log)
  const newest = new Map<string, Kept[]>()
  const tally = createRefusalTally(options.now)
  const shown = ({ begin, why, headers, secretHeader, ...rest }: Kept): Refusal => {
    const secrets = options.secrets()
    const clean = defined({
      // It may contain the path of a request.
      why: why && withoutSecrets(why, secrets),
      headers: headers && shownHeaders(headers, secrets, secretHeader),
    })
    const refusal = { ...rest, ...clean }
    if (!begin) return refusal
    const redact = begin.isCut ? startWithoutSecrets : withoutSecrets
    const body = redact(begin.text, secrets).replaceAll(LIKELY_SECRET, '$1[secret]')
    return { ...refusal, body: body.slice(0, MAX_BODY) }
  }
  return {
    add(gateway: string, reason: string, { body, headers, secretHeader, ...who }: Refused = {}): void {
      options.count(gateway, reason)
      if (isDelivery(reason)) {
        tally.refused(gateway, reason, who)
        options.countDelivery?.(gateway)
      }
      log.debug({ gateway, reason, ...who }, 'a delivery was refused')
      logRarely(`${gateway} ${reason}`, 'info', 'deliveries are refused', { gateway, reason, ...who })
      const sent = defined({ begin: beginOf(body), headers, secretHeader })
      const one = { at: options.now(), gateway, reason, ...who, ...sent }
      const others = (newest.get(gateway) ?? []).filter(
        (other) => !(isCheck(reason) && isCheck(other.reason)),
      )
      newest.set(gateway, [one, ...others].slice(0, MAX_PER_GATEWAY))
    },
    /** Counts an accepted delivery of a gateway. */
    accepted: tally.accepted,
    /** Notes that a gateway has a new configuration. */
    changed: tally.changed,
    /** Notes how many kept deliveries the new configuration would accept. */
    keptFits: tally.keptFits,
    /** This daemon's refusals of the last hour, by gateway and reason. */
    counts: tally.list,
    /** Deliveries of a gateway in the last hour. */
    traffic: tally.traffic,
    /**
     * Refusals of the given gateways, newest first. Secrets are redacted only here, so that `add`
     * stays cheap in a flood.
     */
    list: (gateways: readonly string[]): Refusal[] =>
      gateways
        .flatMap((name) => newest.get(name) ?? [])
        .sort((a, b) => b.at - a.at)
        .map(shown),
  }
}

/**
 * False for requests of monitors (`isCheck`), replies that were not sent, and bounces of replies:
 * these are listed, but are not deliveries.
 */
function isDelivery(reason: string): boolean {
  return !isCheck(reason) && !/^(reply:.*|bounce)$/.test(reason)
}

/**
 * True for a request with a method that the gateway does not serve. Monitors send one a minute, so
 * only the newest is kept.
 */
function isCheck(reason: string): boolean {
  return reason === 'method_not_allowed'
}

/** The start of a body. Copied, as a slice would keep the whole body in memory. */
function beginOf(body: string | Buffer | undefined): Kept['begin'] {
  if (body === undefined) return undefined
  const begin = body.slice(0, MAX_STORED)
  const text = typeof begin === 'string' ? Buffer.from(begin).toString() : begin.toString()
  return { text, isCut: body.length > MAX_STORED }
}

/** Values that JSON or a form labels as a secret. */
const LIKELY_SECRET = /((?:token|secret|passw(?:or)?d|api[-_]?key)"?\s*[:=]\s*"?)[^"&\s,}]+/gi
