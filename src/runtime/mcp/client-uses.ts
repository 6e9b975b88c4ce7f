import type { Client } from '@modelcontextprotocol/client'

export type ClientUses = ReturnType<typeof createClientUses>

/**
 * Tracks the running calls of each client of a server, and why clients were lost. `isHttp`: whether
 * every call has a connection of its own.
 */
export function createClientUses(isHttp: boolean) {
  /**
   * By client, because a call of a lost client may notice the loss only after the next client has
   * connected.
   */
  const lossReasons = new WeakMap<Client, string>()
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
      if (!lossReasons.has(client)) lossReasons.set(client, why)
    },
    whyLost: (client: Client) => lossReasons.get(client),
    /**
     * Closes a lost client. Over HTTP, its other calls may still get their answers, so a client
     * with calls stays open; the last call closes it.
     */
    release(client: Client): void {
      if (!isHttp || !running.has(client)) void client.close().catch(() => {})
    },
    /** The clients with running calls. */
    clients: () => [...running.keys()],
  }
}
