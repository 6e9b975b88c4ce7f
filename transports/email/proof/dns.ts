import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import { z } from 'zod'
import { inTime } from '../../../src/lib/pause.ts'

/** Timeout of one attempt of a lookup. */
const TIMEOUT_MS = 3_000
const TRIES = 2
/**
 * Maximum total time of a mail's lookups. Senders control their number and speed. A slower mail is
 * retried later.
 */
const LIMIT_MS = 10_000

/**
 * Temporary DNS failures. Errors that a sender can provoke, such as EBADNAME or EFORMERR for a
 * strange selector under another domain, must not look like an outage of that domain.
 */
const TEMPORARY =
  /^(?:ETIMEOUT|ESERVFAIL|EREFUSED|ECONNREFUSED|ECANCELLED|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTINITIALIZED|ELOADIPHLPAPI)$/

// mailauth reads `{ exchange, priority }` for MX, which is missing in its resolver type.
const records = z.custom<string[][] | string[]>((value) => Array.isArray(value))

/** The DNS resolver for mail authentication. */
export function createResolver(): DNSResolver {
  const dns = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  return async (domain, type) => records.parse(await dns.resolve(domain, type))
}

/** Whether a failed lookup may succeed later. */
export function isTemporary(error: unknown): boolean {
  return TEMPORARY.test(codeOf(error))
}

/**
 * A resolver for one mail. Permanent failures become ENOTFOUND. `limit` ms after the first lookup,
 * all lookups fail with ETIMEOUT, including running ones.
 */
export function oneTimeResolver(resolver: DNSResolver, limit = LIMIT_MS): DNSResolver {
  let timeout: AbortSignal | undefined
  return async (domain, type) => {
    timeout ??= AbortSignal.timeout(limit)
    try {
      const answer = await inTime(resolver(domain, type), timeout)
      if (answer) return answer
    } catch (error) {
      if (isTemporary(error) || /^(?:ENOTFOUND|ENODATA)$/.test(codeOf(error))) throw error
      throw Object.assign(new Error(`there is no ${type} of ${domain}`, { cause: error }), {
        code: 'ENOTFOUND',
      })
    }
    throw Object.assign(new Error(`no time is left to look up ${type} of ${domain}`), { code: 'ETIMEOUT' })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
