import type { DNSResolver } from 'mailauth'

/**
 * Failures of the DNS that may pass. No other counts: what a name of the sender's choice can provoke, such as EBADNAME
 * or EFORMERR for a strange selector under somebody else's domain, must not look like an outage of that domain.
 */
const TEMPORARY = new Set([
  ...['ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'ECONNREFUSED', 'ECANCELLED'],
  ...['ENETUNREACH', 'EHOSTUNREACH', 'EAI_AGAIN', 'ENOTINITIALIZED', 'ELOADIPHLPAPI'],
])

/** True for an error of a look-up that may succeed later. */
export function isTemporary(error: unknown): boolean {
  return error instanceof Error && 'code' in error && TEMPORARY.has(String(error.code))
}

/** A resolver that says of every look-up that fails for good that there is no such name (ENOTFOUND). */
export function lastingFailures(resolver: DNSResolver): DNSResolver {
  return async (domain, type) => {
    try {
      return await resolver(domain, type)
    } catch (error) {
      const known =
        error instanceof Error && 'code' in error && /^(?:ENOTFOUND|ENODATA)$/.test(String(error.code))
      if (known || isTemporary(error)) throw error
      throw Object.assign(new Error(`no ${type} of ${domain}`, { cause: error }), { code: 'ENOTFOUND' })
    }
  }
}
