import { z } from 'zod'
import type { Call, Caller } from '../core/call.ts'
import {
  type JobItem,
  type JobItems,
  type JobMessage,
  jobGroupSchema,
  jobWaitSchema,
  type LongJob,
  laterActionSchema,
} from '../core/long-job.ts'
import type { ServiceOf } from '../core/operation.ts'
import { defined } from '../lib/defined.ts'
import { isGroupReplay } from '../lib/replay-reads.ts'
import type { longJobs } from './operations/jobs.ts'
import type { deadLetters, messages } from './operations/messages.ts'
import type { ItemsOf } from './replay-items.ts'

type Show = ServiceOf<typeof longJobs>['show']
type Retries = ServiceOf<typeof deadLetters>['retries']
type Attempts = ServiceOf<typeof messages>['attempts']

type Deps = {
  retries: Retries
  attempts: Attempts
  /** `pause-list`. */
  pauses(call: Call): Promise<unknown>
  eventsOf(job: LongJob, caller: Caller): Promise<Pick<LongJob, 'messages' | 'groups'>>
}

/** `job-items`: with what holds those that wait. Erasures have no items. */
export function createJobItems(deps: {
  show(args: Parameters<Show>[0]): Promise<LongJob>
  attempts: Attempts
  ofReplay: ItemsOf
  ofRetry: ItemsOf
}): ServiceOf<typeof longJobs>['items'] {
  return async ({ id, ...query }, call) => {
    const job = await deps.show({ id })
    if (job.kind === 'replay') return withPause(await deps.ofReplay(job, query, call.caller), job)
    if (job.kind !== 'dead-letters') return { items: [] }
    const page = await deps.ofRetry(job, query, call.caller)
    const ids = page.items.filter(isHeldItem).map((item) => item.id)
    if (ids.length === 0) return page
    // A caller of few gateways may not see the messages of others.
    const attempts = await readAttempts(deps.attempts, ids, call).catch(() => [])
    const items = page.items.map((item) => {
      const { pausedBy, budget } = attempts.find((each) => isHeldItem(item) && each.id === item.id) ?? {}
      return { ...item, ...defined({ pausedBy, budget }) }
    })
    return { ...page, items }
  }
}

/** Maximum number of messages whose attempts are read at once. */
const MOST_READ = 200

async function readAttempts(attempts: Attempts, ids: readonly string[], call: Call) {
  return attemptsSchema.parse(await attempts({ ids: ids.slice(0, MOST_READ) }, call))
}

/** Whether a pause or a budget may hold the message of an item. */
function isHeldItem({ queue, outcome }: JobItem): boolean {
  return queue === 'dispatch' && (outcome === 'waiting' || outcome === 'retrying')
}

/** Adds the pause of a push to the events that wait for it. */
function withPause(page: JobItems, { waitsFor = [] }: LongJob): JobItems {
  const pausedBy = waitsFor.flatMap(({ kind, name }) => (kind === 'subscription' ? { kind, name } : []))
  if (pausedBy.length === 0) return page
  const isOpen = ({ outcome }: JobItem) => outcome === 'waiting' || outcome === 'retrying'
  return { ...page, items: page.items.map((item) => (isOpen(item) ? { ...item, pausedBy } : item)) }
}

/** Maximum number of messages of a job. */
const MOST_SHOWN = 20

/**
 * Wraps `job-show`: a retry of dead letters gets its messages by outcome and cause, the first of them
 * one by one, and the pauses that hold them; a replay to a push what `eventsOf` returns.
 */
export function withJobDetails(show: (args: Parameters<Show>[0]) => Promise<LongJob>, deps: Deps) {
  return async (args: Parameters<Show>[0], call: Call): Promise<LongJob> => {
    const job = await show(args)
    if (job.outcomes === undefined || isGroupReplay(job)) return job
    if (job.kind === 'replay') return { ...job, ...(await deps.eventsOf(job, call.caller)) }
    // A caller of few gateways may not see the messages of others.
    const details = await retryDetails(job, deps, call).catch(() => ({}))
    return { ...job, ...details }
  }
}

const rowSchema = z.object({
  id: z.string(),
  queue: z.string(),
  outcome: z.string(),
  subject: z.string().exactOptional(),
  summary: z.string().exactOptional(),
  text: z.string().exactOptional(),
  later: laterActionSchema.exactOptional(),
  error: z.string().exactOptional(),
  nextAt: z.number().exactOptional(),
})
const retriesSchema = z.array(
  z.object({ messages: z.array(rowSchema).default([]), groups: z.array(jobGroupSchema).default([]) }),
)
const pauseSchema = z.object({ kind: z.string(), name: z.string() })
const attemptsSchema = z.array(
  z.object({
    id: z.string(),
    error: z.string().exactOptional(),
    nextAt: z.number().exactOptional(),
    pausedBy: z.array(pauseSchema).exactOptional(),
    budget: z.string().exactOptional(),
  }),
)
type Attempt = Partial<z.infer<typeof attemptsSchema>[number]>

async function retryDetails(
  { id }: LongJob,
  deps: Omit<Deps, 'eventsOf'>,
  call: Call,
): Promise<Pick<LongJob, 'messages' | 'groups' | 'waitsFor'>> {
  const [retry] = retriesSchema.parse(await deps.retries({ job: id, limit: 1 }, call))
  const rows = (retry?.messages ?? []).slice(0, MOST_SHOWN)
  const ids = rows.filter(({ queue }) => queue === 'dispatch').map((row) => row.id)
  const attempts = ids.length > 0 ? await readAttempts(deps.attempts, ids, call) : []
  const messages = rows.map((row) => messageOf(row, attempts.find((each) => each.id === row.id) ?? {}))
  const held = messages.flatMap(({ pausedBy = [] }) => pausedBy)
  const pauses = held.length > 0 ? z.array(jobWaitSchema).parse(await deps.pauses(call)) : []
  const waitsFor = pauses.filter((pause) =>
    held.some(({ kind, name }) => kind === pause.kind && name === pause.name),
  )
  return { messages, groups: retry?.groups ?? [], ...(waitsFor.length > 0 && { waitsFor }) }
}

/** Outcomes for which the last attempt still counts. */
const OPEN = new Set(['waiting', 'retrying', 'dead', 'replying', 'undelivered'])

function messageOf(row: z.infer<typeof rowSchema>, attempt: Attempt): JobMessage {
  const { id, queue, outcome, subject, summary, text, later } = row
  const { pausedBy, budget } = attempt
  const { error, nextAt } = { ...row, ...attempt }
  return {
    id,
    queue,
    outcome,
    ...defined({ text: subject ?? summary ?? text }),
    ...defined({ later }),
    // The attempts since are those of another retry.
    ...(OPEN.has(outcome) && !later && defined({ error, pausedBy, budget })),
    ...(outcome === 'retrying' && defined({ nextAt })),
  }
}
