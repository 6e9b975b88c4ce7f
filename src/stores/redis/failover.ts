import { Cluster, Redis } from 'ioredis'
import { defined } from '../../lib/defined.ts'

/** What a Sentinel says just before it promotes a replica, and where that came to nothing. */
const BEGINS = '+failover-state-send-slaveof-noone'
const ABORTED = '-failover-abort-slave-timeout'
/** How long (ms) to refuse writes at most: the Sentinel may have died in between. */
const LONGEST = 10_000

/**
 * Listens to the Sentinels of a connection. They leave the old master its clients for seconds after they chose another, and
 * what it acknowledges then is lost. A fail-over is under way from their word until there is a connection to the new
 * master. Without Sentinels it never is.
 */
export function watchFailovers(client: Redis | Cluster) {
  const given = client instanceof Cluster ? {} : client.options
  const { sentinels, name, sentinelUsername: username, sentinelPassword: password } = given
  const { sentinelTLS: tls, connectTimeout, retryStrategy } = given
  let since = 0
  const hear = (channel: string, text: string) => {
    if (text.split(' ').includes(String(name))) since = channel === BEGINS ? Date.now() : 0
  }
  const connections = (sentinels ?? []).map(({ host, port }) => {
    const options = { host, port, username, password, tls, connectTimeout, retryStrategy }
    const sentinel = new Redis({ ...defined(options), enableReadyCheck: false })
    // Those of the connection to the master are told.
    sentinel.on('error', () => {})
    sentinel.on('message', hear)
    sentinel.subscribe(BEGINS, ABORTED).catch(() => {})
    return sentinel
  })
  client.on('ready', () => {
    since = 0
  })
  return {
    isFailingOver: () => Date.now() - since < LONGEST,
    /** Ends the connection too. */
    close: () => {
      client.disconnect()
      for (const each of connections) each.disconnect()
    },
  }
}
