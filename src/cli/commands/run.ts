import { z } from 'zod'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { aboutJob } from '../../engine/print/job-words.ts'
import { senderText } from '../../engine/print/sender.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { listAge, listText, shortId } from '../../lib/short-text.ts'
import type { AddCommand } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { runsOperation } from '../operation-command.ts'
import { searchPages } from '../search-pages.ts'
import { withAttempts } from '../with-attempts.ts'

/** `trivium run list`: the attempts and jobs that run now; `run cancel` is a skill. */
export const addRun: AddCommand = (program, context) => {
  const run = program.command('run').description('what runs now: attempts on messages, and jobs')
  const list = run
    .command('list', { isDefault: true })
    .description('what runs now: attempts on messages, as `message list --outcome running`, and jobs')
  runsOperation(list, context, {
    operation: 'message-search',
    args: z.strictObject({}),
    human: humanRuns,
    open: connect,
    run: async (daemon) => running(daemon, context.terminal()),
  })
  showDefault(run, list)
}

async function running(daemon: Connection, terminal: Parameters<typeof searchPages>[2]): Promise<JsonObject> {
  const limit = Number.POSITIVE_INFINITY
  const found = await searchPages(daemon, { outcome: 'running', limit }, terminal)
  const [{ messages }, jobs] = await Promise.all([
    withAttempts(daemon, found).then(Object),
    daemon.invoke('job-list', { state: 'running', limit: 1_000 }),
  ])
  // A job that is done cannot be cancelled, also while what it queued is delivered.
  return { messages, jobs: objectsIn(jobs).filter(({ state }) => state === 'running') }
}

const COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'for', piped: 'since' },
  { title: 'what', least: 16 },
  { title: 'by', least: 12, leftOut: 1 },
  { title: 'text', least: 16 },
]
/** Maximum characters of a text. */
const LONGEST_TEXT = 100

function humanRuns(found: Json): Printable {
  const messages = objectsIn(pathGet(found, 'messages')).map(messageRow)
  const jobs = objectsIn(pathGet(found, 'jobs')).map(jobRow)
  const rows = [...messages, ...jobs].toSorted((a, b) => a.since - b.since)
  if (rows.length === 0)
    return noData('Nothing runs now.', paragraph('', '`trivium message list` has what ran.'))
  const cancels = [
    ...(messages.length > 0 ? ['`trivium run cancel ID`'] : []),
    ...(jobs.length > 0 ? ['`trivium job cancel ID` (a job)'] : []),
  ]
  return withNotes(
    lineTable(
      COLUMNS,
      rows.map(({ cells }) => cells),
    ),
    paragraph('', `To end one: ${cancels.join(', ')}`),
  )
}

/** An attempt. Without a known start, such as that of another daemon, the message's time is shown. */
function messageRow({ id, at, from, subject, summary, text, attempt }: JsonObject) {
  const { since = at, route, skill } = Object(attempt)
  const what = [route && `route ${route}`, skill && `skill ${skill}`].filter(Boolean).join(', ')
  const about = listText(String(subject ?? summary ?? text ?? ''), LONGEST_TEXT)
  return { since: Number(since), cells: [shortId(id), listAge(since), what, senderText(from), about] }
}

function jobRow(job: JsonObject) {
  const id = process.stdout.isTTY ? String(job.id).slice(-8) : job.id
  const about = listText(aboutJob(job), LONGEST_TEXT)
  return {
    since: Number(job.startedAt),
    cells: [id, listAge(job.startedAt), `job ${job.kind}`, job.by, about],
  }
}
