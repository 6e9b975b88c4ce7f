import type { Client } from '@modelcontextprotocol/client'

export type ClientUses = ReturnType<typeof createClientUses>

/** The calls that run on each client of a server, and why lost clients ended. `isHttp`: each call has a connection of its own. */
export function createClientUses(isHttp: boolean) {
  /** Kept per client, as the next one may be connected before a call learns that it was cut off. */
  const ends = new WeakMap<Client, string>()
  const running = new Map<Client, number>()
  return {
    begin: (client: Client) => void running.set(client, (running.get(client) ?? 0) + 1),
    /** Whether it was the client's last call. */
    end(client: Client): boolean {
      const calls = (running.get(client) ?? 0) - 1
      if (calls > 0) running.set(client, calls)
      else running.delete(client)
      return calls <= 0
    },
    /** Notes why a client was lost; the first reason counts. */
    lost(client: Client, why: string): void {
      if (!ends.has(client)) ends.set(client, why)
    },
    whyLost: (client: Client) => ends.get(client),
    /** Closes a lost client. Over HTTP its other calls may still be answered, and it is closed after the last of them. */
    leave(client: Client): void {
      if (!isHttp || !running.has(client)) void client.close().catch(() => {})
    },
    clients: () => [...running.keys()],
  }
}
