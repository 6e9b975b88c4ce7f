import type { Client } from '@modelcontextprotocol/client'

export type ClientUses = ReturnType<typeof createClientUses>

/**
 * Tracks the running calls of each client of a server, and why clients were lost. `isHttp`: every
 * call has a connection of its own.
 */
export function createClientUses(isHttp: boolean) {
  /** Kept per client, because the next one may be connected before a call notices that it was cut off. */
  const ends = new WeakMap<Client, string>()
  const running = new Map<Client, number>()
  return {
    begin: (client: Client) => void running.set(client, (running.get(client) ?? 0) + 1),
    /** Returns whether this was the client's last running call. */
    end(client: Client): boolean {
      const calls = (running.get(client) ?? 0) - 1
      if (calls > 0) running.set(client, calls)
      else running.delete(client)
      return calls <= 0
    },
    /** Records why a client was lost; the first reason wins. */
    lost(client: Client, why: string): void {
      if (!ends.has(client)) ends.set(client, why)
    },
    whyLost: (client: Client) => ends.get(client),
    /**
     * Closes a lost client. Over HTTP, its other calls may still get their answers, so it is closed
     * after the last of them.
     */
    leave(client: Client): void {
      if (!isHttp || !running.has(client)) void client.close().catch(() => {})
    },
    clients: () => [...running.keys()],
  }
}
