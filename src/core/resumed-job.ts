import { textAt } from './json.ts'
import type { Note } from './store.ts'

/**
 * The history entries of a message for the decision about an approval; `detail.approval` is the id
 * of the approval. After each decision, the message is dispatched again.
 */
export const DECISIONS = ['approved', 'denied', 'expired'] as const

/**
 * The id of the job that dispatches a message again. The first job of a message has the id of the
 * message.
 */
export function resumedJobId(messageId: string, approval: string): string {
  return `${messageId}:${approval}`
}

/** The id of the message of a dispatch job. */
export function messageOfJob(jobId: string): string {
  return jobId.split(':', 1)[0] ?? jobId
}

/** The ids of the jobs that dispatched a message again after decisions, newest first. */
export function resumedJobs(messageId: string, history: readonly Note[]): string[] {
  const decisions: readonly string[] = DECISIONS
  return history
    .filter(({ road, what }) => road === 'dispatch' && decisions.includes(what))
    .flatMap(({ detail }) => textAt(detail, 'approval') ?? [])
    .map((approval) => resumedJobId(messageId, approval))
    .reverse()
}
