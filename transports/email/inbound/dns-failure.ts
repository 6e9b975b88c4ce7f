import type { DNSResolver } from 'mailauth'

/**
 * Failures of the DNS that may pass. No other counts: what a name of the sender's choice can provoke, such as EBADNAME
 * or EFORMERR for a strange selector under somebody else's domain, must not look like an outage of that domain.
 */
const TEMPORARY = new Set([
  ...['ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'ECONNREFUSED', 'ECANCELLED'],
  ...['ENETUNREACH', 'EHOSTUNREACH', 'EAI_AGAIN', 'ENOTINITIALIZED', 'ELOADIPHLPAPI'],
])
/**
 * Ms from the first look-up to the end of the last. Senders choose how many there are, and how slow their servers
 * answer; a mail that needed longer is tried again, and its answers are remembered until then.
 */
const LIMIT = 10_000
/** The same for names that prove nothing of the author, all of them together. */
const STRANGERS_LIMIT = 5000

/** True for an error of a look-up that may succeed later. */
export function isTemporary(error: unknown): boolean {
  return error instanceof Error && 'code' in error && TEMPORARY.has(String(error.code))
}

/**
 * A resolver for one mail, or for one question about it. A look-up that fails for good says that there is no such name
 * (ENOTFOUND); when its time is up, all fail (ETIMEOUT), also those that are under way.
 */
export function oneTimeResolver(
  resolver: DNSResolver,
  limit = LIMIT,
  clock = () => performance.now(),
): DNSResolver {
  let end: number | undefined
  return async (domain, type) => {
    end ??= clock() + limit
    const left = end - clock()
    const isLate = () => failure('ETIMEOUT', `no time is left to look up ${type} of ${domain}`)
    if (left <= 0) throw isLate()
    try {
      return await within(left, isLate, resolver(domain, type))
    } catch (error) {
      const isNone =
        error instanceof Error && 'code' in error && /^(?:ENOTFOUND|ENODATA)$/.test(`${error.code}`)
      if (isNone || isTemporary(error)) throw error
      throw failure('ENOTFOUND', `there is no ${type} of ${domain}`, error)
    }
  }
}

/**
 * A resolver for the keys of one mail's signatures. Those of `wanted` domains have time of their own: anybody can
 * write signatures above them whose servers are slow, so that none would be left for the one that counts.
 */
export function keyResolver(
  resolver: DNSResolver,
  wanted: (domain: string) => boolean,
  clock?: () => number,
): DNSResolver {
  const forWanted = oneTimeResolver(resolver, LIMIT, clock)
  const forStrangers = oneTimeResolver(resolver, STRANGERS_LIMIT, clock)
  return (name, type) => {
    const domain = /\._domainkey\.(.*)$/is.exec(name)?.[1] ?? ''
    return (wanted(domain) ? forWanted : forStrangers)(name, type)
  }
}

async function within<T>(ms: number, isLate: () => Error, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(isLate()), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function failure(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}
