import type { Server } from 'node:http'
import { TriviumError } from '../core/errors.ts'

type Address = { host: string; port: number }

/** `host:port`, with brackets around an IPv6 address. */
export function textOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Listens, and resolves with the address in use (port 0 picks one). Throws `config_invalid` where it is taken. */
export function listenOn(server: Server, { host, port }: Address): Promise<Address> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const details = `The control address ${textOf({ host, port })} cannot be used: ${cause.code ?? cause.message}. Set TRIVIUM_CONTROL_LISTEN.`
      reject(new TriviumError('config_invalid', { details }, { cause }))
    })
    server.listen(port, host, () => {
      const address = server.address()
      resolve({ host, port: typeof address === 'object' && address ? address.port : port })
    })
  })
}

/** Closes a server with the connections that wait on it. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve()
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
