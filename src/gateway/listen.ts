import { once } from 'node:events'
import type { Server } from 'node:http'
import { TriviumError } from '../core/errors.ts'

export type Address = { host: string; port: number }

/** `host:port`, with brackets around an IPv6 address. */
export function textOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Resolves with the address in use (port 0 picks one). Throws `cannot_listen`; `setting`: where another is chosen. */
export async function listenOn(server: Server, wanted: Address, setting: string): Promise<Address> {
  server.listen(wanted.port, wanted.host)
  await once(server, 'listening').catch((cause: Error) => {
    const values = { address: textOf(wanted), reason: cause.message, setting }
    throw new TriviumError('cannot_listen', values, { cause })
  })
  const bound = server.address()
  return bound && typeof bound === 'object' ? { host: bound.address, port: bound.port } : wanted
}
