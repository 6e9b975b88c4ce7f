import { X509Certificate } from 'node:crypto'
import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import type { VerifierDeps } from './verifier-types.ts'

/** Timeout of a request to a provider. */
const TIMEOUT_MS = 5_000
const MAX_RESPONSE_BYTES = 64 * 1024
/** Maximum number of cached certificates, and of concurrent requests. Providers have a few. */
const MAX_CERTIFICATES = 20
/** Pause before a certificate is requested again after a failure. */
const RETRY_DELAY_MS = 10_000

/**
 * Certificates by URL, each fetched once. Strangers can name many URLs, so few are fetched at a
 * time, and a failed one is not fetched again for a while.
 */
export function createCertificates({ gateway, now }: VerifierDeps) {
  const cached = new Map<string, X509Certificate>()
  const pending = new Map<string, Promise<X509Certificate>>()
  const failed = new Map<string, { at: number; error: unknown }>()
  const fetchFrom = async (address: URL): Promise<X509Certificate> => {
    const { href } = address
    try {
      const certificate = new X509Certificate(await requestFrom(address, gateway))
      setLimited(cached, href, certificate)
      failed.delete(href)
      return certificate
    } catch (error) {
      setLimited(failed, href, { at: now(), error })
      throw error
    } finally {
      pending.delete(href)
    }
  }
  return async (address: URL): Promise<X509Certificate> => {
    const { href } = address
    const failure = failed.get(href)
    if (failure && now() - failure.at < RETRY_DELAY_MS) throw failure.error
    const existing = cached.get(href) ?? pending.get(href)
    if (existing) return existing
    if (pending.size >= MAX_CERTIFICATES) {
      throw new TriviumError('keys_unavailable', {
        gateway,
        reason: `${MAX_CERTIFICATES} certificates are being fetched`,
      })
    }
    const fetched = fetchFrom(address)
    pending.set(href, fetched)
    return fetched
  }
}

/** Adds an entry. Removes the oldest one if there are too many. */
function setLimited<T>(map: Map<string, T>, key: string, value: T): void {
  const [oldest] = map.keys()
  if (oldest !== undefined && map.size >= MAX_CERTIFICATES) map.delete(oldest)
  map.set(key, value)
}

/** Requests a URL of a provider. Throws `keys_unavailable`. */
export async function requestFrom(address: URL, gateway: string): Promise<Buffer> {
  try {
    const response = await fetch(address, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!response.ok) throw new Error(`${address.host} answered ${response.status}`)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > MAX_RESPONSE_BYTES)
        throw new Error(`${address.host} answered with more than ${MAX_RESPONSE_BYTES} bytes`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch (cause) {
    throw new TriviumError('keys_unavailable', { gateway, reason: reasonOf(cause) }, { cause })
  }
}

/** Whether a certificate is valid at a time (Unix ms). */
export function isCurrent({ validFromDate, validToDate }: X509Certificate, time: number): boolean {
  return validFromDate.getTime() <= time && time <= validToDate.getTime()
}
