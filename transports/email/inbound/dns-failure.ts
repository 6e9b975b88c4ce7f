import type { DNSResolver } from 'mailauth'

/**
 * Failures of the DNS that may pass. No other counts: what a name of the sender's choice can provoke, such as EBADNAME
 * or EFORMERR for a strange selector under somebody else's domain, must not look like an outage of that domain.
 */
const TEMPORARY = new Set([
  ...['ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'ECONNREFUSED', 'ECANCELLED'],
  ...['ENETUNREACH', 'EHOSTUNREACH', 'EAI_AGAIN', 'ENOTINITIALIZED', 'ELOADIPHLPAPI'],
])
/** Ms from the first look-up to the last. Senders choose how many there are, and how slow their servers answer. */
const LIMIT = 20_000

/** True for an error of a look-up that may succeed later. */
export function isTemporary(error: unknown): boolean {
  return error instanceof Error && 'code' in error && TEMPORARY.has(String(error.code))
}

/**
 * A resolver for one mail, or for one question about it. A look-up that fails for good says that there is no such name
 * (ENOTFOUND); when its time is up, all fail (ETIMEOUT).
 */
export function oneTimeResolver(resolver: DNSResolver, clock = () => performance.now()): DNSResolver {
  let end: number | undefined
  return async (domain, type) => {
    end ??= clock() + LIMIT
    if (clock() > end) throw failure('ETIMEOUT', `no time is left to look up ${type} of ${domain}`)
    try {
      return await resolver(domain, type)
    } catch (error) {
      const isNone =
        error instanceof Error && 'code' in error && /^(?:ENOTFOUND|ENODATA)$/.test(`${error.code}`)
      if (isNone || isTemporary(error)) throw error
      throw failure('ENOTFOUND', `there is no ${type} of ${domain}`, error)
    }
  }
}

function failure(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}
