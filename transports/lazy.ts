import type { Transport } from '../src/core/transport.ts'

/**
 * A transport whose code is loaded when it is first needed: mail and chat libraries take longer to load than
 * everything else together, and most daemons and commands use none of them. `canProbe`: it has `probe`, which
 * decides whether a reply of unknown fate is sent again.
 */
export function lazyTransport(
  load: () => Promise<Transport>,
  { canProbe }: { canProbe: boolean },
): Transport {
  let loading: Promise<Transport> | undefined
  let loaded: Transport | undefined

  const get = async (): Promise<Transport> => {
    loading ??= load()
    loaded = await loading
    return loaded
  }

  /** What is there to stop: one that is still loading would start after its end. `start` tells of a failure to load. */
  const begun = async (): Promise<Transport | undefined> => loading?.catch(() => undefined)

  return {
    start: async () => (await get()).start(),
    send: async (reply) => (await get()).send(reply),
    stream: (piece) => loaded?.stream?.(piece),
    ...(canProbe
      ? { probe: async (reply) => (await (await get()).probe?.(reply)) ?? { sent: 'unknown' } }
      : {}),
    stop: async () => (await begun())?.stop(),
    close: async () => (await begun())?.close(),
    health: () => loaded?.health() ?? { ok: false, detail: 'it is being loaded' },
    check: async () => (await get()).check(),
  }
}
