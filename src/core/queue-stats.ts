/** Counts of the jobs of a queue. */
export type QueueStats = {
  queue: string
  waiting: number
  running: number
  dead: number
  /** When the message of the oldest unfinished job arrived; absent without a message. */
  oldestAt?: number
  /** When the oldest dead letter became one. */
  deadAt?: number
}
