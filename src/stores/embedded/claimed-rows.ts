import type { Message } from '../../core/message.ts'
import type { ClaimedJob } from '../../core/store.ts'
import { type Claimed, type Running, toJob } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import { fromJson } from './sql.ts'

/** Makes claimed jobs from their rows, and caches the claims in `claimed`. Synchronous. */
export function createClaimedRows(journal: JournalTable, claimed: Map<number, Claimed>) {
  function readMessage(row: Running): { message: Message | undefined; isInJournal: boolean } {
    const kept = fromJson(row.kept)
    if (kept) return { message: kept, isInJournal: false }
    const pumped = journal.takePumped(row.id)
    if (pumped) return { message: pumped, isInJournal: true }
    const found = row.message === null ? undefined : journal.at(row.message)
    const message = found?.id === row.message_id ? found : undefined
    return { message, isInJournal: message !== undefined }
  }

  return {
    readMessage,
    toClaimed(queue: number, row: Running, token: string): ClaimedJob {
      const job: ClaimedJob = Object.assign(toJob(row), { token }, attemptsOf(row))
      const { message, isInJournal } = readMessage(row)
      if (message) job.message = message
      claimed.set(row.n, { token, queue, row, isInJournal })
      return job
    },
  }
}

/** The fields about earlier attempts. */
function attemptsOf({ failures, lost, errors, kept }: Running) {
  const tried = { failures, lost, errors: errors === '[]' ? [] : JSON.parse(errors) }
  return kept === null ? tried : { ...tried, requeued: true }
}
