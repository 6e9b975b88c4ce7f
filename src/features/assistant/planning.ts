import { type AskedBy, askedBy } from '../../core/asked-by.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { compilePrefix } from '../../core/pattern.ts'
import type { Schedule } from '../../core/schedule.ts'
import { LIMITS, notFound, requireText } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import type * as operations from './operations.ts'
import { readWhen, showTime } from './time-words.ts'

/** The skill that creates schedules. It must not be scheduled: each run would create one. */
const SELF = 'schedule-in-words'
const HINT =
  'Say when, then what: schedule every weekday at 9 digest, schedule tomorrow at 10: call Ada, schedule list, schedule cancel schedule-1.'

/** `digest of the week`, `echo: hello`. */
const SKILL_AND_TEXT = /^([a-z][a-z0-9-]*)\s*:?\s*(.*)$/s
/** `cancel schedule-1`, `cancel schedule 1`, `cancel 1`. */
const CANCEL = /^(?:cancel|delete|remove|stop|end)\s+(?:schedule(?:\s*-\s*|\s+))?(\d+)$/i
/** An id without a verb. The message `schedule 1` arrives here as `1`, and `schedule-1` as `-1`. */
const ID_ALONE = /^(?:schedule)?[\s-]*(\d+)$/i
/** Maximum characters of the text quoted in an error. */
const SHOWN_LENGTH = 80

/** The arguments of `schedule-create` that words can express. */
type NewSchedule = Pick<Schedule, 'skill' | 'args' | 'name'> &
  Partial<Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone'>> & {
    at?: string
    misfire: string
  }

/** The schedules, as far as planning needs them. */
export type Schedules = {
  list(args: object, call: Call): Promise<readonly (Schedule & { next?: number })[]>
  delete(args: { id: string }, call: Call): Promise<{ existed: boolean }>
  /**
   * `askedBy`: recipient of the results. `askedAt` (Unix ms): planned times before it do not count.
   */
  create(schedule: NewSchedule, call: Call, askedBy: AskedBy | undefined, askedAt: number): Promise<Schedule>
  /** The first planned time (Unix ms) after `time`, if any. */
  next(
    rule: Pick<Schedule, 'cron' | 'every' | 'step' | 'timezone' | 'created'>,
    time: number,
  ): number | undefined
}

/**
 * Schedules in plain words. At the planned time, a text that begins with a word of the assistant
 * runs as if the person wrote it then. A text that begins with the name of a skill that the person
 * may use runs that skill. Other text is sent as a reminder.
 */
export function createPlanning(deps: {
  schedules: Schedules
  context: Pick<AssistantContext, 'words' | 'mayUse' | 'timezone'>
  now: () => number
}) {
  const { schedules, context, now } = deps

  /** The skill that these words invoke, or a reminder of them. */
  const skillFor = (text: string, call: Call): Pick<Schedule, 'skill' | 'args'> => {
    const isAtStart = (prefix: string) => compilePrefix(prefix).test(text)
    const word = context.words().find(({ prefixes }) => prefixes.some(isAtStart))
    if (word) return { skill: word.name, args: { text } }
    const [, skill = '', rest = ''] = SKILL_AND_TEXT.exec(text) ?? []
    if (skill !== '' && context.mayUse(skill, call)) return { skill, args: { text: rest } }
    return { skill: 'remind', args: { text } }
  }

  const list = async (call: Call) => {
    const all = await schedules.list({}, call)
    const planned = all.filter(({ next }) => next !== undefined)
    const lines = planned.map(
      ({ id, name, next = 0, timezone }) => `${id}: ${name}. Next: ${showTime(next, timezone)}`,
    )
    const text = lines.join('\n') || 'Nothing is planned. Try: schedule every weekday at 9 digest'
    return { text, schedules: planned }
  }

  const cancel = async (id: string, call: Call) => {
    const { existed } = await schedules.delete({ id }, call)
    if (!existed) throw notFound(id)
    return { text: `Cancelled ${id}.` }
  }

  const plan = async (text: string, call: Call) => {
    requireRoom(LIMITS.timeInWords, text)
    const ofMessage = pathGet(call.message?.data, 'timezone')
    const timezone = typeof ofMessage === 'string' ? ofMessage : context.timezone()
    // Measured first: the steps below may take longer than "in 3 seconds".
    const askedAt = now()
    const found = await readWhen(text, { timezone, now: askedAt })
    if (!found)
      throw new TriviumError('usage', {
        details: `"${shorten(text)}" contains no time that I understand. ${HINT}`,
      })
    const { what, when, ...times } = found
    const run = skillFor(requireText(what, `Say what to do ${when}: schedule ${when} digest.`), call)
    if (createsSchedules(run.skill, context))
      throw new TriviumError('usage', { details: 'A schedule cannot create schedules.' })
    if (schedules.next({ ...times, created: new Date(askedAt).toISOString() }, askedAt) === undefined)
      throw new TriviumError('usage', { details: `"${when}" has passed.` })
    const fields = { ...run, ...times, name: `${what}, ${when}`, misfire: 'once' }
    const schedule = await schedules.create(fields, call, askedBy(call), askedAt)
    const action = run.skill === 'remind' ? `I say "${what}"` : what
    return { text: `${schedule.id}: ${action}, ${when}.${nextTimes(schedule)}`, schedule }
  }

  /** The next two planned times, as a sentence. */
  const nextTimes = (schedule: Schedule) => {
    const first = schedules.next(schedule, now())
    if (first === undefined) return ''
    const second = schedules.next(schedule, first)
    const then = second === undefined ? '' : `, then ${showTime(second, schedule.timezone)}`
    return ` Next: ${showTime(first, schedule.timezone)}${then}.`
  }

  return {
    async 'schedule-in-words'({ text }, call) {
      if (/^(?:list|show)?$/i.test(text)) return list(call)
      const [, number] = CANCEL.exec(text) ?? []
      if (number !== undefined) return cancel(`schedule-${number}`, call)
      const [, alone] = ID_ALONE.exec(text) ?? []
      if (alone === undefined) return plan(text, call)
      const details = `"${shorten(text)}" contains no time. To end a schedule: cancel schedule-${alone}. ${HINT}`
      throw new TriviumError('usage', { details })
    },
    remind: async ({ text }) => ({ text: requireText(text, 'Say what to remind of.') }),
  } satisfies Partial<ServiceOf<typeof operations.assistant>>
}

function shorten(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 1)}…` : text
}

/** Whether a skill creates schedules from words, under whatever name. */
function createsSchedules(skill: string, { words }: Pick<AssistantContext, 'words'>): boolean {
  return skill === SELF || words().some(({ name, ref }) => name === skill && ref === SELF)
}
