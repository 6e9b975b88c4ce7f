import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import { z } from 'zod'
import { inTime } from '../../../src/lib/pause.ts'

const TIMEOUT = 3000
/** Ms for all look-ups of a mail, as senders choose how many and how slow they are; what needs longer is tried again. */
const LIMIT = 10_000

/**
 * Failures of the DNS that may pass. No other counts: what a name of the sender's choice can provoke, such as EBADNAME
 * or EFORMERR for a strange selector under somebody else's domain, must not look like an outage of that domain.
 */
const TEMPORARY =
  /^(?:ETIMEOUT|ESERVFAIL|EREFUSED|ECONNREFUSED|ECANCELLED|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTINITIALIZED|ELOADIPHLPAPI)$/

// mailauth reads `{ exchange, priority }` for MX, which its type for resolvers leaves out.
const records = z.custom<string[][] | string[]>((value) => Array.isArray(value))

/** The DNS, for mail authentication. */
export function createResolver(): DNSResolver {
  const dns = new Resolver({ timeout: TIMEOUT, tries: 2 })
  return async (domain, type) => records.parse(await dns.resolve(domain, type))
}

/** True for an error of a look-up that may succeed later. */
export function isTemporary(error: unknown): boolean {
  return TEMPORARY.test(codeOf(error))
}

/**
 * A resolver for one question about a mail. A look-up that fails for good says that there is no such name
 * (ENOTFOUND); when its time is up, all fail (ETIMEOUT), also those that are under way.
 */
export function oneTimeResolver(resolver: DNSResolver, limit = LIMIT): DNSResolver {
  let late: AbortSignal | undefined
  return async (domain, type) => {
    late ??= AbortSignal.timeout(limit)
    try {
      const answer = await inTime(resolver(domain, type), late)
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
