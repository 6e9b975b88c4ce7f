import type { Telemetry } from 'bullmq'
import type { Cluster, Redis } from 'ioredis'

/** Dependencies of BullMQ gateways on the daemon. */
export type QueueHost = {
  /** Connects to the Redis of BullMQ queues: at this URL, by default that of `queues:`. */
  queueServer(redis?: string): Promise<QueueServer>
}

/**
 * A Redis with BullMQ queues. While it is away, commands wait; callers set their own time limits.
 */
export type QueueServer = {
  /** Options for queues and workers; an explicit prefix takes precedence over this one. */
  options: { connection: Redis | Cluster; prefix: string; telemetry?: Telemetry }
  /** Reports that a command failed. `trouble` returns the error from then on. */
  failed(error: unknown): void
  /** Reports that a command succeeded, which ends the trouble. */
  worked(): void
  /** Why the server is unusable now; undefined if it is usable. */
  trouble(): string | undefined
}
