import { reasonOf, TriviumError } from '../../../src/core/errors.ts'

/** Timeout (ms) of a fetch; meanwhile the provider waits for our acknowledgement. */
const FETCH_WITHIN = 20_000

export type FetchMail = (address: string, headers: Record<string, string>) => Promise<Buffer>

/** Makes the function that fetches a mail stored by its provider, up to `limit` bytes. Rejects with `mail_unavailable`, so that it is posted again. */
export function createFetchMail(gateway: string, limit: number, signal: AbortSignal): FetchMail {
  return async (address, headers) => {
    const { host } = new URL(address)
    try {
      const both = AbortSignal.any([signal, AbortSignal.timeout(FETCH_WITHIN)])
      const response = await fetch(address, { headers, signal: both })
      if (!response.ok) throw new Error(`${host} answered ${response.status}`)
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of response.body ?? []) {
        size += chunk.length
        if (size > limit) throw new Error(`${host} has more than ${limit} bytes for it`)
        chunks.push(chunk)
      }
      return Buffer.concat(chunks)
    } catch (cause) {
      const reason = `it cannot be fetched from ${host}: ${reasonOf(cause)}`
      throw new TriviumError('mail_unavailable', { gateway, reason }, { cause })
    }
  }
}
