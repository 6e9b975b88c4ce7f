import { reasonOf, TriviumError } from '../../../src/core/errors.ts'

/** How long a provider has to answer (ms): it waits for us to acknowledge. */
const WITHIN = 20_000

export type FetchMail = (address: string, headers: Record<string, string>) => Promise<Buffer>

/** Makes what fetches a mail that its provider stores: up to `limit` bytes. Rejects with `mail_unavailable`, to be posted again. */
export function createFetchMail(gateway: string, limit: number, signal: AbortSignal): FetchMail {
  return async (address, headers) => {
    const { host } = new URL(address)
    try {
      const both = AbortSignal.any([signal, AbortSignal.timeout(WITHIN)])
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
