import type { Cluster, Redis } from 'ioredis'
import { reasonOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

/** A connection whose commands wait until the server is there, for ever; with its address without a password. `close` ends duplicates too. */
export type QueueConnection = { client: Redis | Cluster; address: string; close(): void }

/** The Redis that queues are on. */
export type QueueServer = ReturnType<typeof createQueueServer>

/** Watches a connection: what is wrong with it is logged once, until it is well again. */
export function createQueueServer({ client, address, close }: QueueConnection, log: Log) {
  const back = new Set<() => void>()
  let trouble: string | undefined = `no connection to ${address} yet`
  let isTold = false
  const failed = (error: unknown) => {
    if (closed) return
    trouble = `the queue server ${address} cannot be used: ${reasonOf(error) || 'no connection'}`
    if (isTold) return
    isTold = true
    log.warn({ queues: address }, `${trouble}; what is for it waits`)
  }
  const worked = () => {
    if (isTold) log.info({ queues: address }, 'the queue server is back')
    isTold = false
    trouble = undefined
  }
  let closed = false
  client.on('error', failed)
  client.on('close', () => failed('the connection broke'))
  client.on('ready', () => {
    worked()
    for (const listener of back) listener()
  })

  return {
    client,
    address,
    /** Why it cannot be used at the moment; undefined where it can. */
    trouble: () => trouble,
    /** Says how a call ended. */
    failed,
    worked,
    /** Calls a listener whenever the server is there again: it may have lost its last writes. Returns what ends it. */
    onBack(listener: () => void) {
      back.add(listener)
      return () => void back.delete(listener)
    },
    close() {
      closed = true
      close()
    },
  }
}
