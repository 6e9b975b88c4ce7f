/**
 * Counts of the jobs of a queue. `oldestAt`: when the message of the oldest unfinished job arrived; absent without a message. `deadAt`:
 * when the oldest dead letter became one.
 */
export type QueueStats = {
  queue: string
  waiting: number
  running: number
  dead: number
  oldestAt?: number
  deadAt?: number
}
