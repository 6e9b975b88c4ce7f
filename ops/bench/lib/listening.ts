import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Figures } from './peer.ts'

/** Listens on a free port of loopback and gives it. */
export async function listening(server: Server): Promise<Figures> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP address')
  return { port: address.port }
}
