import { reasonOf, TriviumError } from '../../../src/core/errors.ts'

/** Timeout of a fetch; meanwhile the provider waits for our acknowledgement. */
const TIMEOUT_MS = 20_000

export type FetchMail = (address: string, headers: Record<string, string>) => Promise<Buffer>

/**
 * Creates the function that fetches a mail stored by its provider, up to `limit` bytes. It rejects
 * with `mail_unavailable`, so that the provider posts the delivery again.
 */
export function createFetchMail(gateway: string, limit: number, signal: AbortSignal): FetchMail {
  return async (address, headers) => {
    const { host } = new URL(address)
    try {
      const stopOrTimeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const response = await fetch(address, { headers, signal: stopOrTimeout })
      if (!response.ok) throw new Error(`${host} answered ${response.status}`)
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of response.body ?? []) {
        size += chunk.length
        if (size > limit) throw new Error(`the mail at ${host} has more than ${limit} bytes`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks)
    } catch (cause) {
      const reason = `it cannot be fetched from ${host}: ${reasonOf(cause)}`
      throw new TriviumError('mail_unavailable', { gateway, reason }, { cause })
    }
  }
}
