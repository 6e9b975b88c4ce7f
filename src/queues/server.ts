import type { Cluster, Redis } from 'ioredis'
import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** A connection whose commands wait until the server is there, for ever; with its address without a password. `close` ends duplicates too. */
export type QueueConnection = { client: Redis | Cluster; address: string; close(): void }

/** The Redis that queues are on. */
export type QueueServer = ReturnType<typeof watchServer>

/** Watches a connection: what is wrong with it is logged once, until it is well again. `failed` and `worked` say how a call ended. */
export function watchServer({ client, address, close }: QueueConnection, log: Log) {
  let trouble: string | undefined = `no connection to ${address} yet`
  let isTold = false
  const failed = (error: unknown) => {
    trouble = `the queue server ${address} cannot be used: ${reasonOf(error) || 'no connection'}`
    if (!isTold) log.warn({ queues: address }, `${trouble}; what is for it waits`)
    isTold = true
  }
  const worked = () => {
    if (isTold) log.info({ queues: address }, 'the queue server is back')
    isTold = false
    trouble = undefined
  }
  client.on('error', failed)
  client.on('close', () => failed('the connection broke'))
  client.on('ready', worked)

  return {
    client,
    /** Why it cannot be used at the moment; undefined where it can. */
    trouble: () => trouble,
    failed,
    worked,
    close() {
      // Its end is no news.
      isTold = true
      close()
    },
  }
}
