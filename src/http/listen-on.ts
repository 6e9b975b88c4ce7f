import { once } from 'node:events'
import type { Socket } from 'node:net'
import { TriviumError } from '../core/errors.ts'
import type { Server } from '../lib/node-http.ts'

export type Address = { host: string; port: number }

/** Formats `host:port`, with brackets around an IPv6 address. */
export function textOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Resolves with the actual address (port 0 picks one). Throws `cannot_listen`; `setting` names the
 * option to change.
 */
export async function listenOn(server: Server, wanted: Address, setting: string): Promise<Address> {
  server.listen(wanted.port, wanted.host)
  await once(server, 'listening').catch((cause: Error) => {
    const values = { address: textOf(wanted), reason: cause.message, setting }
    throw new TriviumError('cannot_listen', values, { cause })
  })
  return boundAddress(server) ?? wanted
}

/** The actual address of a listening server. */
export function boundAddress(server: Server): Address | undefined {
  const bound = server.address()
  return bound && typeof bound === 'object' ? { host: bound.address, port: bound.port } : undefined
}

/** Stops listening. Resolves once requests in flight are answered. Cuts them after `grace` ms. */
export async function drain(server: Server, open: ReadonlySet<Socket>, grace: number): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  // A connection that was busy at `close` becomes idle after its response. Only this closes it.
  const sweep = setInterval(() => {
    server.closeIdleConnections()
    // Browsers preconnect, and Node 24 counts connections without a request as busy.
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }, 50)
  const cut = setTimeout(() => {
    for (const socket of open) socket.destroy()
  }, grace)
  await closed
  clearInterval(sweep)
  clearTimeout(cut)
}
