import { Cluster, Redis, ReplyError } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { defined } from '../../lib/defined.ts'

/** The event of Sentinel just before a promotion. */
const BEGINS = '+failover-state-send-slaveof-noone'
/** The event of Sentinel after a failed promotion. */
const ABORTED = '-failover-abort-slave-timeout'
const WAY_OUT =
  'messages that are accepted while it promotes a replica may be lost; give its user the ACL rules `+subscribe &*`'
/** Maximum time (ms) to refuse writes, as the Sentinel may have died. */
const LONGEST = 10_000

/**
 * Listens to the Sentinels. The old master keeps its clients for seconds after a new one was
 * chosen, and writes that it acknowledges are lost. So a failover starts with the event of a
 * Sentinel and ends with a connection to the new master. Logs a Sentinel that refuses the subscription.
 */
export function watchFailovers(client: Redis | Cluster, log: Pick<Log, 'warn'>) {
  const given = client instanceof Cluster ? {} : client.options
  const { sentinels, name, sentinelUsername: username, sentinelPassword: password } = given
  const { sentinelTLS: tls, connectTimeout, retryStrategy } = given
  let since = Number.NEGATIVE_INFINITY
  const onEvent = (channel: string, text: string) => {
    if (text.split(' ').includes(String(name)))
      since = channel === BEGINS ? performance.now() : Number.NEGATIVE_INFINITY
  }
  const connections = (sentinels ?? []).map(({ host, port }) => {
    const options = { host, port, username, password, tls, connectTimeout, retryStrategy }
    // By default, the subscription would be dropped after 20 failed attempts to connect.
    const patient = { enableReadyCheck: false, maxRetriesPerRequest: null }
    const sentinel = new Redis({ ...defined(options), ...patient })
    // Ignored: if the Sentinels cannot be reached, the connection to the master reports it.
    sentinel.on('error', () => {})
    sentinel.on('message', onEvent)
    sentinel.subscribe(BEGINS, ABORTED).catch((error: unknown) => {
      if (!(error instanceof ReplyError)) return
      log.warn(
        { sentinel: `${host}:${port}`, reason: reasonOf(error) },
        `a Sentinel does not announce its failovers: ${WAY_OUT}`,
      )
    })
    return sentinel
  })
  client.on('ready', () => {
    since = Number.NEGATIVE_INFINITY
  })
  return {
    isFailingOver: () => performance.now() - since < LONGEST,
    /** Also ends the connection. */
    close: () => {
      client.disconnect()
      for (const each of connections) each.disconnect()
    },
  }
}
