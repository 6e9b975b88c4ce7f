import type { Telemetry } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'

/** What gateways of BullMQ need of the daemon. */
export type QueueHost = {
  /** Connects to where BullMQ queues are: the Redis of this URL, by default that of `queues:`. */
  queueServer(redis?: string): Promise<QueueServer>
}

/** A Redis that BullMQ queues are on; commands wait until it is there, for ever. Who sends them says how they end. */
export type QueueServer = {
  /** For queues and workers there; where another prefix is said, that comes before this one. */
  options: { connection: Redis | Cluster; prefix: string; telemetry?: Telemetry }
  failed(error: unknown): void
  worked(): void
  /** Why it cannot be used at the moment; undefined where it can. */
  trouble(): string | undefined
}
